// Events that nodes of graphs record and wait for.
#pragma once

#include "hip_emulator/graph.h"
#include "hip_emulator/queue.h"

namespace wave::hip_emulator {

/// What a launch of a graph does with events. They are recorded, for who asks from then on, when the graph is launched,
/// like those of a stream; and a node waits for what its event stood for then, or for a node before it. Runtime::order
/// is held from the first of these until record(), so that nobody comes between the launch and what it records.
class EventsOfLaunch {
 public:
  explicit EventsOfLaunch(const ReadyNodes& nodes);
  EventsOfLaunch(const EventsOfLaunch&) = delete;
  /// Nobody waits for nodes that did not run.
  ~EventsOfLaunch();

  /// What comes before one of the nodes.
  Markers before() const;
  /// Records the events: the launch has been submitted.
  void record(const Marker& launch) const;

  /// Runs the nodes that are enabled, one after the other.
  void run(const ReadyNodes& nodes) const;

 private:
  // For each node; nullptr for others.
  std::vector<std::shared_ptr<EventRecord>> events_;
  Markers recorded_, waited_;
};

}  // namespace wave::hip_emulator
