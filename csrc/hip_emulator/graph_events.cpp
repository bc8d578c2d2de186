#include "hip_emulator/graph_events.h"

#include <chrono>
#include <map>
#include <utility>

#include "hip_emulator/runtime.h"

namespace wave::hip_emulator {

namespace {

/// nullptr where it was destroyed.
std::shared_ptr<EventRecord> find_event(hip::Event handle) {
  try {
    return runtime().events.find(handle);
  } catch (const Failure&) {
    return nullptr;
  }
}

void wait_for(const Marker& marker) {
  while (!marker.wait(std::chrono::milliseconds(50))) check_not_stopped();
}

}  // namespace

EventsOfLaunch::EventsOfLaunch(std::shared_ptr<const ReadyNodes> nodes) : nodes_(std::move(nodes)) {
  std::map<hip::Event, std::shared_ptr<Marker>> own;
  for_each(*nodes_, [&](const ReadyNode& node) {
    Step& step = steps_.emplace_back(&node);
    const NodeWork& work = node.operation.work;
    if (const auto* record = std::get_if<RecordWork>(&work)) {
      step.event = find_event(record->event);
      if (step.event != nullptr) own[record->event] = step.recorded = std::make_shared<Marker>();
    } else if (const auto* wait = std::get_if<WaitWork>(&work)) {
      const auto event = find_event(wait->event);
      const auto earlier = own.find(wait->event);
      if (event != nullptr) step.waited = earlier == own.end() ? event->marker : earlier->second;
    }
  });
}

EventsOfLaunch::~EventsOfLaunch() {
  for (const Step& step : steps_) {
    if (step.recorded != nullptr && !step.recorded->time()) step.recorded->complete();
  }
}

Markers EventsOfLaunch::before() const {
  Markers result;
  for (const Step& step : steps_) {
    if (step.waited != nullptr) result.push_back(step.waited);
  }
  return result;
}

void EventsOfLaunch::record(const Marker& launch) const {
  for (const Step& step : steps_) {
    if (step.event == nullptr) continue;
    step.recorded->clock = launch.clock;
    step.event->capture = nullptr;
    step.event->marker = step.recorded;
  }
}

void EventsOfLaunch::run() const {
  for (const Step& step : steps_) {
    if (step.recorded != nullptr) {
      step.recorded->complete();
    } else if (std::holds_alternative<WaitWork>(step.node->operation.work)) {
      if (step.waited != nullptr) wait_for(*step.waited);
    } else if (step.node->enabled) {
      step.node->operation(Via::Graph);
    }
  }
}

}  // namespace wave::hip_emulator
