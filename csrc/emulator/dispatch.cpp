#include "emulator/dispatch.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>

#include "emulator/float_state.h"
#include "emulator/workgroup.h"

namespace wave::emulator {

namespace {

using Clock = std::chrono::steady_clock;

/// Instructions of one wave after which others get their turn.
constexpr u64 kQuantum = u64{1} << 20;
/// A launch that is over sooner runs on the calling thread alone: others take tens of microseconds to wake.
constexpr auto kSoon = std::chrono::microseconds(100);
constexpr auto kPollPeriod = std::chrono::milliseconds(100);

/// Hands workgroups to workers. A workgroup that cannot go on waits in a queue while new ones start (they may be what
/// it polls memory for), up to as many as the device would hold.
class Scheduler {
 public:
  explicit Scheduler(const LaunchState& launch) : launch_(launch) {}

  Statistics run() {
    work(true);
    if (!is_done() && has_help()) {
      several_threads_ = true;
      launch_.dispatch.parallel([this] { work(std::this_thread::get_id() == caller_); });
    }
    if (error_) std::rethrow_exception(error_);
    statistics_.workgroups = launch_.workgroups;
    statistics_.waves = launch_.workgroups * launch_.waves;
    statistics_.over_reads = launch_.memory().over_reads();
    return statistics_;
  }

 private:
  /// Runs workgroups until there are none left; on the calling thread, until it is time to ask other threads for help.
  void work(bool is_caller) {
    const FloatState float_state;
    try {
      while (std::unique_ptr<Workgroup> group = take(is_caller)) {
        const Workgroup::Progress progress = run(*group);
        put_back(std::move(group), progress);
        if (is_caller) poll();
        if (is_caller && wants_help()) return;
      }
    } catch (...) {
      fail(std::current_exception(), 0);
    }
  }

  Workgroup::Progress run(Workgroup& group) {
    try {
      return group.run(quantum_);
    } catch (const KernelFault&) {
      fail(std::current_exception(), group.number());
      return Workgroup::Progress::Finished;
    }
  }

  bool has_help() const {
    const Dispatch& dispatch = launch_.dispatch;
    return dispatch.parallel && !dispatch.deterministic && dispatch.observer == nullptr;
  }
  bool wants_help() const { return !several_threads_ && has_help() && Clock::now() - begin_ > kSoon; }

  u64 finished() {
    std::lock_guard lock(mutex_);
    return finished_;
  }

  bool is_done() {
    std::lock_guard lock(mutex_);
    return error_ || finished_ == launch_.workgroups;
  }

  /// The next workgroup to run, or nullptr where there is nothing to do for this thread. The calling thread stays as
  /// long as others are at work, so that it can be interrupted.
  std::unique_ptr<Workgroup> take(bool is_caller) {
    std::unique_lock lock(mutex_);
    for (;;) {
      if (error_ || finished_ == launch_.workgroups) return nullptr;
      if (next_ < launch_.workgroups && resident_ < launch_.max_resident) {
        const u64 number = next_++;
        ++resident_;
        std::unique_ptr<Workgroup> group = pop(free_);
        lock.unlock();
        if (group == nullptr) group = std::make_unique<Workgroup>(launch_);
        group->start(number);
        return group;
      }
      if (!suspended_.empty()) {
        std::unique_ptr<Workgroup> group = std::move(suspended_.front());
        suspended_.pop_front();
        return group;
      }
      if (!is_caller) return nullptr;
      changed_.wait_for(lock, kPollPeriod);
      lock.unlock();
      poll();
      lock.lock();
    }
  }

  static std::unique_ptr<Workgroup> pop(std::vector<std::unique_ptr<Workgroup>>& groups) {
    if (groups.empty()) return nullptr;
    std::unique_ptr<Workgroup> group = std::move(groups.back());
    groups.pop_back();
    return group;
  }

  void put_back(std::unique_ptr<Workgroup> group, Workgroup::Progress progress) {
    std::lock_guard lock(mutex_);
    changed_.notify_one();
    if (progress == Workgroup::Progress::Suspended) {
      suspended_.push_back(std::move(group));
      return;
    }
    --resident_;
    ++finished_;
    statistics_.instructions += group->instructions();
    free_.push_back(std::move(group));
  }

  void poll() {
    const Clock::time_point now = Clock::now();
    if (now - last_poll_ < kPollPeriod || !launch_.dispatch.poll) return;
    last_poll_ = now;
    launch_.dispatch.poll(finished(), launch_.workgroups);
  }

  /// Keeps the error of the workgroup with the lowest number, so that reports repeat where threads do not matter.
  void fail(std::exception_ptr error, u64 workgroup) {
    std::lock_guard lock(mutex_);
    changed_.notify_one();
    if (!error_ || workgroup < error_workgroup_) {
      error_ = error;
      error_workgroup_ = workgroup;
    }
  }

  static u64 quantum(const Dispatch& dispatch) {
    return dispatch.max_instructions == 0 ? kQuantum : std::min(kQuantum, dispatch.max_instructions + 1);
  }

  const LaunchState& launch_;
  const u64 quantum_ = quantum(launch_.dispatch);  ///< a limit of instructions is looked at between turns
  const std::thread::id caller_ = std::this_thread::get_id();
  const Clock::time_point begin_ = Clock::now();
  Clock::time_point last_poll_ = begin_;  ///< of the calling thread
  bool several_threads_ = false;

  std::mutex mutex_;  ///< guards what follows
  std::condition_variable changed_;
  u64 next_ = 0;      ///< the number of the next workgroup to start
  u64 resident_ = 0;  ///< started and not finished
  u64 finished_ = 0;
  std::deque<std::unique_ptr<Workgroup>> suspended_;
  std::vector<std::unique_ptr<Workgroup>> free_;
  std::exception_ptr error_;
  u64 error_workgroup_ = 0;
  Statistics statistics_;
};

}  // namespace

Statistics run(const Dispatch& dispatch) {
  const LaunchState launch(dispatch);
  return Scheduler(launch).run();
}

}  // namespace wave::emulator
