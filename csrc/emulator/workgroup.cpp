#include "emulator/workgroup.h"

#include <algorithm>
#include <cstring>
#include <cwchar>

#include "emulator/checks.h"
#include "emulator/constants.h"
#include "emulator/isa/features.h"
#include "emulator/launch_hints.h"
#include "emulator/observer.h"
#include "emulator/op.h"
#include "emulator/polls.h"
#include "emulator/skipped_access.h"
#include "emulator/spinning.h"
#include "emulator/step.h"

namespace wave::emulator {

namespace {

KernelFault located(const Fault& fault, const Wave& wave) {
  const LaunchState& launch = wave.group->launch();
  const u64 pc = wave.address(wave.op);
  const auto& id = wave.group->id();
  const auto& block = wave.group->block();
  std::string where = text(reason_of(fault, wave), "\n  at ", launch.module.describe(pc), ": ",
                           launch.module.disassemble(pc, launch.lanes), "\n  workgroup (", id[0], ", ", id[1], ", ",
                           id[2], "), wave ", wave.index);
  if (fault.lane >= 0) {
    const u32 item = wave.index * launch.lanes + static_cast<u32>(fault.lane);
    where += text(", lane ", fault.lane, " (work-item (", item % block[0], ", ", item / block[0] % block[1], ", ",
                  item / block[0] / block[1], "))");
  }
  if (fault.has_address) where += text(", address ", hex(fault.address));
  KernelFault result = fault_of(launch, where);
  result.workgroup = id;
  result.wave = wave.index;
  result.lane = fault.lane;
  result.pc = launch.module.offset_in(launch.kernel, pc);
  result.instruction = launch.module.disassemble(pc, launch.lanes);
  if (fault.has_address) result.address = fault.address;
  return result;
}

/// A trap, with what assert has written before.
[[noreturn]] void throw_abort(const Abort& abort, const Wave& wave) {
  const Hostcalls* const hostcalls = wave.group->launch().hostcalls();
  const std::string written = hostcalls != nullptr ? hostcalls->error_output() : "";
  if (written.empty()) throw located(abort, wave);
  const std::string reason = text("the kernel has aborted: ", written.substr(0, written.find_last_not_of('\n') + 1));
  throw located(Fault{reason, abort.lane}, wave);
}

/// Sets dwords, by the C library's function for wide characters, which is made for the host's widest vectors.
void poison(void* dwords, size_t count) {
  static_assert(sizeof(wchar_t) == sizeof(u32));
  std::wmemset(static_cast<wchar_t*>(dwords), static_cast<wchar_t>(kPoison), count);
}

/// Memory of this size, not set. Throws RuntimeError where the host has none.
std::unique_ptr<u8[]> allocate_scratch(const LaunchState& launch) {
  const u64 size = u64{launch.waves} * kLanes * launch.scratch_size;
  std::unique_ptr<u8[]> scratch(new (std::nothrow) u8[size]);
  if (scratch != nullptr) return scratch;
  throw RuntimeError(text(kernel_text(launch.kernel.metadata.name), ": no memory for its scratch, ", size,
                          " bytes for a workgroup of ", launch.waves, " waves (", launch.scratch_size,
                          " bytes for each work-item): launch smaller workgroups, or build the kernel with smaller ",
                          "arrays and fewer registers spilled"));
}

/// From a wave's registers to the next one's, in rows: an odd number. Where it were a multiple of 16, waves' registers
/// of a number would lie at the same place of pages: hosts' caches have few lines for such, and their loads wait for
/// stores to the other waves' registers.
size_t rows_apart(const LaunchState& launch) { return (launch.registers.vgprs + launch.registers.agprs) | 1u; }

/// A wave's turn. Hardware runs the waves of a workgroup side by side, and hand-written kernels count on it: they leave
/// out a barrier where the other waves' loads from LDS, a few instructions back, must be over by then. Of instructions
/// that access no memory no other wave can tell when they run.
constexpr TurnLength kTurn{.accesses = 4, .longest = 64};

/// Turns of a workgroup's waves in which those of a launch that may be stuck are found to go round in circles.
constexpr u64 kProbe = 4096;

/// Instructions between two looks at what may stop the launch: some ten microseconds of them, or, where each one is
/// looked at or summed exactly, some ten milliseconds.
constexpr u64 kLook = 2048;

/// Runs instructions until the wave stops or its turn is over, and returns how many. `step` carries out one, and those
/// that follow it up to one with any of the flags `returns_at`. After a turn that others wait for the wave is paused.
template <class Step>
u64 run_instructions(Wave& wave, TurnLength turn, u8 returns_at, Step step) {
  const bool takes_turns = turn.accesses != turn.longest;
  const i64 longest = static_cast<i64>(turn.longest);
  const Op* op = wave.op;
  i64 least = longest - static_cast<i64>(turn.accesses);
  wave.end = op->number + longest;
  wave.returns_at = static_cast<u16>(returns_at | kSizes | (takes_turns ? kMovesMemory | kWaits : 0));
  const auto left = [&] { return wave.end - (op != nullptr ? op : wave.op)->number; };
  do {
    if (takes_turns && (op->flags & kMovesMemory) != 0) {
      if ((op->flags & kWaits) != 0) {
        least = left();
      } else if (left() <= least) {
        break;
      }
    }
    wave.op = op;
    op = step(wave, op);
  } while (op != nullptr && left() > 0);
  if (takes_turns && wave.status == Status::Running && (op != nullptr || left() <= least)) wave.status = Status::Paused;
  if (op != nullptr) wave.op = op;
  wave.returns_at = kEveryOp;
  return static_cast<u64>(longest - left());
}

/// Carries out an instruction, and nothing else.
constexpr auto execute = [](Wave& wave, const Op* op) { return op->execute(wave, op); };

/// The same, in the fastest way that the wave's MODE and who looks on allow.
u64 run_in_one_way(Wave& wave, TurnLength turn, Observer* observer, u8 watched_ops) {
  const auto one = wave.runs_singly() ? step : static_cast<Execute>(execute);
  const u8 returns_at = wave.runs_singly() ? u8{kEveryOp} : watched_ops;
  if (watched_ops == 0) return run_instructions(wave, turn, returns_at, one);
  const bool wants_after = observer->wants_after();
  return run_instructions(wave, turn, returns_at, [=](Wave& w, const Op* op) {
    if (!is_watched(op, watched_ops)) return one(w, op);
    observer->before(w, op);
    if (!wants_after) return one(w, op);
    const Op* following = nullptr;
    {
      const Singly singly(w);
      following = one(w, op);
    }
    observer->after(w, op);
    return following;
  });
}

/// Writes `first` and the numbers that follow it, as vectors, which GCC does not make of a plain loop here.
void count_up(u32* to, u32 count, u32 first) {
  typedef u32 Four __attribute__((vector_size(16)));
  Four next = Four{0, 1, 2, 3} + first;
  for (; count >= 4; count -= 4, to += 4, next += 4) std::memcpy(to, &next, sizeof(next));
  for (u32 i = 0; i < count; ++i) to[i] = next[i];
}

/// Sets `row` and those behind it, one for each wave, to the work-items' ids within the workgroup, ten bits for each
/// axis; to poison in lanes that have none.
void number_work_items(const LaunchState& launch, const std::array<u32, 3>& block, LaneRow* row) {
  poison(row, size_t{launch.waves} * kLanes);
  u32 lane = 0;
  for (u32 z = 0; z < block[2]; ++z) {
    for (u32 y = 0; y < block[1]; ++y) {
      for (u32 x = 0; x < block[0];) {
        const u32 count = std::min(block[0] - x, launch.lanes - lane);
        count_up(row->lane + lane, count, x | y << 10 | z << 20);
        x += count;
        lane += count;
        if (lane == launch.lanes) {
          lane = 0;
          ++row;
        }
      }
    }
  }
}

/// nullptr where there are not two.
std::unique_ptr<Observer> both(Observer* one, Observer* other) {
  if (one == nullptr || other == nullptr) return nullptr;
  auto observers = std::make_unique<Observers>();
  observers->add(*one);
  observers->add(*other);
  return observers;
}

}  // namespace

void fault(std::string reason, int lane) { throw Fault{std::move(reason), lane}; }
void fault_at(std::string reason, int lane, u64 address, const char* kind) {
  throw Fault{std::move(reason), lane, true, address, kind};
}

void check_relative_register(const Wave& wave, u64 number) {
  const u32 count = wave.vgpr_count + wave.agpr_count;
  if (number >= count) fault(text("vector register ", number, ", relative to M0, of ", count, " registers"));
}

u64 Wave::address(const Op* at) const { return function->address(at); }

const Op* Wave::jump(u64 address) {
  if (!function->contains(address)) function = &group->launch().function_at(address);
  return function->at(address);
}

Workgroup::Workgroup(const LaunchState& launch)
    : launch_(launch),
      block_(launch.dispatch.block),
      work_item_count_(launch.work_items),
      all_waves_(launch.waves),
      waves_(all_waves_),
      takes_turns_(launch.lds_size > 0 && launch.waves > 1),
      has_split_barriers_(isa::features(launch.module.generation()).has_split_barriers),
      max_instructions_(launch.dispatch.max_instructions),
      own_observer_(launch.dispatch.checks == nullptr ? nullptr : launch.dispatch.checks->observe()),
      both_(both(launch.dispatch.observer, own_observer_.get())),
      usual_observer_(both_ != nullptr           ? both_.get()
                      : own_observer_ != nullptr ? own_observer_.get()
                                                 : launch.dispatch.observer),
      sums_additions_((usual_observer_ == nullptr || !usual_observer_->watches_memory()) &&
                      launch.grid_sync() == nullptr && launch.hostcalls() == nullptr),
      registers_(new LaneRow[launch.waves * (rows_apart(launch) + 1)]),
      work_items_(&registers_[launch.waves * rows_apart(launch)]),
      lds_(new(std::align_val_t{kHostLine}) u8[launch.lds_size]),
      scratch_(allocate_scratch(launch)) {
  observe(usual_observer_, nullptr);
  number_work_items(launch, block_, work_items_);
  std::array<u32, 128> constants = inline_constants32();
  for (Wave& wave : all_waves_) std::copy(constants.begin(), constants.end(), wave.s + 128);
}

Workgroup::~Workgroup() = default;

void Workgroup::observe(Observer* observer, SpinProbe* probe) {
  observer_ = observer;
  probe_ = probe;
  watched_ops_ = observer == nullptr ? 0 : observer->watched_ops();
  runs_freely_ = watched_ops_ == 0 && launch_.hostcalls() == nullptr;
  lds_observer_ = observer != nullptr && observer->watches_lds() ? observer : nullptr;
  memory_observer_ = observer != nullptr && observer->watches_memory() ? observer : nullptr;
  direct_lds_size_ = lds_observer_ == nullptr ? launch_.lds_size : 0;
}

void Workgroup::start(u64 number) {
  number_ = number;
  turns_ = 0;
  const auto& grid = launch_.dispatch.grid;
  id_ = {static_cast<u32>(number % grid[0]), static_cast<u32>(number / grid[0] % grid[1]),
         static_cast<u32>(number / grid[0] / grid[1])};
  set_block(launch_.block_of(id_));
  barrier_signals_ = 0;
  is_barrier_over_ = false;
  poison(lds_.get(), launch_.lds_size / sizeof(u32));
  for (u32 index = 0; index < waves_.size(); ++index) start_wave(waves_[index], index);
}

void Workgroup::set_block(const std::array<u32, 3>& block) {
  if (block == block_) return;
  block_ = block;
  work_item_count_ = block[0] * block[1] * block[2];
  waves_ = std::span(all_waves_).first((work_item_count_ + launch_.lanes - 1) / launch_.lanes);
  number_work_items(launch_, block, work_items_);
}

void Workgroup::start_wave(Wave& wave, u32 index) {
  const u32 rows = launch_.registers.vgprs + launch_.registers.agprs;
  wave.v = &registers_[index * rows_apart(launch_)];
  poison(wave.v, size_t{rows} * kLanes);
  wave.vgpr_count = launch_.registers.vgprs;
  wave.agpr_count = launch_.registers.agprs;
  wave.sgpr_count = launch_.registers.sgprs;
  wave.index = index;
  wave.lanes = launch_.lanes;
  wave.group = this;
  wave.scratch_size = launch_.scratch_size;
  wave.scratch_ready = wave.scratch_poisoned = 0;
  wave.scratch = scratch_.get() + size_t{index} * kLanes * launch_.scratch_size;
  wave.scc = false;
  wave.instructions = 0;
  wave.grid_barrier = 0;
  wave.is_past_barrier = false;
  wave.status = Status::Running;

  set_work_items(wave);
  std::fill_n(wave.s, 128, kPoison);
  launch_.set_initial_state(wave, id_);
  const u32 items = std::min(launch_.lanes, work_item_count_ - index * launch_.lanes);
  wave.s[sreg::kExec + 1] = 0;  // which set_exec() leaves alone in waves of 32 lanes
  wave.set_exec(items == kLanes ? ~u64{0} : (u64{1} << items) - 1);
  wave.function = &launch_.function;
  wave.op = wave.function->at(launch_.entry);
  if (observer_ != nullptr) observer_->start(wave);
}

void Workgroup::set_work_items(Wave& wave) const {
  const LaneRow& packed = work_items_[wave.index];
  wave.v[0] = packed;
  if (launch_.module.processor().packs_work_items) return;
  const u32 axes = std::min(launch_.kernel.descriptor->enable_vgpr_workitem_id, 2u) + 1;
  const u32 items = std::min(launch_.lanes, work_item_count_ - wave.index * launch_.lanes);
  for (u32 axis = 0; axis < std::min(axes, wave.vgpr_count); ++axis) {
    for (u32 lane = 0; lane < items; ++lane) wave.v[axis].lane[lane] = packed.lane[lane] >> 10 * axis & 1023u;
  }
}

Workgroup::Progress Workgroup::run(u64 quantum, const Look& look) {
  const TurnLength turn = takes_turns_ ? kTurn : TurnLength{quantum, quantum};
  ++turns_;
  u64 left = quantum * waves_.size();
  while (left > 0) {
    bool alive = false, moved = false, waits = false;
    for (Wave& wave : waves_) {
      if (wave.status == Status::Ended) continue;
      alive = true;
      if (wave.status == Status::Barrier) {
        waits = true;
        continue;
      }
      if (until_look_ == 0) {
        look_at(wave, look);
        until_look_ = kLook;
      }
      const u64 count = run_wave(wave, turn, look);
      until_look_ -= std::min(until_look_, count);
      left -= std::min(left, count);
      moved |= wave.status != Status::Yielded;
      waits |= wave.status == Status::Barrier;
    }
    if (!alive) return Progress::Finished;
    moved |= waits && release_barrier();
    if (!moved) break;
  }
  return Progress::Suspended;
}

Workgroup::Progress Workgroup::probe(SpinWatch& watch, const Look& look) {
  ++turns_;
  settle_adds();
  SpinProbe probe(watch, waves_);
  Observers observers;
  if (usual_observer_ != nullptr) observers.add(*usual_observer_);
  observers.add(probe);
  struct Restored {
    Workgroup& group;
    ~Restored() { group.observe(group.usual_observer_, nullptr); }
  } const restored{*this};
  observe(&observers, &probe);
  for (Wave& wave : waves_) wave.scratch_ready = 0;
  bool alive = true;
  for (u64 left = kProbe; left > 0 && alive && !probe.is_stuck(); --left) {
    if (left % (kLook / kTurn.longest) == 0) look_at(waves_[0], look);
    alive = false;
    for (Wave& wave : waves_) {
      if (wave.status != Status::Ended && wave.status != Status::Barrier) run_wave(wave, kTurn, look);
      alive |= wave.status != Status::Ended;
    }
    release_barrier();
  }
  if (alive && probe.is_stuck()) {
    watch.note(*this, probe);
  } else {
    watch.forget(*this);
  }
  return alive ? Progress::Suspended : Progress::Finished;
}

void Workgroup::settle_adds() {
  try {
    make_pending_adds();
  } catch (const Fault& fault) {
    throw located(fault, waves_.front());
  }
}

void Workgroup::look_at(const Wave& wave, const Look& look) {
  settle_adds();
  try {
    look();
  } catch (const Fault& fault) {
    throw located(fault, wave);
  }
}

bool Workgroup::release_barrier() {
  // A wave that has ended no longer counts (ISA document, "S_BARRIER").
  bool waiting = false, all_wait = true;
  for (const Wave& wave : waves_) {
    waiting |= wave.status == Status::Barrier;
    all_wait &= wave.status == Status::Barrier || wave.status == Status::Ended;
    if (!all_wait && !has_split_barriers_) return false;
  }
  if (!waiting) return false;
  if (barrier_signals_ != 0 && barrier_signals_ >= members()) barrier_signals_ = 0, is_barrier_over_ = true;
  const bool is_over = std::exchange(is_barrier_over_, false);
  // Waves that have not signalled the barrier they wait at would do so for ever.
  const bool none_is_past = std::ranges::none_of(waves_, [](const Wave& wave) { return wave.is_past_barrier; });
  if (is_over || (all_wait && none_is_past)) {
    for (Wave& wave : waves_) {
      if (observer_ != nullptr) observer_->pass_barrier(wave);
      wave.is_past_barrier = wave.status != Status::Ended;
    }
  }
  bool moved = false;
  for (Wave& wave : waves_) {
    if (wave.status != Status::Barrier || !std::exchange(wave.is_past_barrier, false)) continue;
    wave.status = Status::Running;
    moved = true;
  }
  return moved;
}

bool Workgroup::waits_for_memory() const {
  return std::ranges::any_of(waves_, [](const Wave& wave) {
    const bool is_under_way = wave.status != Status::Ended && wave.status != Status::Barrier;
    return is_under_way && emulator::waits_for_memory(wave);
  });
}

u32 Workgroup::members() const {
  return static_cast<u32>(std::ranges::count_if(waves_, [](const Wave& wave) { return wave.status != Status::Ended; }));
}

bool Workgroup::signal_barrier(const Wave& wave) {
  if (observer_ != nullptr) observer_->signal_barrier(wave);
  const u32 before = barrier_signals_ < members() ? barrier_signals_ : 0;  // others may have ended since
  barrier_signals_ = before + 1 < members() ? before + 1 : 0;
  is_barrier_over_ |= barrier_signals_ == 0;
  return before == 0;
}

u32 Workgroup::barrier_state() const {
  constexpr u32 kValid = 1, kMembers = 4, kSignals = 16;
  const u32 signals = barrier_signals_ < members() ? barrier_signals_ : 0;
  return signals << kSignals | members() << kMembers | kValid;
}

/// Does what waves have asked the host for, and returns whether there was anything. What cannot be done is no fault of
/// the instruction that the wave has come to, which nobody may leave out for it.
bool Workgroup::serve(const Wave& wave, const Look& look) {
  Hostcalls* const hostcalls = launch_.hostcalls();
  try {
    return hostcalls != nullptr && hostcalls->serve(look);
  } catch (const Fault& fault) {
    if (observer_ != nullptr) observer_->give_up(wave);
    throw located(fault, wave);
  }
}

/// Runs a wave for a turn, in which it may wait for the host. Returns how many instructions.
u64 Workgroup::run_turn(Wave& wave, TurnLength turn, const Look& look) {
  u64 count = 0, looked_at = 0;
  while (wave.status == Status::Running && count < turn.accesses) {
    const TurnLength rest{std::min(turn.accesses - count, kLook), std::min(turn.longest - count, kLook)};
    count += run_in_one_way(wave, rest, observer_, watched_ops_);
    const bool is_answered = serve(wave, look);
    if (is_answered && probe_ != nullptr) probe_->change();
    if (is_answered && wave.status == Status::Yielded) wave.status = Status::Running;
    // What the host was asked for may have taken it longer than many instructions do.
    if ((is_answered || count - looked_at >= kLook) && wave.status == Status::Running) {
      look_at(wave, look);
      looked_at = count;
    }
  }
  return count;
}

u64 Workgroup::run_wave(Wave& wave, TurnLength turn, const Look& look) {
  wave.status = Status::Running;
  u64 count = 0;
  try {
    const bool is_short = turn.longest <= kTurn.longest && runs_freely_ && !wave.runs_singly();
    count = is_short ? run_instructions(wave, turn, 0, execute) : run_turn(wave, turn, look);
    if (wave.status == Status::Running) wave.status = Status::Paused;
    if (observer_ != nullptr && (wave.status == Status::Barrier || wave.status == Status::Ended)) observer_->stop(wave);
    wave.instructions += count;
    if (max_instructions_ != 0 && wave.instructions > max_instructions_) {
      fault(text("a wave ran more than ", max_instructions_,
                 " instructions, the limit that WAVE_RUNTIME_MAX_INSTRUCTIONS sets"));
    }
  } catch (const Abort& abort) {
    if (observer_ != nullptr) observer_->give_up(wave);
    throw_abort(abort, wave);
  } catch (const Fault& fault) {
    wave.returns_at = kEveryOp;
    if (!skip_access(wave, fault)) {
      if (observer_ != nullptr) observer_->give_up(wave);
      throw located(fault, wave);
    }
    count = 1;
  }
  return count;
}

/// Where the launch's checks look for such accesses: notes this one, and ends the wave's turn behind it.
bool Workgroup::skip_access(Wave& wave, const Fault& first) {
  Checks* const checks = launch_.dispatch.checks;
  if (checks == nullptr || !checks->skips_faults() || !is_of_access(wave, first)) return false;
  const Op* const op = wave.op;
  carry_out_rest(wave, first, [&](const Fault& fault) {
    const Sighting sighting{
        .tool = kMemoryTool, .kind = fault.kind, .pc = wave.address(op), .lane = fault.lane, .address = fault.address};
    checks->findings().add(wave, sighting, [&] { return reason_of(fault, wave); });
  });
  if (observer_ != nullptr && is_watched(op, watched_ops_)) observer_->after(wave, op);
  wave.status = Status::Paused;
  return true;
}

u64 Workgroup::instructions() const {
  u64 sum = 0;
  for (const Wave& wave : waves_) sum += wave.instructions;
  return sum;
}

}  // namespace wave::emulator
