#include "emulator/global_races.h"

#include <algorithm>
#include <cstring>

#include "emulator/isa/operand.h"
#include "emulator/lost_memory.h"
#include "emulator/polls.h"
#include "emulator/workgroup.h"

namespace wave::emulator {

namespace {

using Direction = isa::MemoryAccess::Direction;
using isa::Scope;

/// More than a counter can count: what was issued before has ended.
constexpr size_t kMostPending = 64;

/// The bytes of a dword that are some of it, a bit for each.
u8 bytes_of(AddressSpan part) { return static_cast<u8>(((1u << part.size()) - 1) << part.begin() % sizeof(u32)); }

/// One of them that gives way. Of atomics, whose waves seldom wait for each other, there is no better one.
PastAccess* any(PastAccesses& all, const PastAccess& now) { return &all[(now.wave + now.number) % all.size()]; }

/// One of sixteen of them: of a wave's lanes some, other ones of each wave.
bool is_sample(const PastAccess& now) { return (static_cast<u32>(now.lane) + now.wave * 5 + now.number) % 16 == 0; }

/// Whether there are as many as can be known, all of them atomics for everybody.
bool are_all_atomic(const PastAccesses& all) {
  return std::ranges::all_of(all, [](const PastAccess& past) {
    return past.wave != 0 && past.is_store && past.is_atomic && !past.is_maybe && !past.is_local;
  });
}

/// The lanes whose bytes in memory are not those that they store.
template <class T>
u64 changing(const LaneAccesses& all) {
  u64 lanes = 0;
  all.each([&](int lane) {
    T had, stored;
    std::memcpy(&had, reinterpret_cast<const void*>(all.span(lane).begin()), sizeof(T));
    std::memcpy(&stored, all.data_of(lane), sizeof(T));
    lanes |= u64{had != stored} << lane;
  });
  return lanes;
}

u64 changing_lanes(const LaneAccesses& all) {
  if (all.size == sizeof(u32)) return changing<u32>(all);
  if (all.size == sizeof(u16)) return changing<u16>(all);
  u64 lanes = 0;
  all.each([&](int lane) {
    const void* const memory = reinterpret_cast<const void*>(all.span(lane).begin());
    lanes |= u64{!is_equal_guarded(memory, all.data_of(lane), all.size)} << lane;
  });
  return lanes;
}

}  // namespace

const GlobalRaceChecker::Decoded& GlobalRaceChecker::look_up(const Wave& wave, const Op* op) {
  return instructions_.get(wave, op, [&](Decoded& instruction) {
    const isa::Instruction decoded = decoded_instruction(wave, op);
    if (decoded.row == nullptr) return;
    const bool modifies = decoded.row->memory.direction == Direction::Atomic;
    const Scope scope = scope_of(wave, decoded, wave.address(op));
    const bool is_like_others = isa::has_equal_stores(*decoded.row) || isa::atomic_scope(decoded) != scope;
    instruction = {decoded.row,
                   counters_of(decoded),
                   isa::cache_control(decoded),
                   scope,
                   modifies,
                   decoded.row->memory.direction == Direction::Store && is_like_others,
                   modifies && isa::returns_value(decoded),
                   decoded.row->kind == isa::Kind::VectorMemory && decoded.row->memory.direction == Direction::Load &&
                       !isa::reads_past_own_cache(decoded),
                   modifies ? isa::has_result(decoded)
                            : decoded.row->memory.direction == Direction::Load && is_poll(wave, wave.address(op))};
  });
}

u32 GlobalRaceChecker::number_of(const Wave& wave) const {
  return static_cast<u32>(wave.group->number() * wave.group->launch().waves + wave.index + 1);
}

/// Whether a kernel's code, or what it may go on to, has loads that count as atomic, or atomics that return what was
/// there. Long code, which is translated in parts, is not looked at.
bool GlobalRaceChecker::may_acquire(const Wave& wave) {
  struct Answer : FunctionNotes {
    bool may_acquire = false;
  };
  static constexpr char kKey = 0;
  constexpr u64 kMost = 16384;  // bytes
  const TranslatedFunction& function = *wave.function;
  const LaunchState& launch = wave.group->launch();
  const auto acquires = [&](u64 pc) {
    const isa::Instruction decoded = launch.module.decode(pc, launch.lanes);
    if (decoded.row == nullptr) return false;  // a fault
    const isa::Row& row = *decoded.row;
    const auto leaves = [&](const isa::Operand& operand) {
      if (operand.kind == isa::OperandKind::BranchTarget) return function.at(pc)->scalar.target == nullptr;
      const isa::Location location = isa::locate(decoded, operand);
      return location.place == isa::Place::Scalar && location.value < isa::kZero;  // an address in registers
    };
    if (row.kind == isa::Kind::Control) return std::ranges::any_of(std::span(row.operands, row.operand_count), leaves);
    if (row.memory.direction == Direction::Atomic) return isa::returns_value(decoded);
    return row.memory.direction == Direction::Load && isa::atomic_scope(decoded) != Scope::None;
  };
  const FunctionNotes& notes = function.notes(&kKey, [&] {
    auto answer = std::make_unique<Answer>();
    answer->may_acquire = function.end() - function.begin() > kMost;
    for (u64 pc = function.begin(); pc < function.end() && !answer->may_acquire; pc += 4 * u64{function.at(pc)->size})
      answer->may_acquire = acquires(pc);
    return answer;
  });
  return static_cast<const Answer&>(notes).may_acquire || may_poll_in_memory(wave);
}

void GlobalRaceChecker::start(const Wave& wave) {
  if (wave.index == 0) {
    states_.clear();
    may_acquire_ = may_acquire(wave);
    meets_in_lds_ = wave.group->lds_bytes().size() != 0 && may_acquire_in_lds(wave);
    told_in_lds_.clear();
    writes_back_ = isa::must_write_back(wave.group->launch().module.instruction_set().rows()[0]);
  }
  State& own = states_.emplace_back();
  own.mates.resize(wave.group->launch().waves);
  own.fresh_mates = own.mates_back = own.mates_wanted_back = own.mates;
  own.shares_cache = emulator::shares_cache(wave);
}

void GlobalRaceChecker::look_at(const Wave& wave) {
  wave_ = &wave;
  first_ = number_of(wave) - wave.index;
}

void GlobalRaceChecker::before(const Wave& wave, const Op* op) {
  look_at(wave);
  instruction_ = look_up(wave, op);
  has_begun_ = false;
  if (instruction_.row == nullptr || (wave.mode.skip_vector() && (op->flags & kSkippable))) return;
  State& own = state();
  own.counters.issue(instruction_.counters);
  if (instruction_.control.writes_back) own.wanted_back = own.issued.stores, own.mates_wanted_back = own.mates;
  invalidate();
  if (!isa::is_wait(instruction_.row->kind)) return;
  own.counters.wait(*instruction_.row, op->scalar.simm16);
  settle(own, isa::must_write_back(*instruction_.row));
}

/// What a wave has loaded before may show in what it does now.
void GlobalRaceChecker::use_loads(State& own) {
  own.used_loads = own.issued.loads;
  for (const UnusedLoad& one : own.unused_loads) {
    for (u64 i = 0; i < one.count; ++i) findings_.add(one.witness, one.sighting, [&] { return one.message; });
  }
  own.unused_loads.clear();
}

void GlobalRaceChecker::give_up(const Wave&) {
  hold_.let_go();
  for (State& one : states_) use_loads(one);
}

void GlobalRaceChecker::stop(const Wave& wave) {
  if (wave.status != Status::Ended) return;
  State& own = states_[wave.index];
  for (const Suspicion& suspicion : own.suspicions) {
    if (own.used_loads >= suspicion.loads) findings_.add(wave, suspicion.sighting, [&] { return suspicion.message; });
  }
  own.has_ended = true;
  own.unused_loads.clear();
}

void GlobalRaceChecker::begin_access(bool is_load, bool is_store) {
  if (has_begun_) return;
  has_begun_ = true;
  State& own = state();
  own.issued.loads += is_load;
  own.issued.stores += is_store;
  current_ = {.wave = number_of(*wave_),
              .pc = static_cast<u32>(wave_->address(wave_->op) - wave_->group->launch().module.load_address(0)),
              .bytes = 15,
              .is_atomic = instruction_.scope != Scope::None,
              .is_maybe = instruction_.is_maybe_atomic,
              .is_local = instruction_.scope == Scope::Workgroup};
  if (own.pending.size() == kMostPending) own.pending.erase(own.pending.begin());
  own.pending.push_back({instruction_.counters,
                         own.counters.issued(instruction_.counters),
                         {is_load ? own.issued.loads : 0, is_store ? own.issued.stores : 0}});
}

/// Nobody can write there, in this launch or in another that runs beside it: what is read there is no part of a race.
bool GlobalRaceChecker::is_constant(AddressSpan span) const {
  return wave_->group->launch().memory().is_constant(span);
}

/// Atomic loads go past the caches.
void GlobalRaceChecker::note_load(AddressSpan span) {
  if (instruction_.scope == Scope::None && !is_of_grid_barrier(span))
    state().is_fresh = state().is_shared_fresh = false;
}

void GlobalRaceChecker::load_memory(AddressSpan span, int lane) {
  if (is_constant(span)) return;
  begin_access(true, false);
  note_load(span);
  if (instruction_.scope != Scope::None) acquire(span);
  access(span, lane, false);
}

/// What a store will change is known only where nobody else stores before it is done.
void GlobalRaceChecker::hold_pages(const LaneAccesses& all) {
  pages_.clear();
  const auto add = [&](u64 page) {
    if (pages_.empty() || pages_.back() != page) pages_.push_back(page);
  };
  all.each([&](int lane) {
    const AddressSpan span = all.span(lane);
    add(span.begin() / GlobalShadow::kPage);
    add((span.end() - 1) / GlobalShadow::kPage);
  });
  if (pages_.size() > 1) {
    std::ranges::sort(pages_);
    const auto [first, last] = std::ranges::unique(pages_);
    pages_.erase(first, last);
  }
  hold_.take(pages_);
}

void GlobalRaceChecker::store_memory(AddressSpan span, const void* data, int lane) {
  use_loads(state());
  hold_.page(span.begin());  // so that nobody else stores there
  const bool changes =
      data == nullptr || !is_equal_guarded(reinterpret_cast<const void*>(span.begin()), data, span.size());
  if (instruction_.returns) acquire(span);
  const bool tells = instruction_.scope != Scope::None || has_read_by_atomic(span.begin() & ~u64{3});
  if (tells && has_to_release()) release(span);
  if (!changes) return note_alike(span);
  begin_access(instruction_.modifies, true);
  access(span, lane, true);
}

/// One that fails orders and races as a load does. Its number is a store's all the same: another lane's may succeed.
void GlobalRaceChecker::compare_memory(AddressSpan span, const void* expected, int lane) {
  use_loads(state());
  hold_.page(span.begin());
  if (is_equal_guarded(reinterpret_cast<const void*>(span.begin()), expected, span.size()))
    return store_memory(span, nullptr, lane);
  if (instruction_.returns) acquire(span);
  begin_access(true, true);
  access(span, lane, false);
}

/// As each lane's access of a whole dword is, but for the lane.
PastAccess GlobalRaceChecker::access_of(bool is_store) const {
  const Reach& issued = states_[wave_->index].issued;
  PastAccess now = current_;
  now.number = is_store ? issued.stores : issued.loads;
  now.is_store = is_store;
  return now;
}

void GlobalRaceChecker::access(AddressSpan span, int lane, bool is_store) {
  PastAccess now = access_of(is_store);
  now.lane = static_cast<i8>(lane);
  if (span.size() == sizeof(u32) && span.begin() % sizeof(u32) == 0) return access_dword(span.begin(), now);
  for (u64 address = span.begin() & ~u64{3}; address < span.end(); address += sizeof(u32)) {
    const AddressSpan part = span.common({address, sizeof(u32)});
    now.bytes = bytes_of(part) & 15;
    access_dword(address, now);
  }
}

/// Of instructions that release and acquire nothing.
void GlobalRaceChecker::load_memory_lanes(const LaneAccesses& all) {
  if (is_constant(all.span(std::countr_zero(all.lanes)))) return;  // who tells has found them all in one region
  if (instruction_.scope != Scope::None) return Observer::load_memory_lanes(all);
  begin_access(true, false);
  note_load(all.span(std::countr_zero(all.lanes)));
  access_lanes(all, all.lanes, false);
}

void GlobalRaceChecker::store_memory_lanes(const LaneAccesses& all) {
  use_loads(state());
  hold_pages(all);
  if (instruction_.scope != Scope::None || instruction_.returns || meets_atomic_read(all))
    return Observer::store_memory_lanes(all);
  const u64 changing = changing_lanes(all);
  for (u64 left = all.lanes & ~changing; left != 0; left &= left - 1) note_alike(all.span(std::countr_zero(left)));
  if (changing == 0) return;
  begin_access(instruction_.modifies, true);
  access_lanes(all, changing, true);
}

/// Counters, most often. Of a dword that only atomics access not all of them are noted, so that threads which count in
/// the same one need not wait for each other.
void GlobalRaceChecker::modify_memory_lanes(const LaneAccesses& all) {
  use_loads(state());
  const bool tells = has_to_release();
  if (tells) all.each([&](int lane) { release(all.span(lane)); });
  begin_access(true, true);
  PastAccess now = access_of(true);
  const bool is_simple = all.size == sizeof(u32) && state().suspicions.empty();
  const bool may_be_left_out = is_simple && !tells && now.is_atomic && !now.is_maybe && !now.is_local;
  all.each([&](int lane) {
    const AddressSpan span = all.span(lane);
    now.lane = static_cast<i8>(lane);
    if (may_be_left_out && !is_sample(now) && hold_.unlocked(span.begin()).is_counter(span.begin())) return;
    if (is_simple) {
      ShadowPage& page = hold_.page(span.begin());
      PastAccesses& known = page.own(span.begin());
      if (note_atomic(known, now)) return page.set_counter(span.begin(), are_all_atomic(known));
    }
    access(span, lane, true);
  });
  // Nobody needs to find the page as the atomic leaves it: threads that count in one page wait for each other no longer
  // than for this.
  if (!tells) hold_.let_go();
}

void GlobalRaceChecker::access_lanes(const LaneAccesses& all, u64 lanes, bool is_store) {
  constexpr u64 kBlock = ShadowPage::kBlockBytes;
  const PastAccess now = access_of(is_store);
  const u32 of_block = kBlock % all.size == 0 ? static_cast<u32>(kBlock) / all.size : kLanes + 1;  // lanes
  u32 run_end = 0;
  for (u64 left = lanes; left != 0;) {
    const u32 lane = static_cast<u32>(std::countr_zero(left));
    if (all.begins[lane] % kBlock == 0) {
      if (run_end <= lane) run_end = lane + all.side_by_side(left);
      if (run_end - lane >= of_block && access_block(all, static_cast<int>(lane), now)) {
        left &= ~((~u64{0} >> (kLanes - of_block)) << lane);
        continue;
      }
    }
    const u64 same = all.same_as_first(left);
    left &= ~same;
    access_same(all, same, now);
  }
}

/// Of lanes that access the same the last one is noted, which is what is kept of them, unless there is something to
/// report of each.
void GlobalRaceChecker::access_same(const LaneAccesses& all, u64 same, PastAccess now) {
  const AddressSpan span = all.span(std::countr_zero(same));
  now.lane = static_cast<i8>(63 - std::countl_zero(same));
  for (u64 address = span.begin() & ~u64{3}; address < span.end(); address += sizeof(u32)) {
    const AddressSpan part = span.common({address, sizeof(u32)});
    now.bytes = bytes_of(part) & 15;
    ShadowPage& page = hold_.page(address);
    if (!now.is_atomic) page.set_counter(address, false);
    if (note(page.own(address), now)) continue;
    for (u64 one = same; one != 0; one &= one - 1) access(part, std::countr_zero(one), now.is_store);
  }
}

/// An access of a whole block, by lanes side by side. False where it is more than that: then what is noted here will be
/// noted again.
bool GlobalRaceChecker::access_block(const LaneAccesses& all, int lane, PastAccess now) {
  const u64 begin = all.begins[static_cast<size_t>(lane)];
  PastAccesses* const common = hold_.page(begin).common(begin);
  if (common == nullptr) return false;
  const u32 parts = all.size < sizeof(u32) ? static_cast<u32>(sizeof(u32)) / all.size : 1;  // of a dword
  now.step = static_cast<i8>(parts == 1 ? static_cast<int>(all.size / sizeof(u32)) : -static_cast<int>(parts));
  for (u32 part = 0; part < parts; ++part) {
    now.lane = static_cast<i8>(lane + static_cast<int>(part));
    now.bytes = (parts == 1 ? 15 : bytes_of({u64{part} * all.size, all.size})) & 15;
    if (!note(*common, now)) return false;
  }
  return true;
}

bool GlobalRaceChecker::is_of_mate(const PastAccess& past) const {
  return past.wave - first_ < states_[wave_->index].mates.size();  // of a workgroup before it is a large number
}

/// Whether two accesses are a race where nothing orders them.
bool GlobalRaceChecker::conflicts(const PastAccess& past, const PastAccess& now) const {
  const bool are_atomic = past.is_atomic && now.is_atomic && !(past.is_maybe && now.is_maybe) &&
                          ((!past.is_local && !now.is_local) || is_of_mate(past));
  return (past.is_store || now.is_store) && !are_atomic && (past.bytes & now.bytes) != 0;
}

/// Whether an access of other waves that is a race with the earlier one is one with the later one, too.
bool GlobalRaceChecker::is_covered(const PastAccess& past, const PastAccess& now) const {
  const bool is_as_local = !past.is_local || (now.is_local && is_of_mate(past));
  const bool is_as_plain = !now.is_atomic || (past.is_atomic && (now.is_maybe || !past.is_maybe) && is_as_local);
  return (past.bytes & ~now.bytes) == 0 && (now.is_store || !past.is_store) && is_as_plain;
}

GlobalRaceChecker::Place GlobalRaceChecker::find_place(PastAccesses& all, const PastAccess& now) const {
  PastAccess* place = nullptr;
  bool has_race = false;
  for (PastAccess& past : all) {
    if (past.wave == 0) {  // and so are those behind it
      if (place == nullptr) place = &past;
      break;
    }
    if (past.wave == now.wave) {
      if (is_covered(past, now) && past.is_store == now.is_store) place = &past;
    } else if (!has_race && conflicts(past, now)) {
      has_race = !is_ordered(past);
    }
  }
  if (place == nullptr) place = find_obsolete(all, now);
  return {place, has_race};
}

/// The last one that comes before an access which is a race wherever that one is or, if there is none, any.
PastAccess* GlobalRaceChecker::find_obsolete(PastAccesses& all, const PastAccess& now) const {
  for (size_t i = all.size(); i-- > 0;) {
    if (is_covered(all[i], now) && (all[i].wave == now.wave || is_ordered(all[i]))) return &all[i];
  }
  return any(all, now);
}

/// False, and nothing, where there is a race to report.
bool GlobalRaceChecker::note(PastAccesses& all, const PastAccess& now) const {
  const auto [place, has_race] = find_place(all, now);
  if (!has_race) *place = now;
  return !has_race;
}

/// An atomic of a dword that only atomics have accessed, as counters are, is no race. False, and nothing, of others.
bool GlobalRaceChecker::note_atomic(PastAccesses& all, const PastAccess& now) const {
  if (!now.is_atomic || now.is_maybe || now.is_local) return false;
  PastAccess* place = nullptr;
  for (PastAccess& past : all) {
    if (past.wave == 0) {
      if (place == nullptr) place = &past;
      break;
    }
    if (!past.is_atomic || past.is_local) return false;
    if (past.wave == now.wave && past.is_store == now.is_store && is_covered(past, now)) place = &past;
  }
  *(place != nullptr ? place : any(all, now)) = now;
  return true;
}

/// Whether a store may be to a dword that the wave's atomics have read.
bool GlobalRaceChecker::meets_atomic_read(const LaneAccesses& all) const {
  const AtomicReads& reads = states_[wave_->index].atomic_reads;
  if (!reads.may_have(all.hull())) return false;
  bool meets = false;
  all.each([&](int lane) { meets |= reads.find(all.span(lane).begin() & ~u64{3}) != nullptr; });
  return meets;
}

/// Whether a wave's last atomic on a dword has found an access done. If that was a race, it has been told.
bool GlobalRaceChecker::has_found(const AtomicReads& reads, u64 address, const PastAccess& past) {
  const PastAccesses* const found = reads.find(address);
  return found != nullptr && std::ranges::any_of(*found, [&](const PastAccess& one) {
           return one.wave == past.wave && one.number == past.number && one.is_store == past.is_store;
         });
}

/// A store that leaves memory as one store of another wave has made it is no part of a race, and what its wave loads
/// behind it is what it has stored itself. Where there are several stores, nobody knows which was the last.
void GlobalRaceChecker::note_alike(AddressSpan span) {
  for (u64 address = span.begin() & ~u64{3}; address < span.end(); address += sizeof(u32)) {
    ShadowPage& page = hold_.page(address);
    const PastAccesses* const common = page.common(address);
    if (common != nullptr && common->front().wave == 0) continue;  // most often nobody has been there
    const u32 bytes = bytes_of(span.common({address, sizeof(u32)})) & 15;
    const PastAccesses known = page.of(address % ShadowPage::kBytes / sizeof(u32));
    const auto is_met = [&](const PastAccess& past) {
      return past.wave != 0 && past.is_store && (past.bytes & bytes) != 0;
    };
    const auto met = std::ranges::find_if(known, is_met);
    if (met == known.end() || std::ranges::count_if(known, is_met) > 1) continue;
    if (met->wave == number_of(*wave_) || (met->bytes & ~bytes) != 0 || is_ordered(*met)) continue;
    begin_access(instruction_.modifies, true);
    State& own = state();
    own.stored_alike.note(address, {*met});
    own.last_alike = own.issued.stores;
  }
}

/// The same for loads that come behind it, of its wave and of the workgroup's others.
bool GlobalRaceChecker::has_stored_alike(u64 address, const PastAccess& past) const {
  for (u32 index = 0; index < states_.size(); ++index) {
    const State& one = states_[index];
    if (one.last_alike == 0 || !has_found(one.stored_alike, address, past)) continue;
    if (index == wave_->index) return true;
    if (is_ordered({.wave = first_ + index, .number = one.last_alike, .is_store = true})) return true;
  }
  return false;
}

void GlobalRaceChecker::access_dword(u64 address, PastAccess now) {
  // So the store that lets go of a lock, or raises a flag, is told from one of data.
  if (now.is_maybe && has_read_by_atomic(address)) now.is_maybe = false;
  if (instruction_.modifies && !state().suspicions.empty())
    std::erase_if(state().suspicions, [&](const Suspicion& s) { return s.address == address; });
  ShadowPage& page = hold_.page(address);
  PastAccesses& all = page.own(address);
  if (note_atomic(all, now)) return;
  page.set_counter(address, false);
  const auto [place, has_race] = find_place(all, now);
  for (const PastAccess& past : all) {
    if (!has_race) break;
    if (past.wave == 0 || past.wave == now.wave || !conflicts(past, now)) continue;
    if (is_ordered(past) || (!now.is_atomic && has_found(state().atomic_reads, address, past))) continue;
    if (now.is_store || !has_stored_alike(address, past)) report(address, now, past);
  }
  *place = now;
}

/// Which of the workgroup's accesses come before the one that is under way, if one of them is the past one.
const std::vector<Reach>& GlobalRaceChecker::mates_before(const PastAccess& past) const {
  const State& own = states_[wave_->index];
  return past.is_store && instruction_.may_be_stale && !own.shares_cache ? own.fresh_mates : own.mates;
}

bool GlobalRaceChecker::is_ordered(const PastAccess& past) const {
  const State& own = states_[wave_->index];
  const auto is_reached = [&](const Reach& reach) {
    return past.number <= (past.is_store ? reach.stores : reach.loads);
  };
  if (is_of_mate(past) && is_reached(mates_before(past)[past.wave - first_])) return true;
  const Reach* const other = own.others.is_empty() ? nullptr : own.others.find(past.wave);
  return other != nullptr && is_reached(*other);
}

}  // namespace wave::emulator
