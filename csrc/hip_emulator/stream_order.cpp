#include "hip_emulator/stream_order.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "hip_emulator/runtime.h"

namespace wave::hip_emulator {

namespace {

/// More accesses than these are not kept: the oldest launches go first.
constexpr size_t kMostAccesses = size_t{1} << 24;

/// Nothing that is destroyed with the thread: to announce that takes the loader's lock, which a thread may hold that
/// loads or unloads a library and waits for this one.
thread_local const OperationClock* running = nullptr;

void join(StreamCounts& clock, const StreamCounts& other) {
  for (const auto& [stream, count] : other) {
    uint64_t& own = clock[stream];
    own = std::max(own, count);
  }
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
  clock->stream_name = queue.name;
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
  launches_.remove(host_, [&](const auto& past) { drop(past.what); });
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
    launches_.each_but(running->before, [&](const auto& past) {
      const Past& other = past.what;
      for (Finding& finding : accesses->races_with(*other.accesses, running->stream_name, other.stream_name))
        found.push_back(std::move(finding));
    });
    size_ += accesses->size();
    const uint64_t number = running->before.at(running->stream);
    launches_.add(running->stream, number, {running->stream_name, std::move(accesses)});
    while (size_ > kMostAccesses) launches_.remove_oldest([&](const auto& past) { drop(past.what); });
    if (is_seen_by_host) learn_locked(*running);
  }
  sanitizer.add(found);
}

void StreamOrder::forget(AddressSpan bytes) {
  if (session_ == nullptr) return;
  const std::lock_guard lock(mutex_);
  launches_.each([&](auto& past) {
    emulator::LaunchAccesses& accesses = *past.what.accesses;
    size_ -= accesses.size();
    accesses.forget(bytes);
    size_ += accesses.size();
  });
}

void StreamOrder::end() {
  const std::lock_guard lock(mutex_);
  --pending_;
}

StreamOrder::Running::Running(std::shared_ptr<const OperationClock> clock) : clock_(std::move(clock)) {
  running = clock_.get();
}

StreamOrder::Running::~Running() {
  if (running != nullptr) stream_order().end();
  running = nullptr;
}

}  // namespace wave::hip_emulator
