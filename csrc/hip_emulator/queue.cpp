#include "hip_emulator/queue.h"

#include <atomic>
#include <utility>

#include "base/error.h"
#include "base/fork_safe.h"

namespace wave::hip_emulator {

namespace {

std::atomic<uint64_t> queues{0};  ///< that there have been
std::atomic<uint64_t> made{0};    ///< of them by the program

std::string name_of(Queue::Kind kind) {
  switch (kind) {
    case Queue::Kind::Null:
      return "the null stream";
    case Queue::Kind::OfThread:
      return "hipStreamPerThread";
    case Queue::Kind::Made:
      break;
  }
  return text("stream ", ++made);
}

thread_local bool is_of_stream = false;  ///< the thread

/// What threads of streams have let go of last. They do not wait for its end: it may be their own, or wait for theirs.
struct Left {
  Mutex mutex;  ///< guards what follows
  std::vector<Queue*> queues;
};
Left& left = *new Left;

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

Queue::Queue(int device, bool blocking, Kind kind, int priority)
    : device(device),
      blocking(blocking),
      is_null(kind == Kind::Null),
      name(name_of(kind)),
      priority(priority),
      number(queues++) {
  if (!is_null) start();
}

std::shared_ptr<Queue> Queue::make(int device, bool blocking, Kind kind, int priority) {
  return {new Queue(device, blocking, kind, priority), &Queue::let_go};
}

void Queue::let_go(Queue* queue) {
  std::vector<Queue*> ended;
  {
    const std::lock_guard lock(left.mutex);
    (is_of_stream ? left.queues : ended).push_back(queue);
    std::erase_if(left.queues, [&](Queue* one) {
      const bool has_ended = one->has_ended_;
      if (has_ended) ended.push_back(one);
      return has_ended;
    });
    if (is_of_stream) queue->end();
  }
  for (const Queue* one : ended) delete one;
}

void Queue::stop_left() {
  std::vector<Queue*> queues;
  {
    const std::lock_guard lock(left.mutex);
    queues.swap(left.queues);
  }
  for (Queue* queue : queues) {
    const bool is_own = queue->thread_.get_id() == std::this_thread::get_id();  // whose thread goes on to its end
    queue->stop();
    if (!is_own) delete queue;
  }
}

bool Queue::is_of_this_thread() { return is_of_stream; }

Queue::~Queue() {
  end();
  if (thread_.joinable()) thread_.join();
}

/// When all work is done.
void Queue::end() {
  const std::lock_guard lock(mutex_);
  ending_ = true;
  changed_.notify_one();
}

void Queue::stop() {
  {
    std::lock_guard lock(mutex_);
    ending_ = dropping_ = true;
    changed_.notify_one();
  }
  if (!thread_.joinable()) return;
  if (thread_.get_id() != std::this_thread::get_id()) return thread_.join();
  thread_.detach();  // a function of the host in this stream ends the process, and does not return
}

std::shared_ptr<Marker> Queue::enqueue(std::function<void()> work, Markers after) {
  auto done = std::make_shared<Marker>();
  std::lock_guard lock(mutex_);
  if (!ending_ && !thread_.joinable()) start();
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

void Queue::start() {
  thread_ = std::thread([this] {
    is_of_stream = true;
    work();
    has_ended_ = true;
  });
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
