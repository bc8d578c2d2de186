#include "emulator/global_races.h"

#include <algorithm>
#include <cstring>

#include "emulator/isa/operand.h"
#include "emulator/workgroup.h"

namespace wave::emulator {

namespace {

using Direction = isa::MemoryAccess::Direction;

/// More than a counter can count: what was issued before has ended.
constexpr size_t kMostPending = 64;
constexpr size_t kMostSuspicions = 16;

std::string group_text(const Wave& wave, u64 number) {
  const auto& grid = wave.group->launch().dispatch.grid;
  return text("(", number % grid[0], ", ", number / grid[0] % grid[1], ", ", number / grid[0] / grid[1], ")");
}

}  // namespace

const GlobalRaceChecker::Decoded& GlobalRaceChecker::look_up(const Wave& wave, const Op* op) {
  return instructions_.get(wave, op, [&](Decoded& instruction) {
    const isa::Instruction decoded = wave.group->launch().module.decode(wave.address(op), wave.group->launch().lanes);
    if (decoded.row == nullptr) return;
    const bool modifies = decoded.row->memory.direction == Direction::Atomic;
    instruction = {decoded.row,
                   counters_of(decoded),
                   isa::cache_control(decoded),
                   isa::is_coherent(decoded),
                   modifies,
                   decoded.row->memory.direction == Direction::Store && isa::has_equal_stores(*decoded.row),
                   modifies && isa::returns_value(decoded)};
  });
}

u32 GlobalRaceChecker::number_of(const Wave& wave) const {
  return static_cast<u32>(wave.group->number() * wave.group->launch().waves + wave.index + 1);
}

void GlobalRaceChecker::start(const Wave& wave) {
  if (wave.index == 0) states_.clear();
  State& own = states_.emplace_back();
  own.mates.resize(wave.group->launch().waves);
  // Waves of a compute unit share its cache, which serves them in the order in which they issue.
  const KernelDescriptor& descriptor = *wave.group->launch().kernel.descriptor;
  own.is_in_order = !descriptor.tg_split && !descriptor.wgp_mode;
}

void GlobalRaceChecker::before(const Wave& wave, const Op* op) {
  wave_ = &wave;
  instruction_ = look_up(wave, op);
  has_begun_ = false;
  if (instruction_.row == nullptr || (wave.mode.skip_vector() && (op->flags & kSkippable))) return;
  State& own = state();
  own.counters.issue(instruction_.counters);
  if (instruction_.control.writes_back) own.wanted_back = own.issued.stores;
  if (instruction_.control.invalidates) join(own.others, own.to_be_acquired), own.to_be_acquired.clear();
  if (!isa::is_wait(instruction_.row->kind)) return;
  own.counters.wait(*instruction_.row, op->scalar.simm16);
  settle(own, isa::must_write_back(*instruction_.row));
}

/// Finds out what has ended.
void GlobalRaceChecker::settle(State& state, bool writes_back) {
  std::erase_if(state.pending, [&](const Pending& one) { return one.number <= state.counters.done(one.counters); });
  state.done = state.issued;
  for (const Pending& one : state.pending) {
    if (one.access.loads != 0) state.done.loads = std::min(state.done.loads, one.access.loads - 1);
    if (one.access.stores != 0) state.done.stores = std::min(state.done.stores, one.access.stores - 1);
  }
  state.written_back =
      writes_back ? std::max(state.written_back, std::min(state.wanted_back, state.done.stores)) : state.done.stores;
}

void GlobalRaceChecker::after(const Wave& wave, const Op*) {
  hold_.let_go();
  if (wave.status != Status::Ended) return;
  for (const Suspicion& suspicion : states_[wave.index].suspicions) {
    findings_.add(wave, suspicion.sighting, [&] { return suspicion.message; });
  }
}

/// All waves are there: what each has waited for comes before what any does from now on.
void GlobalRaceChecker::pass_barrier(const Wave& wave) {
  if (wave.index != 0) return;
  MemoryClock others;
  for (State& one : states_) join(others, one.others);
  for (State& one : states_) {
    one.others = others;
    for (size_t i = 0; i < states_.size(); ++i) one.mates[i].join(states_[i].done_for_mates());
  }
}

void GlobalRaceChecker::begin_access(bool is_load, bool is_store) {
  if (has_begun_) return;
  has_begun_ = true;
  State& own = state();
  own.issued.loads += is_load;
  own.issued.stores += is_store;
  if (own.pending.size() == kMostPending) own.pending.erase(own.pending.begin());
  own.pending.push_back({instruction_.counters,
                         own.counters.issued(instruction_.counters),
                         {is_load ? own.issued.loads : 0, is_store ? own.issued.stores : 0}});
}

void GlobalRaceChecker::load_memory(AddressSpan span, int lane) {
  begin_access(true, false);
  if (instruction_.is_coherent) acquire(span);
  access(span, lane, false);
}

void GlobalRaceChecker::store_memory(AddressSpan span, const void* data, int lane) {
  const bool changes =
      data == nullptr || std::memcmp(reinterpret_cast<const void*>(span.begin()), data, span.size()) != 0;
  if (instruction_.returns) acquire(span);
  if (instruction_.is_coherent) release(span);
  if (!changes) return;
  begin_access(instruction_.modifies, true);
  access(span, lane, true);
}

void GlobalRaceChecker::access(AddressSpan span, int lane, bool is_store) {
  const State& own = state();
  PastAccess now{.wave = number_of(*wave_),
                 .number = is_store ? own.issued.stores : own.issued.loads,
                 .pc = static_cast<u32>(wave_->address(wave_->op) - wave_->group->launch().module.load_address(0)),
                 .bytes = 0,
                 .lane = static_cast<i8>(lane),
                 .is_store = is_store,
                 .is_atomic = instruction_.is_coherent,
                 .is_maybe = instruction_.is_maybe_atomic};
  for (u64 address = span.begin() & ~u64{3}; address < span.end(); address += sizeof(u32)) {
    const AddressSpan part = span.common({address, sizeof(u32)});
    now.bytes = static_cast<u8>(((1u << part.size()) - 1) << (part.begin() - address));
    access_dword(address, now);
  }
}

void GlobalRaceChecker::access_dword(u64 address, const PastAccess& now) {
  if (instruction_.modifies)
    std::erase_if(state().suspicions, [&](const Suspicion& s) { return s.address == address; });
  PastAccesses& all = hold_.at(address);
  PastAccess* place = nullptr;
  PastAccess* obsolete = nullptr;
  for (PastAccess& past : all) {
    if (past.wave == 0) {
      if (place == nullptr) place = &past;
      continue;
    }
    const bool is_own = past.wave == now.wave;
    const bool is_covered = (past.bytes & ~now.bytes) == 0 && (now.is_store || !past.is_store);
    const bool is_ordered_before = is_own || is_ordered(past);
    if (is_own && is_covered && past.is_store == now.is_store) place = &past;
    if (is_ordered_before && is_covered) obsolete = &past;
    const bool are_atomic = past.is_atomic && now.is_atomic && !(past.is_maybe && now.is_maybe);
    const bool conflicts = (past.is_store || now.is_store) && !are_atomic;
    if (!is_ordered_before && conflicts && (past.bytes & now.bytes) != 0) report(address, now, past);
  }
  if (place == nullptr) place = obsolete != nullptr ? obsolete : &all[now.number % all.size()];
  *place = now;
}

bool GlobalRaceChecker::is_ordered(const PastAccess& past) {
  const State& own = state();
  const u32 waves = wave_->group->launch().waves, index = past.wave - 1;
  const auto is_reached = [&](const Reach& reach) {
    return past.number <= (past.is_store ? reach.stores : reach.loads);
  };
  if (index / waves == wave_->group->number() && is_reached(own.mates[index % waves])) return true;
  const auto found = own.others.find(past.wave);
  return found != own.others.end() && is_reached(found->second);
}

void GlobalRaceChecker::report(u64 address, const PastAccess& now, const PastAccess& past) {
  const LaunchState& launch = wave_->group->launch();
  const bool is_by_modifier = past.is_store && past.is_atomic && !now.is_store;
  // A plain load before another wave's atomic may be that of a loop of compare-and-swap.
  if (instruction_.modifies && !past.is_store && !past.is_atomic) return;
  const u64 group = (past.wave - 1) / launch.waves;
  const bool is_mate = group == wave_->group->number();
  const auto& grid = launch.dispatch.grid;
  const WaveName earlier{{static_cast<u32>(group % grid[0]), static_cast<u32>(group / grid[0] % grid[1]),
                          static_cast<u32>(group / grid[0] / grid[1])},
                         (past.wave - 1) % launch.waves,
                         past.lane};
  const Sighting sighting{.tool = kRacesTool,
                          .kind = kGlobalRace,
                          .pc = wave_->address(wave_->op),
                          .lane = now.lane,
                          .address = address,
                          .earlier_pc = launch.module.load_address(0) + past.pc,
                          .earlier = earlier};
  const auto message = [&] {
    const char* missing = is_mate
                              ? "a barrier, with waits before it, is missing between them"
                              : "an atomic with release and one with acquire, of agent scope, are missing between them";
    return text("memory is ", now.is_store ? "written" : "read", " by wave ", wave_->index, " of workgroup ",
                group_text(*wave_, wave_->group->number()), " after wave ", earlier.wave, " of workgroup ",
                group_text(*wave_, group), past.is_store ? " wrote" : " read", " it: ", missing);
  };
  if (!is_by_modifier) return findings_.add(*wave_, sighting, message);
  std::vector<Suspicion>& suspicions = state().suspicions;
  const bool is_known = std::ranges::any_of(suspicions, [&](const Suspicion& one) { return one.address == address; });
  if (!is_known && suspicions.size() < kMostSuspicions) suspicions.push_back({address, sighting, message()});
}

/// What comes before an atomic store is known to who reads what it stores.
void GlobalRaceChecker::release(AddressSpan span) {
  const State& own = state();
  GlobalShadow::Released released{.to_all = own.others, .to_group = own.others, .group = wave_->group->number()};
  const u32 first = number_of(*wave_) - wave_->index;
  for (u32 i = 0; i < own.mates.size(); ++i) {
    if (own.mates[i].stores == 0 && own.mates[i].loads == 0) continue;
    released.to_all[first + i].join(own.mates[i]);
    released.to_group[first + i].join(own.mates[i]);
  }
  const u32 self = number_of(*wave_);
  if (own.written_back != 0) released.to_all[self].join({own.done.loads, own.written_back});
  if (own.done_for_mates().stores != 0) released.to_group[self].join(own.done_for_mates());
  if (released.to_all.empty() && released.to_group.empty()) return;
  shadow_.release(span.begin() & ~u64{3}, std::move(released), instruction_.modifies);
}

void GlobalRaceChecker::acquire(AddressSpan span) {
  GlobalShadow::Released released = shadow_.released(span.begin() & ~u64{3});
  State& own = state();
  if (released.group == wave_->group->number()) join(own.others, released.to_group);
  join(own.to_be_acquired, released.to_all);
}

}  // namespace wave::emulator
