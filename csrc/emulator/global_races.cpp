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

/// The bytes of a dword that are some of it, a bit for each.
u8 bytes_of(AddressSpan part) { return static_cast<u8>(((1u << part.size()) - 1) << part.begin() % sizeof(u32)); }

/// Whether two accesses are a race where nothing orders them.
bool conflicts(const PastAccess& past, const PastAccess& now) {
  const bool are_atomic = past.is_atomic && now.is_atomic && !(past.is_maybe && now.is_maybe);
  return (past.is_store || now.is_store) && !are_atomic && (past.bytes & now.bytes) != 0;
}

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
  first_ = number_of(wave) - wave.index;
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

/// As each lane's access of a whole dword is, but for the lane.
PastAccess GlobalRaceChecker::access_of(bool is_store) const {
  const State& own = states_[wave_->index];
  return {.wave = number_of(*wave_),
          .number = is_store ? own.issued.stores : own.issued.loads,
          .pc = static_cast<u32>(wave_->address(wave_->op) - wave_->group->launch().module.load_address(0)),
          .bytes = 15,
          .is_store = is_store,
          .is_atomic = instruction_.is_coherent,
          .is_maybe = instruction_.is_maybe_atomic};
}

void GlobalRaceChecker::access(AddressSpan span, int lane, bool is_store) {
  PastAccess now = access_of(is_store);
  now.lane = static_cast<i8>(lane);
  for (u64 address = span.begin() & ~u64{3}; address < span.end(); address += sizeof(u32)) {
    const AddressSpan part = span.common({address, sizeof(u32)});
    now.bytes = bytes_of(part);
    access_dword(address, now);
  }
}

/// Of instructions that release and acquire nothing.
void GlobalRaceChecker::load_memory_lanes(const LaneAccesses& all) {
  if (instruction_.is_coherent) return Observer::load_memory_lanes(all);
  begin_access(true, false);
  access_lanes(all, all.lanes, false);
}

void GlobalRaceChecker::store_memory_lanes(const LaneAccesses& all) {
  if (instruction_.is_coherent || instruction_.returns) return Observer::store_memory_lanes(all);
  u64 changing = 0;
  all.each([&](int lane) {
    const void* const memory = reinterpret_cast<const void*>(all.span(lane).begin());
    changing |= u64{std::memcmp(memory, all.data_of(lane), all.size) != 0} << lane;
  });
  if (changing == 0) return;
  begin_access(instruction_.modifies, true);
  access_lanes(all, changing, true);
}

/// Of lanes that access the same the last one is noted, which is what is kept of them, unless there is something to
/// report of each.
void GlobalRaceChecker::access_lanes(const LaneAccesses& all, u64 lanes, bool is_store) {
  PastAccess now = access_of(is_store);
  for (u64 left = lanes; left != 0;) {
    const int lane = std::countr_zero(left);
    const u64 begin = all.span(lane).begin();
    const u64 block = all.side_by_side(left, AccessBlock::kBytes);
    if (block != 0 && begin % AccessBlock::kBytes == 0 && access_block(all, lane, now)) {
      left &= ~block;
      continue;
    }
    const u64 same = all.same_as_first(left);
    left &= ~same;
    now.lane = static_cast<i8>(63 - std::countl_zero(same));
    for (u64 address = begin & ~u64{3}; address < begin + all.size; address += sizeof(u32)) {
      const AddressSpan part = all.span(lane).common({address, sizeof(u32)});
      now.bytes = bytes_of(part);
      if (note(hold_.at(address), now)) continue;
      for (u64 one = same; one != 0; one &= one - 1) access(part, std::countr_zero(one), is_store);
    }
  }
}

