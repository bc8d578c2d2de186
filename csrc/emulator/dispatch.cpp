#include "emulator/dispatch.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/pause.h"
#include "emulator/checks.h"
#include "emulator/float_state.h"
#include "emulator/launch_hints.h"
#include "emulator/lost_memory.h"
#include "emulator/spinning.h"
#include "emulator/waiting_workgroups.h"
#include "emulator/workgroup.h"
#include "emulator/workgroup_ranges.h"

namespace wave::emulator {

namespace {

using Clock = std::chrono::steady_clock;
using Nanoseconds = std::chrono::duration<f64, std::nano>;

/// Instructions of one wave after which others get their turn.
constexpr u64 kQuantum = u64{1} << 20;
/// Instructions of the first workgroup's waves after which a launch of which nothing is known yet may ask for help:
/// some twenty microseconds of them.
constexpr u64 kFirstTurn = 1024;
/// A launch that is over sooner runs on the calling thread alone: others take tens of microseconds to wake.
constexpr auto kSoon = std::chrono::microseconds(100);
/// Workgroups that a thread takes at a time, at most, where it does not ask between them what else there is to run.
constexpr u64 kMostTaken = 16;
/// How long they last, at most, on the calling thread, as long as it is alone.
constexpr auto kLongestAlone = std::chrono::microseconds(10);
/// How often a thread tries to take the lock before it sleeps.
constexpr int kTries = 1000;
constexpr auto kPollPeriod = std::chrono::milliseconds(50);

/// Ends the work of a thread because another one has stopped the launch.
struct Stopped {};

/// Runs the workgroups of a launch. As long as none waits for what others do, each thread begins one after the other,
/// as WorkgroupRanges gives them out, and shares no lock with others. A workgroup that cannot go on waits while others
/// go on, which may be what it polls memory for: those that waited, too, and new ones in the order of their numbers, up
/// to as many as the device would hold. Each turn is given out under a lock then.
///
/// Who gets a turn, and how long it is, is counted in instructions, so that launches repeat. Whether the launch goes on
/// is asked by time: the calling thread looks at the clock between some thousand instructions, and tells the others. So
/// is whether other threads are asked for help.
class Scheduler {
 public:
  explicit Scheduler(const LaunchState& launch) : launch_(launch) {}

  Statistics run() {
    if (has_help() && is_worth_help(expected())) {
      run_on_all_threads();
    } else {
      work(kCaller);
      if (!is_over()) run_on_all_threads();
    }
    print();
    if (error_) std::rethrow_exception(error_);
    statistics_.workgroups = launch_.workgroups;
    statistics_.waves = launch_.all_waves();
    statistics_.over_reads = launch_.memory().over_reads();
    return statistics_;
  }

 private:
  static constexpr int kCaller = 0;  ///< the calling thread's number

  enum class Order : u8 { GoOn, Stop, TimeIsUp };

  /// What a thread works with.
  struct Worker {
    int thread;
    Workgroup::Look look;
    std::unique_ptr<Workgroup> begins{};              ///< memory of those that begin on the thread
    std::vector<std::unique_ptr<Workgroup>> spare{};  ///< of those that waited and ended on it: fresh memory takes long
    bool is_free = false;                             ///< runs workgroups without a look at the other threads

    static constexpr size_t kMostSpare = 16;

    bool is_caller() const { return thread == kCaller; }
    void keep(std::unique_ptr<Workgroup> ended) {
      if (spare.size() < kMostSpare) spare.push_back(std::move(ended));
    }
    std::unique_ptr<Workgroup> take(const LaunchState& launch) {
      if (spare.empty()) return std::make_unique<Workgroup>(launch);
      std::unique_ptr<Workgroup> taken = std::move(spare.back());
      spare.pop_back();
      return taken;
    }
    /// Makes what those that began have added to memory, and what has not been made yet.
    void settle_adds() {
      if (begins != nullptr) begins->settle_adds();
    }
  };

  /// What a thread has run since it had the lock.
  struct Done {
    TurnResult turns;
    u64 finished = 0;      ///< workgroups
    u64 instructions = 0;  ///< of these
  };

  /// A workgroup whose turn it is: one that waited, or one that begins.
  struct Next {
    u64 number;
    std::unique_ptr<Workgroup> waited{};
  };

