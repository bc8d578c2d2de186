#include "emulator/races.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "emulator/isa/features.h"
#include "emulator/workgroup.h"

namespace wave::emulator {

namespace {

using Direction = isa::MemoryAccess::Direction;

constexpr u8 kLoads = 1;  ///< the queue of LOADcnt alone

/// A barrier of the workgroup, as an assembler has it.
const char* barrier_text(isa::Generation generation) {
  return isa::features(generation).has_split_barriers ? "s_barrier_signal with s_barrier_wait" : "s_barrier";
}

}  // namespace

const RaceChecker::Decoded& RaceChecker::look_up(const Wave& wave, const Op* op) {
  return instructions_.get(wave, op, [&](Decoded& instruction) {
    const isa::Instruction decoded = wave.group->launch().module.decode(wave.address(op), wave.group->launch().lanes);
    if (decoded.row != nullptr) instruction = {decoded.row, counters_of(decoded)};
  });
}

void RaceChecker::start(const Wave& wave) {
  if (wave.index == 0) {
    ++workgroup_;
    dwords_.resize((wave.group->lds_bytes().size() + 3) / sizeof(u32));
    bytes_.clear();
    further_.clear();
    waves_.clear();
  }
  waves_.emplace_back();
}

void RaceChecker::before(const Wave& wave, const Op* op) {
  wave_ = &wave;
  instruction_ = &look_up(wave, op);
  begun_ = nullptr;
  if (instruction_->row == nullptr || (wave.mode.skip_vector() && (op->flags & kSkippable))) return;
  WaitCounters& counters = waves_[wave.index].now;
  if (isa::is_wait(instruction_->row->kind)) counters.wait(*instruction_->row, op->scalar.simm16);
  counters.issue(instruction_->counters);
}

void RaceChecker::pass_barrier(const Wave& wave) {
  WaveState& state = waves_[wave.index];
  if (wave.status == Status::Ended) state.now.finish();
  for (u32 queue = 0; queue < kQueues; ++queue) {
    const Counters counters = queue * isa::kLoadCount;
    state.done[queue] = static_cast<u32>(state.now.done(counters));
    state.issued[queue] = static_cast<u32>(state.now.issued(counters));
  }
}

bool RaceChecker::is_done(const Access& access) const {
  return access.number <= waves_[access.wave].done[access.queue()];
}

/// Who races with an access races with the next one of the same wave, or of others, that is of the same kind.
void RaceChecker::add(Accesses& all, const Access& access) {
  const bool is_of_other = all.last.wave != access.wave;
  Access& lost = is_of_other ? all.other : all.last;
  const bool stays_known =
      lost.kind == access.kind && (!is_of_other || lost.wave == access.wave || lost.kind == all.last.kind);
  if (!stays_known && lost.pc != 0) [[unlikely]]
    keep(all, lost);
  if (is_of_other) all.other = all.last;
  all.last = access;
}

/// A write that changes some of a dword's bytes has changed those, too, that its wave changed before, and that it
/// leaves as they are.
void RaceChecker::add_change(Accesses& all, Access access) {
  for (const Access* const past : {&all.last, &all.other}) {
    if (past->wave == access.wave && (past->changed & ~access.changed) != 0 && !is_done(*past))
      access.changed |= past->changed;
  }
  add(all, access);
}

void RaceChecker::keep(Accesses& all, const Access& lost) {
  if (is_done(lost)) return;
  if (all.further == 0) {
    further_.emplace_back();
    all.further = static_cast<u32>(further_.size());
  }
  std::vector<Access>& kept = further_[all.further - 1];
  std::erase_if(kept, [&](const Access& past) {
    const bool is_like = past.wave == lost.wave && past.kind == lost.kind;
    return is_done(past) || (is_like && (past.changed & ~lost.changed) == 0);
  });
  kept.push_back(lost);
}

/// What a byte has in common with the others of its dword it keeps by itself from now on.
void RaceChecker::separate(Accesses& all) {
  if (all.further == 0) return;
  further_.push_back(further_[all.further - 1]);
  all.further = static_cast<u32>(further_.size());
}

/// What is known of one of a dword's bytes: not all writes have changed it.
RaceChecker::Cell RaceChecker::byte_of(const Cell& dword, u32 byte) {
  const auto has_changed = [&](const Access& access) { return (access.changed >> byte & 1) != 0; };
  Cell cell = dword;
  if (!has_changed(cell.changes.other)) cell.changes.other = {};
  if (!has_changed(cell.changes.last)) cell.changes.last = std::exchange(cell.changes.other, {});
  for (Accesses* all : {&cell.reads, &cell.writes, &cell.changes}) separate(*all);
  if (cell.changes.further != 0)
    std::erase_if(further_[cell.changes.further - 1], [&](const Access& access) { return !has_changed(access); });
  return cell;
}

/// What the accesses of an instruction have in common.
void RaceChecker::begin_access() {
  if (begun_ == wave_->op) return;
  begun_ = wave_->op;
  const u64 base = wave_->group->launch().module.load_address(0);
  const Direction direction = instruction_->row->memory.direction;  // None: a counter that the lanes share
  const bool is_atomic = direction == Direction::Atomic || direction == Direction::None;
  current_ = {.pc = static_cast<u32>(wave_->address(wave_->op) - base),
              .number = static_cast<u32>(waves_[wave_->index].now.issued(instruction_->counters)),
              .kind = static_cast<u8>(instruction_->counters / isa::kLoadCount | (is_atomic ? kAtomic : 0)),
              .wave = static_cast<u8>(wave_->index)};
}

RaceChecker::Dword& RaceChecker::dword_at(u64 number) {
  Dword& dword = dwords_[number];
  if (dword.workgroup != workgroup_) dword = {.workgroup = workgroup_, .cell = {}};
  return dword;
}

void RaceChecker::split(Dword& dword) {
  std::array<Cell, 3>& others = bytes_.emplace_back();
  dword.bytes = static_cast<u32>(bytes_.size());
  for (u32 i = 0; i < others.size(); ++i) others[i] = byte_of(dword.cell, i + 1);
  dword.cell = byte_of(dword.cell, 0);
}

template <class Look>
void RaceChecker::for_each_cell(AddressSpan span, const Look& look) {
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

Sighting RaceChecker::sighting(const Access& access, const Access& past, const char* kind) const {
  const u64 base = wave_->group->launch().module.load_address(0);
  return {.tool = kRacesTool,
          .kind = kind,
          .pc = base + access.pc,
          .lane = access.lane,
          .earlier_pc = base + past.pc,
          .earlier = {wave_->group->id(), past.wave, past.lane}};
}

void RaceChecker::check(const Accesses& earlier, const Access& access, u64 address, const char* done,
                        const char* done_before) {
  const auto check_with = [&](const Access& past) {
    if (past.pc == 0 || past.wave == access.wave || (past.is_atomic() && access.is_atomic()) || is_done(past)) return;
    const bool has_barrier = past.number <= waves_[past.wave].issued[past.queue()];
    findings_.add(*wave_, sighting(access, past, "lds-race"), [&] {
      const isa::Generation generation = instruction_->row->generation;
      const Counters counters = past.queue() * isa::kLoadCount;
      const std::string wait = has_barrier ? wait_text(generation, counters, 0) + " is missing before the " : "";
      const std::string missing =
          text(wait, barrier_text(generation), has_barrier ? "" : " is missing", " between them");
      return text("byte ", address, " is ", done, " by wave ", u32{access.wave}, " after wave ", u32{past.wave}, " ",
                  done_before, " it: ", missing);
    });
  };
  check_with(earlier.last);
  check_with(earlier.other);
  if (earlier.further == 0) return;
  for (const Access& past : further_[earlier.further - 1]) check_with(past);
}

/// What a wave loads straight into LDS is there when the load has been waited for.
void RaceChecker::check_own(const Cell& cell, const Access& access, u64 address) {
  const Access& write = cell.writes.last;
  if (write.wave != access.wave || access.queue() == kLoads) return;
  if (write.number <= waves_[access.wave].now.done(isa::kLoadCount)) return;
  findings_.add(*wave_, sighting(access, write, "lds-load"), [&] {
    return text("byte ", address, " is accessed by wave ", u32{access.wave}, ", whose own load into LDS has not been",
                " waited for: ", wait_text(instruction_->row->generation, isa::kLoadCount, 0), " is missing");
  });
}

void RaceChecker::load_lds(AddressSpan span, int lane) {
  begin_access();
  Access access = current_;
  access.lane = static_cast<i8>(lane);
  for_each_cell(span, [&](Cell& cell, u64 address, u64 size) {
    if (cell.writes.last.queue() == kLoads) check_own(cell, access, address);
    if ((cell.writers >> access.wave & 1) == 0 && cell.changes.last.pc != 0) {
      const int changed = size == 1 ? 0 : std::countr_zero(u32{cell.changes.last.changed} | 8u);
      check(cell.changes, access, address + static_cast<u64>(changed), "read", "wrote");
    }
    add(cell.reads, access);
  });
}

void RaceChecker::store_lds(AddressSpan span, const void* data, int lane) {
  begin_access();
  Access access = current_;
  access.lane = static_cast<i8>(lane);
  const u8* lds = wave_->group->lds();
  for_each_cell(span, [&](Cell& cell, u64 address, u64 size) {
    u32 changed = 0;
    for (u64 i = 0; i < size; ++i) {
      const bool changes =
          data == nullptr || static_cast<const u8*>(data)[address + i - span.begin()] != lds[address + i];
      changed |= u32{changes} << i;
    }
    access.changed = static_cast<u8>(changed & 15);
    if (cell.writes.last.queue() == kLoads) check_own(cell, access, address);
    if (changed != 0) {
      const u64 first = address + static_cast<u64>(std::countr_zero(changed));
      check(cell.reads, access, first, "written", "read");
      check(cell.writes, access, first, "written", "wrote");
      add_change(cell.changes, access);
      cell.writers = 0;
    }
    cell.writers |= 1u << access.wave;
    add(cell.writes, access);
  });
}

/// Whether check() would find nothing.
bool RaceChecker::is_ordered(const Accesses& earlier, const Access& access) const {
  const auto is_before = [&](const Access& past) {
    return past.pc == 0 || past.wave == access.wave || (past.is_atomic() && access.is_atomic()) || is_done(past);
  };
  return earlier.further == 0 && is_before(earlier.last) && is_before(earlier.other);
}

/// A load of a dword, where it is ordered and simple; else nothing, and false.
bool RaceChecker::note_load(u64 address, const Access& access) {
  Dword& dword = dword_at(address / sizeof(u32));
  Cell& cell = dword.cell;
  if (dword.bytes != 0 || cell.writes.last.queue() == kLoads) return false;
  if ((cell.writers >> access.wave & 1) == 0 && !is_ordered(cell.changes, access)) return false;
  add(cell.reads, access);
  return true;
}

/// The same of a store.
bool RaceChecker::note_store(u64 address, u32 value, Access& access) {
  Dword& dword = dword_at(address / sizeof(u32));
  Cell& cell = dword.cell;
  if (dword.bytes != 0 || cell.writes.last.queue() == kLoads || access.queue() == kLoads) return false;
  u32 had;
  std::memcpy(&had, wave_->group->lds() + address, sizeof(had));
  if (const u32 bits = had ^ value; bits != 0) {
    if (!is_ordered(cell.reads, access) || !is_ordered(cell.writes, access)) return false;
    u32 changed = 0;
    for (u32 i = 0; i < sizeof(u32); ++i) changed |= u32{(bits >> 8 * i & 0xff) != 0} << i;
    access.changed = static_cast<u8>(changed & 15);
    add_change(cell.changes, access);
    cell.writers = 0;
  } else {
    access.changed = 0;
  }
  cell.writers |= 1u << access.wave;
  add(cell.writes, access);
  return true;
}

/// Of lanes that read the same the last one is noted, which is what is kept of them.
void RaceChecker::load_lds_lanes(const LaneAccesses& all) {
  if (all.size % sizeof(u32) != 0) return Observer::load_lds_lanes(all);
  begin_access();
  Access access = current_;
  for (u64 left = all.lanes; left != 0;) {
    const u64 same = all.same_as_first(left);
    const u64 begin = all.span(std::countr_zero(left)).begin();
    access.lane = static_cast<i8>(63 - std::countl_zero(same));
    left &= ~same;
    for (u64 address = begin; address < begin + all.size; address += sizeof(u32)) {
      if (begin % sizeof(u32) == 0 && note_load(address, access)) continue;
      for (u64 lanes = same; lanes != 0; lanes &= lanes - 1) load_lds({address, sizeof(u32)}, std::countr_zero(lanes));
    }
  }
}

void RaceChecker::store_lds_lanes(const LaneAccesses& all) {
  if (all.size % sizeof(u32) != 0) return Observer::store_lds_lanes(all);
  begin_access();
  Access access = current_;
  all.each([&](int lane) {
    access.lane = static_cast<i8>(lane);
    const AddressSpan span = all.span(lane);
    for (u64 i = 0; i < all.size; i += sizeof(u32)) {
      const u8* const data = all.data_of(lane) + i;
      u32 value;
      std::memcpy(&value, data, sizeof(value));
      if (span.begin() % sizeof(u32) == 0 && note_store(span.begin() + i, value, access)) continue;
      store_lds({span.begin() + i, sizeof(u32)}, data, lane);
    }
  });
}

}  // namespace wave::emulator