/// An access of a whole block, by lanes side by side. False where it is more than that: then what is noted here will be
/// noted again.
bool GlobalRaceChecker::access_block(const LaneAccesses& all, int lane, PastAccess now) {
  PastAccesses* const common = hold_.block(all.span(lane).begin()).common();
  if (common == nullptr) return false;
  const u32 parts = all.size < sizeof(u32) ? static_cast<u32>(sizeof(u32)) / all.size : 1;  // of a dword
  now.step = static_cast<i8>(parts == 1 ? static_cast<int>(all.size / sizeof(u32)) : -static_cast<int>(parts));
  for (u32 part = 0; part < parts; ++part) {
    now.lane = static_cast<i8>(lane + static_cast<int>(part));
    now.bytes = parts == 1 ? u8{15} : bytes_of({u64{part} * all.size, all.size});
    if (!note(*common, now)) return false;
  }
  return true;
}

GlobalRaceChecker::Place GlobalRaceChecker::find_place(PastAccesses& all, const PastAccess& now) const {
  PastAccess* place = nullptr;
  PastAccess* obsolete = nullptr;
  bool has_race = false;
  for (PastAccess& past : all) {
    if (past.wave == 0) {
      if (place == nullptr) place = &past;
      continue;
    }
    const bool is_own = past.wave == now.wave, is_before = is_own || is_ordered(past);
    const bool is_covered = (past.bytes & ~now.bytes) == 0 && (now.is_store || !past.is_store);
    if (is_own && is_covered && past.is_store == now.is_store) place = &past;
    if (is_before && is_covered) obsolete = &past;
    has_race |= !is_before && conflicts(past, now);
  }
  if (place == nullptr) place = obsolete != nullptr ? obsolete : &all[now.number % all.size()];
  return {place, has_race};
}

/// False, and nothing, where there is a race to report.
bool GlobalRaceChecker::note(PastAccesses& all, const PastAccess& now) const {
  const auto [place, has_race] = find_place(all, now);
  if (!has_race) *place = now;
  return !has_race;
}

void GlobalRaceChecker::access_dword(u64 address, const PastAccess& now) {
  if (instruction_.modifies)
    std::erase_if(state().suspicions, [&](const Suspicion& s) { return s.address == address; });
  PastAccesses& all = hold_.at(address);
  const auto [place, has_race] = find_place(all, now);
  for (const PastAccess& past : all) {
    if (has_race && past.wave != 0 && past.wave != now.wave && conflicts(past, now) && !is_ordered(past))
      report(address, now, past);
  }
  *place = now;
}

bool GlobalRaceChecker::is_ordered(const PastAccess& past) const {
  const State& own = states_[wave_->index];
  const auto is_reached = [&](const Reach& reach) {
    return past.number <= (past.is_store ? reach.stores : reach.loads);
  };
  const u32 mate = past.wave - first_;  // a large number where it is of a workgroup before
  if (mate < own.mates.size() && is_reached(own.mates[mate])) return true;
  if (own.others.empty()) return false;
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
  const Reach to_all{own.written_back != 0 ? own.done.loads : 0, own.written_back};
  const Reach to_group = own.done_for_mates().stores != 0 ? own.done_for_mates() : Reach{};
  const auto is_known = [](const Reach& reach) { return reach.stores != 0 || reach.loads != 0; };
  const bool has_mates = std::ranges::any_of(own.mates, is_known);
  if (own.others.empty() && !has_mates && !is_known(to_all) && !is_known(to_group)) return;
  shadow_.release(span.begin() & ~u64{3}, wave_->group->number(), instruction_.modifies, [&](auto& known) {
    join(known.to_all, own.others);
    join(known.to_group, own.others);
    for (u32 i = 0; has_mates && i < own.mates.size(); ++i) {
      if (!is_known(own.mates[i])) continue;
      known.to_all[first_ + i].join(own.mates[i]);
      known.to_group[first_ + i].join(own.mates[i]);
    }
    const u32 self = number_of(*wave_);
    if (is_known(to_all)) known.to_all[self].join(to_all);
    if (is_known(to_group)) known.to_group[self].join(to_group);
  });
}

void GlobalRaceChecker::acquire(AddressSpan span) {
  GlobalShadow::Released released = shadow_.released(span.begin() & ~u64{3});
  State& own = state();
  if (released.group == wave_->group->number()) join(own.others, released.to_group);
  join(own.to_be_acquired, released.to_all);
}

}  // namespace wave::emulator