  /// What was printed through a buffer. Of a launch that was stopped it is lost where nobody takes it.
  void print() {
    const PrintfBuffer* const buffer = launch_.printf_buffer();
    if (buffer == nullptr) return;
    try {
      buffer->print([this] { look(true); });
    } catch (const Stopped&) {
    } catch (const Fault& fault) {
      if (!error_) stop(std::make_exception_ptr(fault_of(launch_, fault.reason)));
    } catch (...) {
      stop(std::current_exception());
    }
  }

  /// In ranges, unless workgroups may wait for earlier ones, or what is found depends on their order.
  void run_on_all_threads() {
    several_threads_ = true;
    asks_for_help_ = false;
    if (interrupted_ != nullptr && !may_run_freely()) suspend(std::move(interrupted_), true);
    if (!launch_.function.waits && launch_.dispatch.checks == nullptr)
      ranges_.share_out(launch_.dispatch.parallel.threads);
    launch_.dispatch.parallel.run([this](int thread) { work(thread); });
  }

  /// Runs workgroups until there are none left; on the calling thread, until it asks other threads for help.
  void work(int thread) {
    const bool is_caller = thread == kCaller;
    const FloatState float_state;
    const LostMemoryGuard guard(launch_.memory());
    Worker worker{.thread = thread, .look = [this, is_caller] { look(is_caller); }};
    const Clock::time_point begin = Clock::now();
    const u64 finished = run_freely(worker) + run_in_turns(worker);
    if (finished != 0) remember((Clock::now() - begin) / static_cast<f64>(finished));
    try {
      worker.settle_adds();
    } catch (const KernelFault&) {
      fail(std::current_exception(), worker.begins->number());
    }
  }

  /// Whether a thread may run workgroups without a look at the others: none waits, and the device would hold all that
  /// threads have taken.
  bool may_run_freely() const {
    const u64 threads = several_threads_ ? static_cast<u64>(std::max(launch_.dispatch.parallel.threads, 1)) : 1;
    return !is_anyone_waiting_ && !launch_.function.waits && launch_.max_resident >= threads * kMostTaken;
  }

  /// Begins workgroups as long as none waits for what others do, and goes on with the one that was interrupted. Returns
  /// how many came to their end.
  u64 run_freely(Worker& worker) {
    if (!was_interrupted(worker) && !may_run_freely()) return 0;
    ++free_threads_;
    worker.is_free = true;
    Done done;
    try {
      begin_workgroups(worker, done);
    } catch (...) {
      stop(std::current_exception());
    }
    worker.is_free = false;
    std::unique_lock lock = locked();
    --free_threads_;
    note_locked(done);
    tell_caller(lock);
    return done.finished;
  }

  /// Whether it goes on with the workgroup of the launch's first turn.
  bool was_interrupted(const Worker& worker) const { return worker.is_caller() && interrupted_ != nullptr; }

  void begin_workgroups(Worker& worker, Done& done) {
    if (was_interrupted(worker)) {
      worker.begins = std::move(interrupted_);
      run_turn(worker, worker.begins, done);
      finished_ += done.finished;
    }
    u64 most = several_threads_ ? kMostTaken : 1;
    while (!asks_for_help_ && may_run_freely()) {
      WorkgroupRange taken = ranges_.take(worker.thread, most);
      if (taken.size() == 0) return;
      const u64 before = done.finished;
      for (; taken.next < taken.end; ++taken.next) {
        if (is_anyone_waiting_ && ranges_.give_back(worker.thread, taken)) break;
        begin_one(worker, taken.next, done);
      }
      finished_ += done.finished - before;
      if (several_threads_) continue;
      most = std::clamp<u64>(static_cast<u64>(kLongestAlone / each()), 1, kMostTaken);
      ask_for_help();
    }
  }

  /// Gives workgroups turn after turn, each as it is told. Returns how many came to their end.
  u64 run_in_turns(Worker& worker) {
    u64 finished = 0;
    std::optional<Done> done;  // what was run last, until it is told
    try {
      while (!asks_for_help_) {
        std::optional<Next> next = next_turn(worker, std::exchange(done, std::nullopt));
        if (!next) break;
        done = {.turns = {.number = next->number, .is_resumed = next->waited != nullptr}};
        run_next(worker, *next, *done);
        finished += done->finished;
        finished_ += done->finished;
        if (!several_threads_) ask_for_help();
      }
    } catch (...) {
      stop(std::current_exception());
    }
    if (done) {
      std::unique_lock lock = locked();
      put_back_locked(*done);
      tell_caller(lock);
    }
    return finished;
  }

