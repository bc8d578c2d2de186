// Streams: work that runs in order, on a thread of its own.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace wave::hip_emulator {

struct Capture;
struct OperationClock;

/// When a piece of work was done. Thread-safe.
class Marker {
 public:
  using Clock = std::chrono::steady_clock;

  void complete();
  /// False where the limit was over before.
  bool wait(std::optional<std::chrono::milliseconds> limit = std::nullopt) const;
  /// Nothing before it is done.
  std::optional<Clock::time_point> time() const;

  /// What comes before it, where somebody looks for races: set when it is submitted, before others have it.
  std::shared_ptr<const OperationClock> clock;

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::optional<Clock::time_point> time_;
};

using Markers = std::vector<std::shared_ptr<Marker>>;

/// The work of one stream. Thread-safe.
class Queue {
 public:
  /// `blocking`: ordered with the null stream of its device (no hipStreamNonBlocking).
  Queue(int device, bool blocking, bool is_null, int priority = 0);
  /// Returns when all work is done.
  ~Queue();
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  /// Runs `work`, which does not throw, after what was enqueued before it and after `after`. Returns at once.
  std::shared_ptr<Marker> enqueue(std::function<void()> work, Markers after);
  /// Of what was enqueued last; nullptr where there was nothing.
  std::shared_ptr<Marker> last() const;
  /// Drops what has not begun, and returns when no work is under way, but for the caller's own.
  void stop();

  const int device;
  const bool blocking;
  const bool is_null;
  const int priority;                ///< which is only told again
  std::vector<uint32_t> units{};     ///< the mask of compute units that it was made with; told again, too
  const uint64_t number;             ///< among all that there have been
  std::shared_ptr<Capture> capture;  ///< guarded by Runtime::order
  uint64_t submitted = 0;            ///< ... operations, while somebody looked for races

 private:
  struct Work {
    std::function<void()> run;
    Markers after;
    std::shared_ptr<Marker> done;
  };

  void work();

  mutable std::mutex mutex_;  ///< guards what follows
  std::condition_variable changed_;
  std::deque<Work> waiting_;
  std::shared_ptr<Marker> last_;
  bool ending_ = false;
  std::atomic<bool> dropping_{false};  ///< asked for without the mutex, too
  std::thread thread_;
};

}  // namespace wave::hip_emulator
