// Events that nodes of graphs record and wait for.
#pragma once

#include "hip_emulator/graph.h"
#include "hip_emulator/queue.h"

namespace wave::hip_emulator {

/// What a launch of a graph does with events. They are recorded, for who asks from then on, when the graph is launched,
/// like those of a stream; and a node waits for what its event stood for then, or for a node before it.
class EventsOfLaunch {
 public:
  /// Under Runtime::order, which the caller holds.
  explicit EventsOfLaunch(const ReadyNodes& nodes);
  EventsOfLaunch(const EventsOfLaunch&) = delete;
  /// Nobody waits for nodes that did not run.
  ~EventsOfLaunch();

  /// Runs the nodes that are enabled, one after the other.
  void run(const ReadyNodes& nodes) const;

 private:
  std::vector<std::shared_ptr<Marker>> recorded_, waited_;  ///< for each node; nullptr for others
};

}  // namespace wave::hip_emulator