  /// What workgroups that began on the thread have added to memory may be pending behind them, but not while one goes
  /// on that may wait for it.
  void run_next(Worker& worker, Next& next, Done& done) {
    if (next.waited == nullptr) return begin_one(worker, next.number, done);
    worker.settle_adds();
    run_turn(worker, next.waited, done);
    if (next.waited == nullptr) return;
    next.waited->settle_adds();
    worker.keep(std::move(next.waited));
  }

  /// Where a workgroup has failed, those before it go on: theirs is the error that counts.
  void begin_one(Worker& worker, u64 number, Done& done) {
    if (number >= first_failed_.load(std::memory_order_relaxed)) {
      done.turns.has_ended = true;
      return;
    }
    if (worker.begins == nullptr) worker.begins = worker.take(launch_);
    worker.begins->start(number);
    run_turn(worker, worker.begins, done);
  }

  /// One turn of a workgroup, which is left where it has come to its end.
  void run_turn(Worker& worker, std::unique_ptr<Workgroup>& group, Done& done) {
    const u64 before = group->instructions();
    done.turns.has_ended = true;
    try {
      const Workgroup::Progress progress = run(*group, worker.look);
      const u64 instructions = group->instructions();
      done.turns.spent += instructions - before;
      if (progress == Workgroup::Progress::Suspended) {
        done.turns.has_ended = false;
        group->settle_adds();
        if (asks_for_help_ && worker.is_free) {
          interrupted_ = std::move(group);
        } else {
          suspend(std::move(group), worker.is_free);
        }
        return;
      }
      ++done.finished;
      done.instructions += instructions;
    } catch (const KernelFault&) {
      fail(std::current_exception(), group->number());
    } catch (const Stopped&) {
    }
  }

  /// The launch's first turn ends where the launch is found to be worth help: the calling thread goes on with it then.
  Workgroup::Progress run(Workgroup& group, const Workgroup::Look& look) {
    if (spins_ == nullptr) return run_unprobed(group, look);
    if (spins_->is_due(group)) return group.probe(*spins_, look);
    const Workgroup::Progress progress = run_unprobed(group, look);
    group.settle_adds();
    spins_->forget(group);
    spins_->change();
    return progress;
  }

  Workgroup::Progress run_unprobed(Workgroup& group, const Workgroup::Look& look) {
    if (!several_threads_ && std::exchange(is_first_turn_, false)) {
      const u64 instructions = std::max<u64>(kFirstTurn / launch_.waves, 1);
      if (group.run(std::min(instructions, quantum_), look) == Workgroup::Progress::Finished) {
        return Workgroup::Progress::Finished;
      }
      ask_for_help();
      if (asks_for_help_) return Workgroup::Progress::Suspended;
    }
    const u64 quantum = short_turn(group);
    if (group.run(quantum, look) == Workgroup::Progress::Finished) return Workgroup::Progress::Finished;
    // What it waits for may need a turn; or it may be found to be stuck, and the next turn is a look at it.
    if (quantum == quantum_ || spins_ != nullptr || group.waits_for_memory()) return Workgroup::Progress::Suspended;
    return group.run(quantum_ - quantum, look);
  }

  u64 short_turn(const Workgroup& group) const {
    constexpr u64 kShort = u64{1} << 14, kMostTurns = 6;
    return std::min(quantum_, kShort << std::min(group.turns(), kMostTurns));
  }

  bool has_help() const {
    const Dispatch& dispatch = launch_.dispatch;
    return dispatch.parallel.run && !dispatch.deterministic && dispatch.observer == nullptr && launch_.workgroups > 1;
  }
  static bool is_worth_help(Nanoseconds remaining) { return remaining > kSoon; }

