#include "hip_emulator/graph_events.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <map>

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

EventsOfLaunch::EventsOfLaunch(const ReadyNodes& nodes)
    : events_(nodes.size()), recorded_(nodes.size()), waited_(nodes.size()) {
  std::map<hip::Event, std::shared_ptr<Marker>> own;
  for (size_t i = 0; i < nodes.size(); ++i) {
    const NodeWork& work = nodes[i].operation.work;
    if (const auto* record = std::get_if<RecordWork>(&work)) {
      events_[i] = find_event(record->event);
      if (events_[i] != nullptr) own[record->event] = recorded_[i] = std::make_shared<Marker>();
    } else if (const auto* wait = std::get_if<WaitWork>(&work)) {
      const auto event = find_event(wait->event);
      const auto earlier = own.find(wait->event);
      if (event != nullptr) waited_[i] = earlier == own.end() ? event->marker : earlier->second;
    }
  }
}

EventsOfLaunch::~EventsOfLaunch() {
  for (const auto& marker : recorded_) {
    if (marker != nullptr && !marker->time()) marker->complete();
  }
}

Markers EventsOfLaunch::before() const {
  Markers result;
  std::ranges::copy_if(waited_, std::back_inserter(result), [](const auto& marker) { return marker != nullptr; });
  return result;
}

void EventsOfLaunch::record(const Marker& launch) const {
  for (size_t i = 0; i < events_.size(); ++i) {
    if (events_[i] == nullptr) continue;
    recorded_[i]->clock = launch.clock;
    events_[i]->capture = nullptr;
    events_[i]->marker = recorded_[i];
  }
}

void EventsOfLaunch::run(const ReadyNodes& nodes) const {
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (recorded_[i] != nullptr) {
      recorded_[i]->complete();
    } else if (std::holds_alternative<WaitWork>(nodes[i].operation.work)) {
      if (waited_[i] != nullptr) wait_for(*waited_[i]);
    } else if (nodes[i].enabled) {
      nodes[i].operation(Via::Graph);
    }
  }
}

}  // namespace wave::hip_emulator
