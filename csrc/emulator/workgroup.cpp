#include "emulator/workgroup.h"

#include <algorithm>
#include <cstring>

#include "emulator/constants.h"
#include "emulator/observer.h"
#include "emulator/op.h"
#include "emulator/step.h"

namespace wave::emulator {

namespace {

// Hardware leaves registers and LDS as they were. A quiet NaN in every float type, which is also a far address and a
// large negative integer, makes a kernel that reads them before writing them fail here.
constexpr u32 kPoison = 0xfff7fff7;

KernelFault located(const Fault& fault, const Wave& wave) {
  const LaunchState& launch = wave.group->launch();
  const u64 pc = wave.address(wave.op);
  const auto& id = wave.group->id();
  const auto& block = launch.dispatch.block;
  std::string where = text(fault.reason, "\n  at ", launch.module.describe(pc), ": ", launch.module.disassemble(pc),
                           "\n  workgroup (", id[0], ", ", id[1], ", ", id[2], "), wave ", wave.index);
  if (fault.lane >= 0) {
    const u32 item = wave.index * launch.lanes + static_cast<u32>(fault.lane);
    where += text(", lane ", fault.lane, " (work-item (", item % block[0], ", ", item / block[0] % block[1], ", ",
                  item / block[0] / block[1], "))");
  }
  if (fault.has_address) where += text(", address ", hex(fault.address));
  const std::string& name = launch.kernel.metadata.name;
  KernelFault result(
      text("kernel '", name, "' on the ", launch.module.code().target().processor, " emulator: ", where));
  result.kernel = name;
  result.workgroup = id;
  result.wave = wave.index;
  result.lane = fault.lane;
  result.pc = pc - launch.module.load_address(launch.kernel.entry_address);
  result.instruction = launch.module.disassemble(pc);
  if (fault.has_address) result.address = fault.address;
  return result;
}

/// A trap, with what assert has written before.
[[noreturn]] void throw_abort(const Abort& abort, const Wave& wave) {
  const Hostcalls* const hostcalls = wave.group->launch().hostcalls();
  const std::string written = hostcalls != nullptr ? hostcalls->error_output() : "";
  if (written.empty()) throw located(abort, wave);
  throw AssertionFault(located(
      Fault{text("the kernel has aborted: ", written.substr(0, written.find_last_not_of('\n') + 1)), abort.lane},
      wave));
}

[[noreturn]] void refuse_lds(const char* verb, u64 address, u32 size, u32 limit, int lane) {
  const u64 past = address < limit ? 0 : address - limit;
  fault_at(text(verb, size, " bytes out of bounds: ", past, " bytes past the end of LDS, of which the workgroup has ",
                limit, " bytes"),
           lane, address);
}

/// Instructions in a wave's turn. Hardware runs the waves of a workgroup side by side, and hand-written kernels count
/// on it: they leave out a barrier where the other waves' loads from LDS, a few instructions back, must be over by
/// then.
constexpr u64 kTurn = 4;

/// Runs instructions until the wave stops or the quantum is over. Returns how many.
template <class Step>
u64 run_instructions(Wave& wave, u64 quantum, Step step) {
  const Op* op = wave.op;
  u64 count = 0;
  do {
    wave.op = op;
    op = step(wave, op);
  } while (++count != quantum && op != nullptr);
  if (op != nullptr) wave.op = op;
  return count;
}

/// The same, in the fastest way that the wave's MODE allows.
u64 run_in_one_way(Wave& wave, u64 quantum, Observer* observer) {
  if (observer != nullptr) {
    return run_instructions(wave, quantum, [=](Wave& w, const Op* op) {
      observer->before(w, op);
      const Op* following = step(w, op);
      observer->after(w, op);
      return following;
    });
  }
  if (wave.runs_singly()) return run_instructions(wave, quantum, step);
  return run_instructions(wave, quantum, [](Wave& w, const Op* op) { return op->execute(w, op); });
}

/// The work-items' ids within the workgroup, ten bits for each axis; poison in lanes that have none.
std::vector<Row> packed_work_items(const LaunchState& launch) {
  const auto& block = launch.dispatch.block;
  std::vector<Row> rows(launch.waves);
  for (Row& row : rows) std::fill_n(row.lane, kLanes, kPoison);
  for (u32 item = 0; item < launch.work_items; ++item) {
    const u32 packed = item % block[0] | (item / block[0] % block[1]) << 10 | (item / block[0] / block[1]) << 20;
    rows[item / launch.lanes].lane[item % launch.lanes] = packed;
  }
  return rows;
}

}  // namespace

void fault(std::string reason, int lane) { throw Fault{std::move(reason), lane}; }
void fault_at(std::string reason, int lane, u64 address) { throw Fault{std::move(reason), lane, true, address}; }

void check_relative_register(const Wave& wave, u64 number) {
  const u32 count = wave.vgpr_count + wave.agpr_count;
  if (number >= count) fault(text("vector register ", number, ", relative to M0, of ", count, " registers"));
}

u64 Wave::address(const Op* at) const { return function->address(at); }

const Op* Wave::jump(u64 address) {
  if (!function->contains(address)) function = &group->launch().module.function(address, group->launch().limits);
  return function->at(address);
}

Workgroup::Workgroup(const LaunchState& launch)
    : launch_(launch),
      function_(launch.module.function(launch.entry, launch.limits)),
      work_items_(packed_work_items(launch)),
      waves_(launch.waves),
      takes_turns_(launch.lds_size > 0 && launch.waves > 1),
      lds_observer_(launch.dispatch.observer != nullptr && launch.dispatch.observer->watches_lds()
                        ? launch.dispatch.observer
                        : nullptr),
      direct_lds_size_(lds_observer_ == nullptr ? launch.lds_size : 0),
      registers_(new Row[size_t{launch.waves} * (launch.limits.vgprs + launch.limits.agprs)]),
      lds_(new u8[launch.lds_size]),
      scratch_(new u8[size_t{launch.waves} * kLanes * launch.scratch_size]) {
  std::array<u32, 128> constants = inline_constants32();
  for (Wave& wave : waves_) std::copy(constants.begin(), constants.end(), wave.s + 128);
}

void Workgroup::start(u64 number) {
  number_ = number;
  const auto& grid = launch_.dispatch.grid;
  id_ = {static_cast<u32>(number % grid[0]), static_cast<u32>(number / grid[0] % grid[1]),
         static_cast<u32>(number / grid[0] / grid[1])};
  std::fill_n(reinterpret_cast<u32*>(lds_.get()), launch_.lds_size / 4, kPoison);
  for (u32 index = 0; index < waves_.size(); ++index) start_wave(waves_[index], index);
}

void Workgroup::start_wave(Wave& wave, u32 index) {
  const u32 rows = launch_.limits.vgprs + launch_.limits.agprs;
  wave.v = &registers_[size_t{index} * rows];
  std::fill_n(&wave.v[0].lane[0], size_t{rows} * kLanes, kPoison);
  wave.vgpr_count = launch_.limits.vgprs;
  wave.agpr_count = launch_.limits.agprs;
  wave.sgpr_count = launch_.limits.sgprs;
  wave.index = index;
  wave.group = this;
  wave.scratch_size = launch_.scratch_size;
  wave.scratch = scratch_.get() + size_t{index} * kLanes * launch_.scratch_size;
  wave.scc = false;
  wave.instructions = 0;
  wave.status = Status::Running;

  wave.v[0] = work_items_[index];
  std::fill_n(wave.s, 128, kPoison);
  launch_.set_initial_state(wave, id_);
  const u32 items = std::min(launch_.lanes, launch_.work_items - index * launch_.lanes);
  wave.set_exec(items == kLanes ? ~u64{0} : (u64{1} << items) - 1);
  wave.function = &function_;
  wave.op = wave.function->at(launch_.entry);
  if (launch_.dispatch.observer != nullptr) launch_.dispatch.observer->start(wave);
}

Workgroup::Progress Workgroup::run(u64 quantum) {
  const u64 turn = takes_turns_ ? std::min(kTurn, quantum) : quantum;
  u64 left = quantum * waves_.size();
  while (left > 0) {
    bool alive = false, moved = false;
    for (Wave& wave : waves_) {
      if (wave.status == Status::Ended) continue;
      alive = true;
      if (wave.status == Status::Barrier) continue;
      left -= std::min(left, run_wave(wave, turn));
      moved |= wave.status != Status::Yielded;
    }
    if (!alive) return Progress::Finished;
    moved |= release_barrier();
    if (!moved) break;
  }
  return Progress::Suspended;
}

bool Workgroup::release_barrier() {
  // A wave that has ended no longer counts (ISA document, "S_BARRIER").
  bool waiting = false;
  for (const Wave& wave : waves_) {
    if (wave.status != Status::Barrier && wave.status != Status::Ended) return false;
    waiting |= wave.status == Status::Barrier;
  }
  if (!waiting) return false;
  for (Wave& wave : waves_) {
    if (lds_observer_ != nullptr) lds_observer_->pass_barrier(wave);
    if (wave.status == Status::Barrier) wave.status = Status::Running;
  }
  return true;
}

/// Runs a wave for a turn, in which it may wait for the host. Returns how many instructions.
u64 Workgroup::run_turn(Wave& wave, u64 turn) {
  u64 count = 0;
  while (wave.status == Status::Running && count < turn) {
    count += run_in_one_way(wave, turn - count, launch_.dispatch.observer);
    Hostcalls* const hostcalls = launch_.hostcalls();
    const bool is_answered = hostcalls != nullptr && hostcalls->serve();
    if (is_answered && wave.status == Status::Yielded) wave.status = Status::Running;
  }
  return count;
}

u64 Workgroup::run_wave(Wave& wave, u64 turn) {
  wave.status = Status::Running;
  u64 count = 0;
  try {
    count = run_turn(wave, turn);
    if (wave.status == Status::Running) wave.status = Status::Paused;
    wave.instructions += count;
    if (const u64 most = launch_.dispatch.max_instructions; most != 0 && wave.instructions > most) {
      fault(text("a wave ran more than ", most, " instructions, the limit that WAVE_RUNTIME_MAX_INSTRUCTIONS sets"));
    }
  } catch (const Abort& abort) {
    throw_abort(abort, wave);
  } catch (const Fault& fault) {
    throw located(fault, wave);
  }
  return count;
}

void Workgroup::read_lds(u64 address, void* to, u32 size, int lane) const {
  if (lds_observer_ != nullptr) lds_observer_->load_lds(address, size);
  const u32 limit = lds_size();
  if (address + size > limit && !launch_.memory().forgive(address, size, limit, "LDS", lane)) {
    refuse_lds("a load of ", address, size, limit, lane);
  }
  const u64 inside = address < limit ? std::min<u64>(size, limit - address) : 0;
  std::memset(to, 0, size);
  if (inside != 0) std::memcpy(to, lds_.get() + address, inside);
}

void Workgroup::write_lds(u64 address, const void* from, u32 size, int lane) {
  if (address + size > lds_size()) refuse_lds("a store of ", address, size, lds_size(), lane);
  if (lds_observer_ != nullptr) lds_observer_->store_lds(address, size, from);
  std::memcpy(lds_.get() + address, from, size);
}

u8* Workgroup::atomic_lds(u64 address, u32 size, int lane) {
  check_atomic(address, size, lane);
  if (address + size > lds_size()) refuse_lds("an atomic access of ", address, size, lds_size(), lane);
  if (lds_observer_ != nullptr) lds_observer_->store_lds(address, size, nullptr);
  return lds_.get() + address;
}

u64 Workgroup::instructions() const {
  u64 sum = 0;
  for (const Wave& wave : waves_) sum += wave.instructions;
  return sum;
}

}  // namespace wave::emulator
