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
#include <string>
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
  /// Whose stream it is: the device's own, a thread's own, or one that the program has made.
  enum class Kind { Null, OfThread, Made };
  /// `blocking`: ordered with the null stream of its device (no hipStreamNonBlocking). Whoever lets go of it last waits
  /// until all work is done, unless that is a stream's work, as a function of the host that asks about its stream.
  static std::shared_ptr<Queue> make(int device, bool blocking, Kind kind, int priority = 0);
  ~Queue();
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  /// Runs `work`, which does not throw, after what was enqueued before it and after `after`. Returns at once.
  std::shared_ptr<Marker> enqueue(std::function<void()> work, Markers after);
  /// Of what was enqueued last; nullptr where there was nothing.
  std::shared_ptr<Marker> last() const;
  /// Drops what has not begun, and returns when no work is under way, but for the caller's own.
  void stop();
  /// The same of all that streams' work has let go of.
  static void stop_left();
  /// Whether the calling thread is a stream's.
  static bool is_of_this_thread();

  const int device;
  const bool blocking;
  const bool is_null;
  const std::string name;            ///< for messages; of those that the program has made by their order
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

  Queue(int device, bool blocking, Kind kind, int priority);
  static void let_go(Queue* queue);
  void end();
  void start();
  void work();

  mutable std::mutex mutex_;  ///< guards what follows
  std::condition_variable changed_;
  std::deque<Work> waiting_;
  std::shared_ptr<Marker> last_;
  bool ending_ = false;
  std::atomic<bool> has_ended_{false};  ///< the thread
  std::atomic<bool> dropping_{false};   ///< asked for without the mutex, too
  std::thread thread_;  ///< a null stream's from its first work on: children of fork() have none of their parent's
};

}  // namespace wave::hip_emulator
