// What orders the accesses of the launch's memory: waits, caches, barriers, atomics.
#include <algorithm>
#include <cstring>
#include <utility>

#include "emulator/global_races.h"
#include "emulator/workgroup.h"

namespace wave::emulator {

namespace {

using isa::Scope;

bool is_something(const Reach& reach) { return reach.stores != 0 || reach.loads != 0; }

}  // namespace

/// Outer caches come first: else the own one may take from them what is stale.
void GlobalRaceChecker::invalidate() {
  State& own = state();
  if (instruction_.control.invalidates_shared) {
    own.behind_own_cache.join(own.to_be_acquired);
    own.to_be_acquired.clear();
    own.is_shared_fresh = true;
  }
  if (!instruction_.control.invalidates_own) return;
  own.others.join(own.behind_own_cache);
  own.behind_own_cache.clear();
  own.fresh_mates = own.mates;
  own.is_fresh = own.is_shared_fresh;
}

/// As an invalidation of all caches would.
void GlobalRaceChecker::acquire_all(State& state) {
  state.others.join(state.behind_own_cache);
  state.others.join(state.to_be_acquired);
  state.behind_own_cache.clear();
  state.to_be_acquired.clear();
  state.fresh_mates = state.mates;
}

/// ROCm's device libraries invalidate caches before a barrier of the grid, and not behind it (ockl/src/cg.cl,
/// __ockl_grid_sync). Waves that have loaded nothing in between find there what others have stored before it, as far as
/// they themselves are concerned.
void GlobalRaceChecker::note_grid_barrier(State& state) {
  state.has_passed_grid_barrier = true;
  if (state.is_fresh) acquire_all(state);
}

/// Finds out what has ended.
void GlobalRaceChecker::settle(State& state, bool writes_back) {
  std::erase_if(state.pending, [&](const Pending& one) { return one.number <= state.counters.done(one.counters); });
  state.done = state.issued;
  for (const Pending& one : state.pending) {
    if (one.access.loads != 0) state.done.loads = std::min(state.done.loads, one.access.loads - 1);
    if (one.access.stores != 0) state.done.stores = std::min(state.done.stores, one.access.stores - 1);
  }
  if (!writes_back) {
    state.written_back = state.done;
  } else if (state.wanted_back) {
    state.written_back.join({state.done.loads, std::min(*state.wanted_back, state.done.stores)});
    for (size_t i = 0; i < state.mates_back.size(); ++i) state.mates_back[i].join(state.mates_wanted_back[i]);
  }
}

/// What a wave does from now on the barrier does not order.
void GlobalRaceChecker::signal_barrier(const Wave& wave) {
  State& own = states_[wave.index];
  own.signalled_done = own.done_for_mates();
  own.signalled_back = own.written_back;
}

/// All waves are there: what each has waited for comes before what any does from now on.
void GlobalRaceChecker::pass_barrier(const Wave& wave) {
  if (wave.index != 0) return;
  MemoryClock others, to_be_acquired, behind_own_cache;
  std::vector<Reach> back(states_.size());
  bool is_grid_barrier = false;
  for (const State& one : states_) {
    others.join(one.others);
    to_be_acquired.join(one.to_be_acquired);
    behind_own_cache.join(one.behind_own_cache);
    is_grid_barrier |= one.has_passed_grid_barrier;
    for (size_t i = 0; writes_back_ && i < back.size(); ++i) back[i].join(one.mates_back[i]);
  }
  for (size_t i = 0; writes_back_ && i < back.size(); ++i)
    back[i].join(states_[i].signalled_back.value_or(states_[i].written_back));
  for (State& one : states_) {
    (one.shares_cache ? one.others : one.behind_own_cache).join(others);
    one.to_be_acquired.join(to_be_acquired);  // each may invalidate what it reads through
    one.behind_own_cache.join(behind_own_cache);
    for (size_t i = 0; i < states_.size(); ++i)
      one.mates[i].join(states_[i].signalled_done.value_or(states_[i].done_for_mates()));
    one.has_mates = std::ranges::any_of(one.mates, is_something);
    std::ranges::copy(back, one.mates_back.begin());
    one.has_passed_grid_barrier = false;
    if (is_grid_barrier && one.is_fresh) acquire_all(one);
  }
  for (State& one : states_) one.signalled_done = one.signalled_back = std::nullopt;
}

/// As an atomic of agent scope would: what a wave has made known comes before what others find out behind the barrier.
void GlobalRaceChecker::look_at_grid_barrier(const Wave& wave) {
  look_at(wave);
  instruction_ = Decoded();
  instruction_.scope = Scope::Agent;
  instruction_.modifies = true;
}

void GlobalRaceChecker::reach_grid_barrier(const Wave& wave, u64 counter) {
  look_at_grid_barrier(wave);
  use_loads(state());
  release({counter, sizeof(u32)});
  hold_.let_go();
}

void GlobalRaceChecker::pass_grid_barrier(const Wave& wave, u64 counter) {
  look_at_grid_barrier(wave);
  acquire({counter, sizeof(u32)});
  note_grid_barrier(state());
  hold_.let_go();
}

bool GlobalRaceChecker::is_of_grid_barrier(AddressSpan span) const {
  const GridSync* const sync = wave_->group->launch().grid_sync();
  return sync != nullptr && sync->region().bytes.overlaps(span);
}

bool GlobalRaceChecker::has_to_release() {
  if (!may_acquire_) return false;
  const State& own = state();
  return !own.others.is_empty() || own.has_mates || is_something(own.written_back) ||
         is_something(own.done_for_mates());
}

/// What comes before an atomic store is known to who reads what it stores. A plain store where the wave's atomics have
/// read, as one that lets go of a lock, counts here, too: that it is none is one mistake, and what the lock guards is
/// not to be told besides.
void GlobalRaceChecker::release(AddressSpan span) {
  const State& own = state();
  const Reach to_all{own.done.loads, own.written_back.stores};
  Released& known = hold_.page(span.begin()).releases(span.begin());
  known.begin(wave_->group->number(), instruction_.modifies, static_cast<u32>(span.size()));
  const bool tells_all = instruction_.scope != Scope::Workgroup;
  if (!own.others.is_empty() && tells_all) known.to_all.join(own.others);
  for (u32 i = 0; tells_all && own.has_mates && i < own.mates.size(); ++i) {
    if (!is_something(own.mates[i])) continue;
    // What waves of a compute unit store goes to memory in their order, so that each may write it back for all.
    const Reach reach{own.mates[i].loads, writes_back_ ? own.mates_back[i].stores : own.mates[i].stores};
    known.to_all.join(first_ + i, reach);
  }
  if (tells_all && is_something(to_all)) known.to_all.join(number_of(*wave_), to_all);
  tell_group(known);
}

void GlobalRaceChecker::tell_group(Released& known) const {
  const State& own = states_[wave_->index];
  if (!own.others.is_empty()) known.to_group.join(own.others);
  for (u32 i = 0; own.has_mates && i < own.mates.size(); ++i) {
    if (is_something(own.mates[i])) known.to_group.join(first_ + i, own.mates[i]);
  }
  const Reach& done = own.done_for_mates();
  if (is_something(done)) known.to_group.join(number_of(*wave_), done);
}

void GlobalRaceChecker::AtomicReads::note(u64 dword, const PastAccesses& found) {
  if (recent_.found.size() >= kMost) older_ = std::exchange(recent_, {});
  recent_.found[dword] = found;
  recent_.begin = std::min(recent_.begin, dword);
  recent_.end = std::max(recent_.end, dword + sizeof(u32));
}

const PastAccesses* GlobalRaceChecker::AtomicReads::find(u64 dword) const {
  for (const Dwords* const dwords : {&recent_, &older_}) {
    if (const auto found = dwords->found.find(dword); found != dwords->found.end()) return &found->second;
  }
  return nullptr;
}

void GlobalRaceChecker::acquire(AddressSpan span) {
  State& own = state();
  for (u64 address = span.begin() & ~u64{3}; address < span.end(); address += sizeof(u32))
    own.atomic_reads.note(address, hold_.page(address).own(address));
  for (u64 address = span.begin() & ~u64{3}; address < span.end(); ++address) {
    const Released* const released = hold_.page(address).released(address);
    const bool is_met = released != nullptr && (address >= span.begin() || released->is_of(span.begin() - address));
    if (!is_met) continue;
    if (released->group == wave_->group->number()) acquire_of_group(*released);
    if (instruction_.scope != Scope::Agent) continue;
    own.to_be_acquired.join(released->to_all);
    own.others.join_loads(released->to_all);  // whatever this wave stores from now on, they have their values
  }
  if (is_of_grid_barrier(span)) note_grid_barrier(own);
}

void GlobalRaceChecker::acquire_of_group(const Released& known) {
  State& own = state();
  (own.shares_cache ? own.others : own.behind_own_cache).join(known.to_group);
  own.others.join_loads(known.to_group);
}

/// Atomics in LDS, and flags that are polled there, order the workgroup's accesses of memory, too.
void GlobalRaceChecker::load_lds(AddressSpan span, int) {
  if (!meets_in_lds_ || !instruction_.finds_in_lds) return;
  for (u64 address = span.begin() & ~u64{3}; address < span.end(); ++address) {
    const auto found = told_in_lds_.find(address);
    if (found == told_in_lds_.end()) continue;
    if (address >= span.begin() || found->second.is_of(span.begin() - address)) acquire_of_group(found->second);
  }
}

/// Each store may be the one that is polled, and leaves nothing of what was known.
void GlobalRaceChecker::store_lds(AddressSpan span, const void*, int lane) {
  use_loads(state());
  if (!meets_in_lds_) return;
  load_lds(span, lane);
  for (u64 address = span.begin(); address < span.end(); address = (address & ~u64{3}) + sizeof(u32)) {
    Released& known = told_in_lds_[address];
    const u32 bytes = static_cast<u32>(std::min<u64>(span.end() - address, sizeof(u32) - address % sizeof(u32)));
    known.begin(wave_->group->number(), instruction_.modifies, bytes);
    tell_group(known);
  }
}

void GlobalRaceChecker::compare_lds(AddressSpan span, const void* expected, int lane) {
  use_loads(state());
  if (!meets_in_lds_) return;
  const bool stores = std::memcmp(wave_->group->lds() + span.begin(), expected, span.size()) == 0;
  stores ? store_lds(span, nullptr, lane) : load_lds(span, lane);
}

void GlobalRaceChecker::load_lds_lanes(const LaneAccesses& all) {
  if (meets_in_lds_ && instruction_.finds_in_lds) Observer::load_lds_lanes(all);
}

void GlobalRaceChecker::store_lds_lanes(const LaneAccesses& all) {
  use_loads(state());
  if (meets_in_lds_) Observer::store_lds_lanes(all);
}

}  // namespace wave::emulator
