#include "hip_emulator/graph_events.h"

#include <chrono>

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

EventsOfLaunch::EventsOfLaunch(const ReadyNodes& nodes) : recorded_(nodes.size()), waited_(nodes.size()) {
  for (size_t i = 0; i < nodes.size(); ++i) {
    const NodeWork& work = nodes[i].operation.work;
    if (const auto* record = std::get_if<RecordWork>(&work)) {
      const auto event = find_event(record->event);
      if (event == nullptr) continue;
      recorded_[i] = std::make_shared<Marker>();
      event->capture = nullptr;
      event->marker = recorded_[i];
    } else if (const auto* wait = std::get_if<WaitWork>(&work)) {
      if (const auto event = find_event(wait->event)) waited_[i] = event->marker;
    }
  }
}

EventsOfLaunch::~EventsOfLaunch() {
  for (const auto& marker : recorded_) {
    if (marker != nullptr && !marker->time()) marker->complete();
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
