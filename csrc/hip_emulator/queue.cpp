#include "hip_emulator/queue.h"

#include <atomic>
#include <utility>

namespace wave::hip_emulator {

namespace {

std::atomic<uint64_t> queues{0};  ///< that there have been

/// As changed.wait(lock, is_done), of which GCC 12 has a new version in its library: with it the library would run on
/// newer systems alone.
template <class IsDone>
void wait(std::condition_variable& changed, std::unique_lock<std::mutex>& lock, const IsDone& is_done) {
  while (!changed.wait_for(lock, std::chrono::hours(1), is_done)) continue;
}

}  // namespace

void Marker::complete() {
  std::lock_guard lock(mutex_);
  time_ = Clock::now();
  changed_.notify_all();
}

bool Marker::wait(std::optional<std::chrono::milliseconds> limit) const {
  std::unique_lock lock(mutex_);
  const auto is_done = [&] { return time_.has_value(); };
  if (limit) return changed_.wait_for(lock, *limit, is_done);
  hip_emulator::wait(changed_, lock, is_done);
  return true;
}

std::optional<Marker::Clock::time_point> Marker::time() const {
  std::lock_guard lock(mutex_);
  return time_;
}

Queue::Queue(int device, bool blocking, bool is_null, int priority)
    : device(device), blocking(blocking), is_null(is_null), priority(priority), number(queues++), thread_([this] {
        work();
      }) {}

Queue::~Queue() {
  {
    std::lock_guard lock(mutex_);
    ending_ = true;
    changed_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
}

void Queue::stop() {
  {
    std::lock_guard lock(mutex_);
    ending_ = dropping_ = true;
    changed_.notify_one();
  }
  if (thread_.get_id() != std::this_thread::get_id()) return thread_.join();
  thread_.detach();  // a function of the host in this stream ends the process, and does not return
}

std::shared_ptr<Marker> Queue::enqueue(std::function<void()> work, Markers after) {
  auto done = std::make_shared<Marker>();
  std::lock_guard lock(mutex_);
  last_ = done;
  if (ending_) {  // the process ends: nothing runs, and nobody must wait for it
    done->complete();
    return done;
  }
  waiting_.push_back({std::move(work), std::move(after), done});
  changed_.notify_one();
  return done;
}

std::shared_ptr<Marker> Queue::last() const {
  std::lock_guard lock(mutex_);
  return last_;
}

void Queue::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wait(changed_, lock, [&] { return ending_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    Work next = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    for (const auto& marker : next.after) {
      while (!dropping_ && !marker->wait(std::chrono::milliseconds(50))) continue;
    }
    if (!dropping_) next.run();
    next.run = nullptr;  // what it keeps alive goes before anyone hears that it is done
    next.done->complete();
    lock.lock();
  }
}

}  // namespace wave::hip_emulator