  /// The calling thread, which is alone, asks whether it goes on with others.
  void ask_for_help() {
    const u64 left = launch_.workgroups - finished_;
    asks_for_help_ = has_help() && (is_worth_help(each() * static_cast<f64>(left)) || is_worth_help(elapsed()));
  }
  Nanoseconds elapsed() const { return Clock::now() - begin_; }
  /// What a workgroup has taken the calling thread, which is alone, or more.
  Nanoseconds each() const { return elapsed() / static_cast<f64>(std::max<u64>(finished_, 1)); }

  /// How long the launch takes one thread, as far as an earlier one of the kernel tells.
  Nanoseconds expected() const {
    const u32 each = launch_.function.nanoseconds_of_workgroup.load(std::memory_order_relaxed);
    return Nanoseconds(each) * static_cast<f64>(launch_.workgroups);
  }
  void remember(Nanoseconds each) const {
    const f64 most = std::numeric_limits<u32>::max(), count = std::min(each.count(), most);
    launch_.function.nanoseconds_of_workgroup.store(static_cast<u32>(count), std::memory_order_relaxed);
  }

  bool is_over() const { return has_failed() ? ranges_.left() == 0 : finished_ == launch_.workgroups; }
  bool has_failed() const { return first_failed_ != kNone; }

  /// What a thread is to run next, which has run `done`, or nothing where there is nothing for it. The calling thread
  /// stays as long as others are at work, so that it can be interrupted.
  std::optional<Next> next_turn(Worker& worker, const std::optional<Done>& done) {
    std::unique_lock lock = locked();
    if (done) put_back_locked(*done);
    for (;;) {
      std::optional<Next> next = next_turn_locked();
      if (next || !worker.is_caller() || (is_over() && !is_anyone_at_work())) {
        tell_caller(lock);
        return next;
      }
      worker.settle_adds();
      wait(lock);
      lock.unlock();
      poll();
      lock.lock();
    }
  }

  std::optional<Next> next_turn_locked() {
    if (is_over()) return std::nullopt;
    std::optional<u64> first;
    if (has_room() && !waiting_.is_time_to_resume()) first = ranges_.take_first();
    std::optional<Next> next;
    if (first) {
      next = {.number = *first};
      ++resident_;
    } else if (!waiting_.is_empty()) {
      WaitingWorkgroups::Groups::node_type taken = waiting_.take();
      next = {.number = taken.key(), .waited = std::move(taken.mapped())};
    }
    turns_ += next.has_value();
    return next;
  }

  /// What threads do under the lock takes less time than to sleep and to wake.
  std::unique_lock<std::mutex> locked() {
    std::unique_lock lock(mutex_, std::try_to_lock);
    for (int tries = 0; !lock && tries < kTries; ++tries) {
      pause();
      lock.try_lock();
    }
    if (!lock) lock.lock();
    return lock;
  }

  /// Lets the calling thread, which has nothing to do, wait for what may be for it. Others are about to end mostly, and
  /// a thread that sleeps takes tens of microseconds to wake, so that it looks for some time first.
  void wait(std::unique_lock<std::mutex>& lock) {
    constexpr auto kAwake = std::chrono::microseconds(100);
    caller_waits_ = true;
    lock.unlock();
    for (const auto end = Clock::now() + kAwake; caller_waits_.load(std::memory_order_relaxed) && Clock::now() < end;)
      pause();
    lock.lock();
    changed_.wait_for(lock, kPollPeriod, [this] { return !caller_waits_; });
    caller_waits_ = false;
  }

  /// Tells it where it waits and there is something for it. Unlocks.
  void tell_caller(std::unique_lock<std::mutex>& lock) {
    const bool has_some = is_over() ? !is_anyone_at_work() : has_room() || !waiting_.is_empty();
    const bool tells = has_some && caller_waits_;
    if (tells) caller_waits_ = false;
    lock.unlock();
    if (tells) changed_.notify_one();
  }

  bool is_anyone_at_work() const { return turns_ != 0 || free_threads_ != 0; }
  /// Workgroups that have begun and not ended, or may have.
  u64 resident() const { return resident_ + free_threads_ * kMostTaken; }
  /// Whether a workgroup is left that may begin now.
  bool has_room() const { return ranges_.left() != 0 && resident() < launch_.max_resident; }

