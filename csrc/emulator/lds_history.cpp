#include "emulator/lds_history.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "emulator/isa/features.h"
#include "emulator/workgroup.h"

namespace wave::emulator {

namespace {

/// More loads than these are not suspected at a time.
constexpr size_t kMostLdsSuspicions = 1024;

/// A barrier of the workgroup, as an assembler has it.
const char* barrier_text(isa::Generation generation) {
  return isa::features(generation).has_split_barriers ? "s_barrier_signal with s_barrier_wait" : "s_barrier";
}

}  // namespace

void LdsHistory::forget(u64 bytes) {
  ++since_;
  dwords_.resize((bytes + sizeof(u32) - 1) / sizeof(u32));
  bytes_.clear();
  further_.clear();
  known_.clear();
  made_known_.clear();
  found_.clear();
  suspicions_.clear();
}

void LdsHistory::settle() {
  for (const Suspicion& one : suspicions_) findings_.add(*one.wave, one.sighting, [&] { return one.message; });
  suspicions_.clear();
}

/// An atomic that returns what was there: the loads of its wave before it are a part of the loop that it is in.
void LdsHistory::follow_loads(AddressSpan span) {
  const auto is_followed = [&](const Suspicion& one) {
    return one.reader == current_.wave && span.contains(one.address);
  };
  std::erase_if(suspicions_, is_followed);
  const auto follow = [&](LdsAccess& read) {
    if (read.wave == current_.wave) read.kind |= LdsAccess::kAtomic;
  };
  for_each_cell(span, [&](Cell& cell, u64, u64) {
    follow(cell.reads.last);
    follow(cell.reads.other);
    if (cell.reads.further != 0) std::ranges::for_each(further_[cell.reads.further - 1], follow);
  });
}

/// Of a wave the last access of a kind stands for those before.
void LdsHistory::add(Accesses& all, const LdsAccess& access) {
  const bool is_of_other = all.last.wave != access.wave;
  LdsAccess& lost = is_of_other ? all.other : all.last;
  const bool stays_known = lost.kind == access.kind && lost.wave == access.wave;
  if (!stays_known && lost.pc != 0) keep(all, lost);
  if (is_of_other) all.other = all.last;
  all.last = access;
}

/// A write that changes some of a dword's bytes has changed those, too, that its wave changed before, and that it
/// leaves as they are.
void LdsHistory::add_change(Accesses& all, LdsAccess access) {
  for (const LdsAccess* const past : {&all.last, &all.other}) {
    if (past->wave == access.wave && (past->changed & ~access.changed) != 0 && !is_done(*past))
      access.changed |= past->changed;
  }
  add(all, access);
}

void LdsHistory::keep(Accesses& all, const LdsAccess& lost) {
  if (is_done(lost)) return;
  if (all.further == 0) {
    further_.emplace_back();
    all.further = static_cast<u32>(further_.size());
  }
  std::vector<LdsAccess>& kept = further_[all.further - 1];
  std::erase_if(kept, [&](const LdsAccess& past) {
    const bool is_like = past.wave == lost.wave && past.kind == lost.kind;
    return is_done(past) || (is_like && (past.changed & ~lost.changed) == 0);
  });
  kept.push_back(lost);
}

/// What a byte has in common with the others of its dword it keeps by itself from now on.
void LdsHistory::separate(Accesses& all) {
  if (all.further == 0) return;
  further_.push_back(further_[all.further - 1]);
  all.further = static_cast<u32>(further_.size());
}

/// What is known of one of a dword's bytes: not all writes have changed it.
LdsHistory::Cell LdsHistory::byte_of(const Cell& dword, u32 byte) {
  const auto has_changed = [&](const LdsAccess& access) { return (access.changed >> byte & 1) != 0; };
  Cell cell = dword;
  if (!has_changed(cell.changes.other)) cell.changes.other = {};
  if (!has_changed(cell.changes.last)) cell.changes.last = std::exchange(cell.changes.other, {});
  for (Accesses* all : {&cell.reads, &cell.writes, &cell.changes}) separate(*all);
  if (cell.changes.further != 0)
    std::erase_if(further_[cell.changes.further - 1], [&](const LdsAccess& access) { return !has_changed(access); });
  return cell;
}

LdsHistory::Dword& LdsHistory::dword_at(u64 number) {
  Dword& dword = dwords_[number];
  if (dword.since != since_) dword = {.since = since_, .cell = {}};
  return dword;
}

void LdsHistory::split(Dword& dword) {
  std::array<Cell, 3>& others = bytes_.emplace_back();
  dword.bytes = static_cast<u32>(bytes_.size());
  for (u32 i = 0; i < others.size(); ++i) others[i] = byte_of(dword.cell, i + 1);
  dword.cell = byte_of(dword.cell, 0);
}

template <class Look>
void LdsHistory::for_each_cell(AddressSpan span, const Look& look) {
  constexpr u64 kSize = sizeof(u32);
  for (u64 address = span.begin(); address < span.end();) {
    const u64 number = address / kSize, offset = address % kSize;
    const u64 size = std::min(kSize - offset, span.end() - address);
    Dword& dword = dword_at(number);
    if (size == kSize && dword.bytes == 0) {
      look(dword.cell, address, kSize);
    } else {
      if (dword.bytes == 0) split(dword);
      std::array<Cell, 3>& others = bytes_[dword.bytes - 1];
      for (u64 i = offset; i < offset + size; ++i) look(i == 0 ? dword.cell : others[i - 1], number * kSize + i, 1);
    }
    address += size;
  }
}

Sighting LdsHistory::sighting(const LdsAccess& access, const LdsAccess& past, const char* kind) const {
  const u64 base = wave_->group->launch().module.load_address(0);
  return {.tool = kRacesTool,
          .kind = kind,
          .pc = base + access.pc,
          .lane = access.lane,
          .earlier_pc = base + past.pc,
          .earlier = {wave_->group->id(), past.wave, past.lane}};
}

void LdsHistory::check(const Accesses& earlier, const LdsAccess& access, u64 address, bool is_store, bool was_store) {
  const auto check_with = [&](const LdsAccess& past) {
    if (past.pc == 0 || past.wave == access.wave || (past.is_atomic() && access.is_atomic()) || is_before(past)) return;
    if (past.is_poll() || access.is_poll() || has_found(past, address)) return;
    const bool has_barrier = past.number <= waves_[past.wave].issued[past.queue()];
    const auto message = [&] {
      const isa::Generation generation = row_->generation;
      const Counters all = past.queue() * isa::kLoadCount;
      const Counters counters = all & isa::kLdsCount ? Counters{isa::kLdsCount} : all;
      const std::string wait = has_barrier ? wait_text(generation, counters, 0) + " is missing before the " : "";
      const std::string missing =
          text(wait, barrier_text(generation), has_barrier ? "" : " is missing", " between them");
      return text("byte ", address, " is ", is_store ? "written" : "read", " by wave ", u32{access.wave},
                  " after wave ", u32{past.wave}, was_store ? " wrote" : " read", " it: ", missing);
    };
    const Sighting found = sighting(access, past, "lds-race");
    const bool is_of_load_and_atomic = past.is_atomic() ? !is_store : access.is_atomic() && !was_store;
    if (!is_of_load_and_atomic) return findings_.add(*wave_, found, message);
    const u8 reader = past.is_atomic() ? access.wave : past.wave;
    if (suspicions_.size() < kMostLdsSuspicions) suspicions_.push_back({address, wave_, reader, found, message()});
  };
  check_with(earlier.last);
  check_with(earlier.other);
  if (earlier.further == 0) return;
  for (const LdsAccess& past : further_[earlier.further - 1]) check_with(past);
}

/// What a wave loads straight into LDS is there when the load has been waited for.
void LdsHistory::check_own(const Cell& cell, const LdsAccess& access, u64 address) {
  const LdsAccess& write = cell.writes.last;
  if (write.wave != access.wave || access.is_of_load()) return;
  if (write.number <= waves_[access.wave].now.done(isa::kLoadCount)) return;
  findings_.add(*wave_, sighting(access, write, "lds-load"), [&] {
    return text("byte ", address, " is accessed by wave ", u32{access.wave}, ", whose own load into LDS has not been",
                " waited for: ", wait_text(row_->generation, isa::kLoadCount, 0), " is missing");
  });
}

void LdsHistory::load(AddressSpan span, int lane) {
  LdsAccess access = current_;
  access.lane = static_cast<i8>(lane);
  if (release_ != nullptr) meet(span.begin() / sizeof(u32));
  for_each_cell(span, [&](Cell& cell, u64 address, u64) {
    if (release_ != nullptr && release_->finds) find_writes(cell, address);
    if (cell.writes.last.is_of_load()) check_own(cell, access, address);
    if ((cell.writers >> access.wave & 1) == 0 && cell.changes.last.pc != 0) {
      check(cell.changes, access, address, false, true);
    }
    add(cell.reads, access);
  });
}

/// Finds out what those before it on the dword, or at the address, have made known, and adds what its wave knows.
void LdsHistory::meet(u64 place) {
  const auto join = [&](Reaches& to, const Reaches& from) {
    if (!from.empty()) to.resize(waves_.size());
    for (size_t wave = 0; wave < from.size(); ++wave) {
      for (size_t queue = 0; queue < kLdsQueues; ++queue)
        to[wave][queue] = std::max(to[wave][queue], from[wave][queue]);
    }
  };
  known_.resize(waves_.size());
  Reaches &own = known_[current_.wave], &made_known = made_known_[place];
  if (release_->finds) join(own, made_known);
  if (!release_->tells) return;
  if (release_->is_plain) made_known.clear();
  join(made_known, own);
  made_known.resize(waves_.size());
  LdsReach& done = made_known[current_.wave];
  for (size_t queue = 0; queue < kLdsQueues; ++queue) done[queue] = std::max(done[queue], release_->done[queue]);
}

/// LDS is accessed in one order. So what an access has found done to a dword comes before what its wave does there.
void LdsHistory::find_writes(const Cell& cell, u64 address) {
  std::vector<LdsAccess>& found = found_[{current_.wave, address / sizeof(u32)}];
  found.clear();
  for (const Accesses* all : {&cell.writes, &cell.changes}) {
    found.insert(found.end(), {all->last, all->other});
    if (all->further != 0)
      found.insert(found.end(), further_[all->further - 1].begin(), further_[all->further - 1].end());
  }
}

bool LdsHistory::has_found(const LdsAccess& past, u64 address) const {
  const auto found = found_.find({current_.wave, address / sizeof(u32)});
  return found != found_.end() && std::ranges::any_of(found->second, [&](const LdsAccess& one) {
           return one.pc != 0 && one.wave == past.wave && one.number == past.number && one.kind == past.kind;
         });
}

void LdsHistory::store(AddressSpan span, u32 changed, int lane) {
  LdsAccess access = current_;
  access.lane = static_cast<i8>(lane);
  if (release_ != nullptr) {
    meet(span.begin() / sizeof(u32));
    if (access.is_atomic() && release_->finds) follow_loads(span);
  } else if (!made_known_.empty()) {
    made_known_.erase(span.begin() / sizeof(u32));  // a plain store leaves nothing of it
  }
  for_each_cell(span, [&](Cell& cell, u64 address, u64 size) {
    const u32 bits = changed >> (address - span.begin()) & ((1u << size) - 1);
    access.changed = static_cast<u8>(bits & 15);
    if (release_ != nullptr && release_->finds) find_writes(cell, address);
    if (cell.writes.last.is_of_load()) check_own(cell, access, address);
    if (bits != 0) {
      check(cell.reads, access, address, true, false);
      check(cell.writes, access, address, true, true);
      add_change(cell.changes, access);
      cell.writers = 0;
    }
    cell.writers |= 1u << access.wave;
    add(cell.writes, access);
  });
}

}  // namespace wave::emulator
