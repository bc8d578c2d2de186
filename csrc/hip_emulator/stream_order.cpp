#include "hip_emulator/stream_order.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "hip_emulator/runtime.h"

namespace wave::hip_emulator {

namespace {

/// More accesses than these are not kept: the oldest launches go first.
constexpr size_t kMostAccesses = size_t{1} << 24;

thread_local std::shared_ptr<const OperationClock> running;

void join(std::map<uint64_t, uint64_t>& clock, const std::map<uint64_t, uint64_t>& other) {
  for (const auto& [stream, count] : other) {
    uint64_t& own = clock[stream];
    own = std::max(own, count);
  }
}

bool is_before(const OperationClock& past, const std::map<uint64_t, uint64_t>& clock) {
  const auto known = clock.find(past.stream);
  return known != clock.end() && past.before.at(past.stream) <= known->second;
}

/// Whether the host may look at memory of this page while a kernel runs: what a program does then is not seen.
bool is_of_host(uint64_t page) {
  const auto allocation = runtime().memory.find(page);
  return !allocation || allocation->kind != AllocationKind::Device;
}

}  // namespace

StreamOrder& stream_order() {
  static StreamOrder& order = *new StreamOrder;
  return order;
}

bool StreamOrder::is_watching() {
  const std::shared_ptr<Sanitizer> sanitizer = Sanitizer::active();
  if (sanitizer.get() != session_) {
    const std::lock_guard lock(mutex_);
    session_ = sanitizer.get();
    kept_ = sanitizer;
    has_given_up_ = false;
    host_.clear();
    launches_.clear();
    size_ = 0;
  }
  return sanitizer != nullptr && (sanitizer->options.tools & kRacesTool) != 0 && !has_given_up_;
}

std::shared_ptr<const OperationClock> StreamOrder::submit(Queue& queue,
                                                          const std::vector<std::shared_ptr<Marker>>& after) {
  auto clock = std::make_shared<OperationClock>();
  clock->stream = queue.number;
  clock->stream_name = queue.is_null ? "the null stream" : text("stream ", queue.number);
  for (const auto& marker : after) {
    if (marker != nullptr && marker->clock != nullptr) join(clock->before, marker->clock->before);
  }
  if (const auto last = queue.last(); last != nullptr && last->clock != nullptr)
    join(clock->before, last->clock->before);
  clock->before[queue.number] = ++queue.submitted;
  const std::lock_guard lock(mutex_);
  join(clock->before, host_);
  ++pending_;
  return clock;
}

void StreamOrder::learn_locked(const OperationClock& clock) {
  join(host_, clock.before);
  if (pending_ != 0) return;  // operations that the host submitted before it knew
  std::erase_if(launches_, [&](const Past& past) {
    const bool is_over = is_before(*past.clock, host_);
    if (is_over) size_ -= past.accesses->size();
    return is_over;
  });
}

void StreamOrder::learn(const Marker* done) {
  if (session_ == nullptr || done == nullptr || done->clock == nullptr) return;
  const std::lock_guard lock(mutex_);
  learn_locked(*done->clock);
}

void StreamOrder::learn_running() {
  if (running == nullptr) return;
  const std::lock_guard lock(mutex_);
  learn_locked(*running);
}

void StreamOrder::give_up() { has_given_up_ = true; }

void StreamOrder::add(std::unique_ptr<emulator::LaunchAccesses> accesses, Sanitizer& sanitizer) {
  if (accesses == nullptr || running == nullptr || has_given_up_) return;
  const bool is_seen_by_host = accesses->has_written(is_of_host);
  std::vector<Finding> found;
  {
    const std::lock_guard lock(mutex_);
    for (const Past& past : launches_) {
      if (is_before(*past.clock, running->before)) continue;
      for (Finding& finding : accesses->races_with(*past.accesses, running->stream_name, past.clock->stream_name))
        found.push_back(std::move(finding));
    }
    size_ += accesses->size();
    launches_.push_back({running, std::move(accesses)});
    while (size_ > kMostAccesses) {
      size_ -= launches_.front().accesses->size();
      launches_.pop_front();
    }
    if (is_seen_by_host) learn_locked(*running);
  }
  sanitizer.add(found);
}

void StreamOrder::forget(AddressSpan bytes) {
  if (session_ == nullptr) return;
  const std::lock_guard lock(mutex_);
  for (const Past& past : launches_) {
    size_ -= past.accesses->size();
    past.accesses->forget(bytes);
    size_ += past.accesses->size();
  }
}

void StreamOrder::end() {
  const std::lock_guard lock(mutex_);
  --pending_;
}

StreamOrder::Running::Running(std::shared_ptr<const OperationClock> clock) { running = std::move(clock); }

StreamOrder::Running::~Running() {
  if (running != nullptr) stream_order().end();
  running = nullptr;
}

}  // namespace wave::hip_emulator