  /// `is_new`: the others do not know yet that it has begun.
  void suspend(std::unique_ptr<Workgroup> group, bool is_new) {
    if (several_threads_) launch_.function.waits = true;
    const std::unique_lock lock = locked();
    const u64 number = group->number();
    waiting_.add(number, std::move(group));
    is_anyone_waiting_ = true;
    resident_ += is_new;
    if (spins_ != nullptr) stop_if_stuck();
  }

  void stop_if_stuck() {
    const bool is_stuck = !has_room() && spins_->stuck() == resident();
    const Clock::time_point now = Clock::now();
    if (!is_stuck) stuck_since_ = std::nullopt;
    if (is_stuck && !stuck_since_) stuck_since_ = now;
    if (!is_stuck || error_ || Nanoseconds(now - *stuck_since_).count() < launch_.dispatch.patience * 1e9) return;
    Findings& findings = launch_.dispatch.checks->findings();
    stop_locked(std::make_exception_ptr(spins_->report(launch_, findings, ranges_.left())));
  }

  void put_back_locked(const Done& done) {
    --turns_;
    resident_ -= done.turns.has_ended;
    note_locked(done);
  }
  void note_locked(const Done& done) {
    statistics_.instructions += done.instructions;
    waiting_.note(done.turns);
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
                   "WAVE_RUNTIME_TIME_LIMIT sets; ", finished_.load(), " of ", launch_.workgroups,
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
    if (launch_.dispatch.poll) launch_.dispatch.poll(finished_, launch_.workgroups);
  }

  /// Keeps the error of the workgroup with the lowest number, so that reports repeat where threads do not matter. Other
  /// workgroups end their turns: theirs may be lower.
  void fail(std::exception_ptr error, u64 workgroup) {
    const std::unique_lock lock = locked();
    if (error_ && workgroup >= first_failed_) return;
    error_ = error;
    end_before(workgroup);
  }

  /// Ends the launch now, with an error that is not a workgroup's own.
  void stop(std::exception_ptr error) {
    const std::unique_lock lock = locked();
    stop_locked(error);
  }
  void stop_locked(std::exception_ptr error) {
    order_ = Order::Stop;
    error_ = error;
    end_before(0);
  }

  /// No workgroup from here on begins.
  void end_before(u64 workgroup) {
    first_failed_ = workgroup;
    ranges_.end_before(workgroup);
  }

  static u64 quantum(const Dispatch& dispatch) {
    return dispatch.max_instructions == 0 ? kQuantum : std::min(kQuantum, dispatch.max_instructions + 1);
  }

  static constexpr u64 kNone = ~u64{0};

  const LaunchState& launch_;
  SpinWatch* const spins_ = launch_.dispatch.checks == nullptr ? nullptr : launch_.dispatch.checks->spins();
  const u64 quantum_ = quantum(launch_.dispatch);  ///< a limit of instructions is looked at between turns
  const Clock::time_point begin_ = Clock::now();
  Clock::time_point next_poll_ = begin_ + kPollPeriod;  ///< of the calling thread
  bool several_threads_ = false;
  bool asks_for_help_ = false;              ///< of the calling thread alone, as is what follows
  bool is_first_turn_ = has_help();         ///< the launch's first
  std::unique_ptr<Workgroup> interrupted_;  ///< in the launch's first turn
  WorkgroupRanges ranges_{launch_.workgroups};
  std::atomic<Order> order_{Order::GoOn};
  std::atomic<u64> first_failed_{kNone};  ///< the lowest number of a workgroup that has failed
  std::atomic<u64> finished_{0};          ///< workgroups
  std::atomic<u64> free_threads_{0};      ///< that run workgroups without a look at the others
  std::atomic<bool> is_anyone_waiting_{false};

  std::mutex mutex_;  ///< guards what follows
  std::condition_variable changed_;
  std::atomic<bool> caller_waits_ = false;  ///< written under the lock
  WaitingWorkgroups waiting_;
  u64 resident_ = 0;  ///< that have begun and not ended, without those that threads run freely
  u64 turns_ = 0;     ///< that are under way
  std::optional<Clock::time_point> stuck_since_;
  std::exception_ptr error_;
  Statistics statistics_;
};

}  // namespace

Statistics run(const Dispatch& dispatch) {
  const LaunchState launch(dispatch);
  return Scheduler(launch).run();
}

}  // namespace wave::emulator
