#include "emulator/dispatch.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/pause.h"
#include "emulator/checks.h"
#include "emulator/float_state.h"
#include "emulator/launch_hints.h"
#include "emulator/lost_memory.h"
#include "emulator/spinning.h"
#include "emulator/workgroup.h"

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
/// How long the workgroups last, at most, that a thread takes at a time. Neighbours write the same cache lines, where
/// each writes a column of a matrix, and these go from core to core while two threads have neighbours.
constexpr auto kBatch = std::chrono::microseconds(200);
/// A thread takes one of so many equal shares of what is left at most, so that all threads end together.
const u64 kShares = 2 * std::clamp<u64>(std::thread::hardware_concurrency(), 1, 16);
/// Before others begin, workgroups that waited may carry out so many instructions in vain, and one for each kInVainOf
/// that others have carried out in their first turns.
constexpr u64 kInVain = 512, kInVainOf = 32;
/// How often a thread tries to take the lock before it sleeps.
constexpr int kTries = 1000;
constexpr auto kPollPeriod = std::chrono::milliseconds(50);

/// Ends the work of a thread because another one has stopped the launch.
struct Stopped {};

/// Hands workgroups to workers, several at a time where they are short. A workgroup that cannot go on waits
/// while others go on, which may be what it polls memory for: those that waited, too, and new ones, up to as many as
/// the device would hold.
///
/// Who gets a turn, and how long it is, is counted in instructions, so that launches repeat. Whether the launch goes on
/// is asked by time: the calling thread looks at the clock between some thousand instructions, and tells the others. So
/// is whether other threads are asked for help, and how many workgroups one of them takes.
class Scheduler {
 public:
  explicit Scheduler(const LaunchState& launch) : launch_(launch) { ranges_[0] = {0, launch.workgroups}; }

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
    statistics_.waves = launch_.workgroups * launch_.waves;
    statistics_.over_reads = launch_.memory().over_reads();
    return statistics_;
  }

 private:
  static constexpr int kCaller = 0;  ///< the calling thread's number

  enum class Order : u8 { GoOn, Stop, TimeIsUp };

  /// Workgroups, by number.
  struct WorkgroupRange {
    u64 next, end;
    u64 size() const { return end - next; }
  };

  /// What a thread has taken: workgroups to begin, from `next` to `end`, or one to go on with, whose number is `next`.
  struct Batch {
    u64 next = 0, end = 0;
    std::unique_ptr<Workgroup> suspended{};
    bool is_resumed = false;
    u64 spent = 0;         ///< instructions
    u64 instructions = 0;  ///< of workgroups that have finished,
    u64 finished = 0;      ///< which are so many,
    u64 ended = 0;         ///< and so many with those that have failed
  };

  /// A thread's memory for workgroups: fresh memory takes longer than many a turn.
  struct Storage {
    static constexpr size_t kMostSpare = 16;
    std::unique_ptr<Workgroup> begins{};              ///< of those that begin on the thread
    std::vector<std::unique_ptr<Workgroup>> spare{};  ///< of those that waited, and ended on it

    void keep(std::unique_ptr<Workgroup> ended) {
      if (spare.size() < kMostSpare) spare.push_back(std::move(ended));
    }
    std::unique_ptr<Workgroup> take(const LaunchState& launch) {
      if (spare.empty()) return std::make_unique<Workgroup>(launch);
      std::unique_ptr<Workgroup> taken = std::move(spare.back());
      spare.pop_back();
      return taken;
    }
  };

  using Suspended = std::map<u64, std::unique_ptr<Workgroup>>;  // by number

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

  void run_on_all_threads() {
    several_threads_ = goes_on_ = true;
    share_out();
    launch_.dispatch.parallel.run([this](int thread) { work(thread); });
  }

  /// Runs workgroups until there are none left; on the calling thread, until it is time to ask other threads for help.
  void work(int thread) {
    const bool is_caller = thread == kCaller;
    const FloatState float_state;
    const LostMemoryGuard guard(launch_.memory());
    const Workgroup::Look look = [this, is_caller] { this->look(is_caller); };
    Storage storage;
    std::unique_ptr<Workgroup>& group = storage.begins;
    std::optional<Batch> batch;  // what was taken last, until it is put back
    Nanoseconds each{};          // what one of its workgroups has taken
    try {
      while ((batch = take(thread, each, group.get(), std::exchange(batch, std::nullopt)))) {
        const Clock::time_point begin = Clock::now();
        run(*batch, storage, look);
        const Nanoseconds taken = Clock::now() - begin;
        if (batch->finished != 0) each = taken / static_cast<f64>(batch->finished);
        if (is_caller && wants_help(*batch, batch->finished != 0 ? each : taken)) break;
      }
      if (each != Nanoseconds()) remember(each);
    } catch (...) {
      stop(std::current_exception());
    }
    try {
      if (group != nullptr) group->settle_adds();
    } catch (const KernelFault&) {
      fail(std::current_exception(), group->number());
    }
    if (batch) put_back(*batch);
  }

  /// Runs the workgroups of a batch for a turn each. Where one has failed, those before it go on: theirs is the error
  /// that counts. What those that began here add to memory may be pending behind it, but not while one goes on that may
  /// wait for it.
  void run(Batch& batch, Storage& storage, const Workgroup::Look& look) {
    if (batch.suspended == nullptr) return run_new(batch, storage, look);
    if (storage.begins != nullptr) storage.begins->settle_adds();
    run_turn(batch, batch.suspended, look);
    if (batch.suspended == nullptr) return;
    batch.suspended->settle_adds();
    storage.keep(std::move(batch.suspended));
  }

  void run_new(Batch& batch, Storage& storage, const Workgroup::Look& look) {
    for (; batch.next < batch.end && batch.next < first_failed_.load(std::memory_order_relaxed); ++batch.next) {
      if (order_.load(std::memory_order_relaxed) == Order::Stop) return;
      if (storage.begins == nullptr) storage.begins = storage.take(launch_);
      storage.begins->start(batch.next);
      run_turn(batch, storage.begins, look);
    }
  }

  /// One turn of a workgroup, which is left where it has come to its end.
  void run_turn(Batch& batch, std::unique_ptr<Workgroup>& group, const Workgroup::Look& look) {
    const u64 before = group->instructions();
    try {
      const Workgroup::Progress progress = run(*group, look);
      const u64 instructions = group->instructions();
      batch.spent += instructions - before;
      if (progress == Workgroup::Progress::Suspended) {
        group->settle_adds();
        return suspend(std::move(group));
      }
      ++batch.finished;
      batch.instructions += instructions;
    } catch (const KernelFault&) {
      fail(std::current_exception(), group->number());
    } catch (const Stopped&) {
    }
    ++batch.ended;
  }

  /// The launch's first turn ends where it is found to be worth help: the calling thread goes on with it then.
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
      if (wants_help({}, elapsed())) return Workgroup::Progress::Suspended;
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

  /// Whether the calling thread, which is alone, goes on with others. `each`: what a workgroup takes, or more.
  bool wants_help(const Batch& batch, Nanoseconds each) {
    if (several_threads_ || !has_help()) return false;
    const u64 left = launch_.workgroups - finished() - batch.finished;
    return is_worth_help(each * static_cast<f64>(left)) || is_worth_help(elapsed());
  }
  Nanoseconds elapsed() const { return Clock::now() - begin_; }

  /// How long the launch takes one thread, as far as an earlier one of the kernel tells.
  Nanoseconds expected() const {
    const u32 each = launch_.function.nanoseconds_of_workgroup.load(std::memory_order_relaxed);
    return Nanoseconds(each) * static_cast<f64>(launch_.workgroups);
  }
  void remember(Nanoseconds each) const {
    const f64 most = std::numeric_limits<u32>::max(), count = std::min(each.count(), most);
    launch_.function.nanoseconds_of_workgroup.store(static_cast<u32>(count), std::memory_order_relaxed);
  }

  u64 finished() {
    const std::unique_lock lock = locked();
    return finished_;
  }

  bool is_over() {
    const std::unique_lock lock = locked();
    return is_over_locked();
  }
  bool is_over_locked() const { return error_ ? left_ == 0 : finished_ == launch_.workgroups; }

  /// What to run next, or nothing where there is nothing for this thread, which has run `last`. The calling thread
  /// stays as long as others are at work, so that it can be interrupted. `group`: the storage of those that began on
  /// this thread, if any.
  std::optional<Batch> take(int thread, Nanoseconds each, Workgroup* group, std::optional<Batch> last) {
    const bool is_caller = thread == kCaller;
    std::unique_lock lock = locked();
    if (last) put_back_locked(*last);
    for (;;) {
      std::optional<Batch> batch = is_over_locked() ? std::nullopt : next_batch(thread, each);
      if (batch || !is_caller || (is_over_locked() && running_ == 0)) {
        tell_caller(lock);
        return batch;
      }
      if (group != nullptr) group->settle_adds();
      wait(lock);
      lock.unlock();
      poll();
      lock.lock();
    }
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
    const bool has_some = is_over_locked() ? running_ == 0 : may_begin() || !suspended_.empty();
    const bool tells = has_some && caller_waits_;
    if (tells) caller_waits_ = false;
    lock.unlock();
    if (tells) changed_.notify_one();
  }

  /// Whether a workgroup is left that may begin now.
  bool may_begin() const { return left_ != 0 && resident_ < launch_.max_resident; }

  /// Gives each thread a range of the workgroups that have not begun. Threads that keep their numbers have the same
  /// workgroups in every launch then, whose memory their caches have. In order where workgroups may wait for earlier
  /// ones, and where what is found depends on it.
  void share_out() {
    if (launch_.workgroups > launch_.max_resident || launch_.function.waits || launch_.dispatch.checks != nullptr)
      return;
    const WorkgroupRange all = ranges_[0];
    range_count_ = static_cast<size_t>(std::clamp<u64>(launch_.dispatch.parallel.threads, 1, ranges_.size()));
    u64 next = all.next;
    for (size_t i = 0; i < range_count_; ++i) {
      const u64 end = all.next + all.size() * (i + 1) / range_count_;
      ranges_[i] = {std::exchange(next, end), end};
    }
  }

  /// Where a thread takes workgroups from: its own range, in which it puts half of the longest one when it is empty.
  /// The one with the lowest number where they are found to wait for one another.
  WorkgroupRange& range_of(int thread) {
    const std::span ranges(ranges_.data(), range_count_);
    if (launch_.function.waits)
      return *std::ranges::find_if(ranges, [](const WorkgroupRange& range) { return range.size() != 0; });
    WorkgroupRange& own = ranges[static_cast<size_t>(thread) % range_count_];
    if (own.size() == 0) {
      WorkgroupRange& longest = *std::ranges::max_element(ranges, {}, &WorkgroupRange::size);
      own = {longest.next + longest.size() / 2, longest.end};
      longest.end = own.next;
    }
    return own;
  }

  std::optional<Batch> next_batch(int thread, Nanoseconds each) {
    std::optional<Batch> batch;
    const bool goes_on = thread == kCaller && std::exchange(goes_on_, false) && !suspended_.empty();
    if (may_begin() && !goes_on && !is_time_to_resume()) {
      WorkgroupRange& range = range_of(thread);
      const u64 count = std::min({batch_size(each), range.size(), launch_.max_resident - resident_});
      batch = {.next = range.next, .end = range.next + count};
      range.next += count;
      left_ -= count;
      resident_ += count;
    } else if (!suspended_.empty()) {
      const auto next = next_suspended();
      batch = {.next = next->first, .suspended = std::move(next->second), .is_resumed = true};
      suspended_.erase(next);
    }
    running_ += batch.has_value();
    return batch;
  }

  /// Whether one that waited goes on before others begin. What it waited for is that earlier ones go on, or that later
  /// ones begin: whether the last one that went on came to its end tells.
  bool is_time_to_resume() const {
    if (suspended_.empty()) return false;
    return resuming_helps_ || spent_resuming_ + spent_in_vain_ <= kInVain + spent_beginning_ / kInVainOf;
  }

  /// Where one has come to its end, that one before it which may have waited for it, or, if there is none, the first
  /// one: chains of workgroups end so, in either direction. Else each in its turn, and, as long as little has been
  /// spent on it, the first one in between.
  Suspended::iterator next_suspended() {
    if (resuming_helps_) {
      const auto behind = suspended_.lower_bound(last_ended_);
      return behind == suspended_.begin() ? behind : std::prev(behind);
    }
    is_in_turn_ = !is_in_turn_ || spent_resuming_ > kInVain;
    if (!is_in_turn_) return suspended_.begin();
    const auto behind = suspended_.upper_bound(last_in_turn_);
    const auto next = behind == suspended_.end() ? suspended_.begin() : behind;
    last_in_turn_ = next->first;
    return next;
  }

  /// So many that a thread is busy for a while, and few enough that all threads end together. One where workgroups wait
  /// for one another: others wait for the first of those that a thread has taken until it has come to the last.
  u64 batch_size(Nanoseconds each) const {
    if (each == Nanoseconds() || launch_.function.waits) return 1;
    return std::clamp<u64>(static_cast<u64>(kBatch / each), 1, std::max<u64>(left_ / kShares, 1));
  }

  void suspend(std::unique_ptr<Workgroup> group) {
    if (several_threads_) launch_.function.waits = true;
    const std::unique_lock lock = locked();
    const u64 number = group->number();
    suspended_.emplace(number, std::move(group));
    if (spins_ != nullptr) stop_if_stuck();
  }

  void stop_if_stuck() {
    const bool is_stuck = !may_begin() && spins_->stuck() == resident_;
    const Clock::time_point now = Clock::now();
    if (!is_stuck) stuck_since_ = std::nullopt;
    if (is_stuck && !stuck_since_) stuck_since_ = now;
    if (!is_stuck || error_ || Nanoseconds(now - *stuck_since_).count() < launch_.dispatch.patience * 1e9) return;
    Findings& findings = launch_.dispatch.checks->findings();
    stop_locked(std::make_exception_ptr(spins_->report(launch_, findings, left_)));
  }

  void put_back(const Batch& batch) {
    std::unique_lock lock = locked();
    put_back_locked(batch);
    tell_caller(lock);
  }
  void put_back_locked(const Batch& batch) {
    --running_;
    resident_ -= batch.ended;
    finished_ += batch.finished;
    statistics_.instructions += batch.instructions;
    (batch.is_resumed ? spent_resuming_ : spent_beginning_) += batch.spent;
    if (batch.ended == 0) spent_in_vain_ = batch.spent;
    if (!batch.is_resumed) return;
    resuming_helps_ = batch.ended != 0;
    if (!resuming_helps_) return;
    last_ended_ = batch.next;
    spent_resuming_ = spent_beginning_ = 0;
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
    left_ = 0;
    for (WorkgroupRange& range : std::span(ranges_.data(), range_count_)) {
      range.end = std::clamp(workgroup, range.next, range.end);
      left_ += range.size();
    }
  }

  static u64 quantum(const Dispatch& dispatch) {
    return dispatch.max_instructions == 0 ? kQuantum : std::min(kQuantum, dispatch.max_instructions + 1);
  }

  const LaunchState& launch_;
  SpinWatch* const spins_ = launch_.dispatch.checks == nullptr ? nullptr : launch_.dispatch.checks->spins();
  const u64 quantum_ = quantum(launch_.dispatch);  ///< a limit of instructions is looked at between turns
  const Clock::time_point begin_ = Clock::now();
  Clock::time_point next_poll_ = begin_ + kPollPeriod;  ///< of the calling thread
  bool several_threads_ = false;
  bool is_first_turn_ = has_help();  ///< of the calling thread alone
  std::atomic<Order> order_{Order::GoOn};
  std::atomic<u64> first_failed_{~u64{0}};  ///< the lowest number of a workgroup that has failed

  std::mutex mutex_;  ///< guards what follows
  std::condition_variable changed_;
  std::atomic<bool> caller_waits_ = false;  ///< written under the lock
  bool goes_on_ = false;                    ///< the calling thread, with the workgroup that it has begun
  std::array<WorkgroupRange, 64> ranges_;   ///< of workgroups to be taken; the first ones count
  size_t range_count_ = 1;
  u64 left_ = launch_.workgroups;  ///< in all ranges
  u64 resident_ = 0;               ///< taken and not ended
  u64 running_ = 0;                ///< batches that are under way
  u64 finished_ = 0;
  Suspended suspended_;
  bool resuming_helps_ = false;                   ///< the last one that waited and went on came to its end
  u64 spent_resuming_ = 0, spent_beginning_ = 0;  ///< instructions since one did
  u64 spent_in_vain_ = 0;                         ///< in the last turn in which none came to an end
  u64 last_ended_ = 0;                            ///< the number of the last one that waited and came to its end
  u64 last_in_turn_ = 0;                          ///< the number of the last one whose turn it was
  bool is_in_turn_ = false;
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
