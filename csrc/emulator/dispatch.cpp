#include "emulator/dispatch.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "base/error.h"
#include "emulator/float_state.h"
#include "emulator/workgroup.h"

namespace wave::emulator {

namespace {

using Clock = std::chrono::steady_clock;

/// Instructions of one wave after which others get their turn.
constexpr u64 kQuantum = u64{1} << 20;
/// A launch that is over sooner runs on the calling thread alone: others take tens of microseconds to wake.
constexpr auto kSoon = std::chrono::microseconds(100);
constexpr auto kPollPeriod = std::chrono::milliseconds(50);

/// Ends the work of a thread because another one has stopped the launch.
struct Stopped {};

/// Hands workgroups to workers. A workgroup that cannot go on waits in a queue while new ones start (they may be what
/// it polls memory for), up to as many as the device would hold.
///
/// Who gets a turn, and how long it is, is counted in instructions, so that launches repeat. Whether the launch goes on
/// is asked by time: the calling thread looks at the clock between some thousand instructions, and tells the others.
class Scheduler {
 public:
  explicit Scheduler(const LaunchState& launch) : launch_(launch) {}

  Statistics run() {
    work(true);
    if (!is_over() && has_help()) {
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
  enum class Order : u8 { GoOn, Stop, TimeIsUp };

  /// A workgroup's turn: to go on, or to begin with this number, in storage of an earlier one if there is any.
  struct Turn {
    std::unique_ptr<Workgroup> group;
    std::optional<u64> begins{};
  };

  /// Runs workgroups until there are none left; on the calling thread, until it is time to ask other threads for help.
  void work(bool is_caller) {
    const FloatState float_state;
    const Workgroup::Look look = [this, is_caller] { this->look(is_caller); };
    try {
      while (std::optional<Turn> turn = take(is_caller)) {
        const std::optional<Workgroup::Progress> progress = run(*turn, look);
        put_back(std::move(turn->group), progress);
        if (is_caller && wants_help()) return;
      }
    } catch (...) {
      stop(std::current_exception());
    }
  }

  /// Nothing where the workgroup has failed, or was stopped.
  std::optional<Workgroup::Progress> run(Turn& turn, const Workgroup::Look& look) {
    try {
      if (turn.begins) {
        if (turn.group == nullptr) turn.group = std::make_unique<Workgroup>(launch_);
        turn.group->start(*turn.begins);
      }
      return turn.group->run(quantum_, look);
    } catch (const KernelFault&) {
      fail(std::current_exception(), turn.group->number());
    } catch (const Stopped&) {
    } catch (...) {
      stop(std::current_exception());
    }
    return std::nullopt;
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

  bool is_over() {
    std::lock_guard lock(mutex_);
    return is_over_locked();
  }
  bool is_over_locked() const { return error_ || finished_ == launch_.workgroups; }

  /// The next workgroup to run, or nothing where there is none for this thread. The calling thread stays as long as
  /// others are at work, so that it can be interrupted.
  std::optional<Turn> take(bool is_caller) {
    std::unique_lock lock(mutex_);
    for (;;) {
      if (!is_over_locked()) {
        if (std::optional<Turn> turn = next_turn()) return turn;
      } else if (running_ == 0) {
        return std::nullopt;
      }
      if (!is_caller) return std::nullopt;
      changed_.wait_for(lock, kPollPeriod);
      lock.unlock();
      poll();
      lock.lock();
    }
  }

  std::optional<Turn> next_turn() {
    std::optional<Turn> turn;
    if (next_ < launch_.workgroups && resident_ < launch_.max_resident) {
      turn = {pop(free_), next_++};
      ++resident_;
    } else if (!suspended_.empty()) {
      turn = {std::move(suspended_.front())};
      suspended_.pop_front();
    }
    running_ += turn.has_value();
    return turn;
  }

  static std::unique_ptr<Workgroup> pop(std::vector<std::unique_ptr<Workgroup>>& groups) {
    if (groups.empty()) return nullptr;
    std::unique_ptr<Workgroup> group = std::move(groups.back());
    groups.pop_back();
    return group;
  }

  void put_back(std::unique_ptr<Workgroup> group, std::optional<Workgroup::Progress> progress) {
    std::lock_guard lock(mutex_);
    changed_.notify_one();
    --running_;
    if (progress == Workgroup::Progress::Suspended) {
      suspended_.push_back(std::move(group));
      return;
    }
    --resident_;
    if (!progress) return;
    ++finished_;
    statistics_.instructions += group->instructions();
    free_.push_back(std::move(group));
  }

  /// What a worker asks between some thousand instructions. Throws where the launch does not go on.
  void look(bool is_caller) {
    if (is_caller) poll();
    switch (order_.load(std::memory_order_relaxed)) {
      case Order::GoOn:
        return;
      case Order::Stop:
        throw Stopped();
      case Order::TimeIsUp:
        fault(text("the launch ran longer than ", launch_.dispatch.time_limit, " seconds, the limit that ",
                   "WAVE_RUNTIME_TIME_LIMIT sets; ", finished(), " of ", launch_.workgroups,
                   " workgroups had finished"));
    }
  }

  /// On the calling thread.
  void poll() {
    const Clock::time_point now = Clock::now();
    if (now < next_poll_) return;
    next_poll_ = now + kPollPeriod;
    const double limit = launch_.dispatch.time_limit;
    if (limit != 0 && std::chrono::duration<double>(now - begin_).count() > limit) order_ = Order::TimeIsUp;
    if (launch_.dispatch.poll) launch_.dispatch.poll(finished(), launch_.workgroups);
  }

  /// Keeps the error of the workgroup with the lowest number, so that reports repeat where threads do not matter. Other
  /// workgroups end their turns: theirs may be lower.
  void fail(std::exception_ptr error, u64 workgroup) {
    std::lock_guard lock(mutex_);
    if (error_ && workgroup >= error_workgroup_) return;
    error_ = error;
    error_workgroup_ = workgroup;
  }

  /// Ends the launch now, with an error that is not a workgroup's own.
  void stop(std::exception_ptr error) {
    std::lock_guard lock(mutex_);
    changed_.notify_one();
    order_ = Order::Stop;
    error_ = error;
    error_workgroup_ = 0;
  }

  static u64 quantum(const Dispatch& dispatch) {
    return dispatch.max_instructions == 0 ? kQuantum : std::min(kQuantum, dispatch.max_instructions + 1);
  }

  const LaunchState& launch_;
  const u64 quantum_ = quantum(launch_.dispatch);  ///< a limit of instructions is looked at between turns
  const std::thread::id caller_ = std::this_thread::get_id();
  const Clock::time_point begin_ = Clock::now();
  Clock::time_point next_poll_ = begin_ + kPollPeriod;  ///< of the calling thread
  bool several_threads_ = false;
  std::atomic<Order> order_{Order::GoOn};

  std::mutex mutex_;  ///< guards what follows
  std::condition_variable changed_;
  u64 next_ = 0;      ///< the number of the next workgroup to start
  u64 resident_ = 0;  ///< started and not finished
  u64 running_ = 0;   ///< of them, those that have a turn
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
