// Events that nodes of graphs record and wait for.
#pragma once

#include "hip_emulator/graph.h"
#include "hip_emulator/queue.h"

namespace wave::hip_emulator {

/// What a launch of a graph does with events. They are recorded, for who asks from then on, when the graph is launched,
/// like those of a stream; and a node waits for what its event stood for then, or for a node before it. The same holds
/// for nodes of children. Runtime::order is held from the first of these until record(), so that nobody comes between
/// the launch and what it records.
class EventsOfLaunch {
 public:
  explicit EventsOfLaunch(std::shared_ptr<const ReadyNodes> nodes);
  EventsOfLaunch(const EventsOfLaunch&) = delete;
  /// Nobody waits for nodes that did not run.
  ~EventsOfLaunch();

  /// What comes before one of the nodes.
  Markers before() const;
  /// Records the events: the launch has been submitted.
  void record(const Marker& launch) const;

  /// Runs the nodes that are enabled, one after the other.
  void run() const;

 private:
  struct Step {
    const ReadyNode* node;
    std::shared_ptr<EventRecord> event{};  ///< that the node records, if any
    std::shared_ptr<Marker> recorded{};    ///< as what
    std::shared_ptr<Marker> waited{};      ///< what it waits for, if anything
  };

  const std::shared_ptr<const ReadyNodes> nodes_;  ///< which the steps are of
  std::vector<Step> steps_;
};

}  // namespace wave::hip_emulator
