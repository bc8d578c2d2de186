#include "emulator/lds_log.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace wave::emulator {

namespace {

constexpr u64 kDword = sizeof(u32);

/// The dwords that some bytes lie in.
struct DwordRange {
  u64 first, end;
};
DwordRange dwords_of(u64 begin, u64 size) { return {begin / kDword, (begin + size + kDword - 1) / kDword}; }

/// How many dwords of changes a lane has.
u32 parts_of(u32 size) { return (size + 3) / 4; }

/// Bits that differ, of at most four bytes.
u32 difference(const u8* one, const u8* other, size_t size) {
  u32 first = 0, second = 0;
  std::memcpy(&first, one, size);
  std::memcpy(&second, other, size);
  return first ^ second;
}

/// A bit for each byte that has some.
u32 bytes_with_bits(u32 bits) {
  u32 bytes = 0;
  for (u32 i = 0; i < kDword; ++i) bytes |= u32{(bits >> 8 * i & 0xff) != 0} << i;
  return bytes;
}

/// How some lanes lie to each other that are next to each other.
enum class LaneOrder { Apart, Same, SideBySide };
LaneOrder order_of(const u32* begins, u32 count, u32 size) {
  u32 same = 0, run = 0;
  for (u32 i = 0; i < count; ++i) {
    same |= begins[i] ^ begins[0];
    run |= begins[i] ^ (begins[0] + i * size);
  }
  if (same == 0) return LaneOrder::Same;
  return run == 0 && size % kDword == 0 && begins[0] % kDword == 0 ? LaneOrder::SideBySide : LaneOrder::Apart;
}

/// Lanes that are looked at together: those of a tile's row.
constexpr u32 kLanesAtOnce = 16;

}  // namespace

void LdsLog::forget(u64 bytes) {
  const size_t dwords = (bytes + kDword - 1) / kDword;
  if (waves_.loads.size() != dwords) {
    for (std::vector<u32>* some : {&waves_.loads, &waves_.stores, &waves_.atomics}) some->assign(dwords, 0);
    touched_first_ = ~u64{0}, touched_end_ = 0;
  }
  clear();
}

void LdsLog::clear() {
  entries_.clear();
  begins_.clear();
  changes_.clear();
  releases_.clear();
  if (touched_first_ < touched_end_) {
    const u64 count = touched_end_ - touched_first_;
    for (std::vector<u32>* some : {&waves_.loads, &waves_.stores, &waves_.atomics})
      std::memset(some->data() + touched_first_, 0, count * sizeof(u32));
  }
  touched_first_ = ~u64{0}, touched_end_ = 0;
}

LdsLog::Entry& LdsLog::begin(const Wave& wave, const isa::Row& row, const LdsAccess& access, const LaneAccesses& all) {
  const size_t begins = begins_.size();
  begins_.resize(begins + static_cast<size_t>(std::popcount(all.lanes)));
  u32* to = begins_.data() + begins;
  if (all.lanes == ~u64{0}) {
    for (size_t i = 0; i < kLanes; ++i) to[i] = static_cast<u32>(all.begins[i]);
  } else {
    all.each([&](int lane) { *to++ = static_cast<u32>(all.begins[static_cast<size_t>(lane)]); });
  }
  return entries_.emplace_back(
      Entry{&wave, &row, access, false, false, all.size, all.lanes, begins, changes_.size(), 0});
}

/// Some dwords that one wave loads. Returns who has changed them.
u32 LdsLog::load_side_by_side(u64 first, size_t count, u32 self) {
  u32* const loads = waves_.loads.data() + first;
  const u32 *const stores = waves_.stores.data() + first, *const atomics = waves_.atomics.data() + first;
  u32 met = 0;
  for (size_t i = 0; i < count; ++i) {
    met |= stores[i] | atomics[i];
    loads[i] |= self;
  }
  return met;
}

/// The same of dwords that it stores. Returns who has accessed those that change.
u32 LdsLog::store_side_by_side(u64 first, size_t count, u32 self, const u8* lds, const u8* data, u32* changes) {
  u32 *const loads = waves_.loads.data() + first, *const stores = waves_.stores.data() + first;
  const u32* const atomics = waves_.atomics.data() + first;
  const u8* const before = lds + first * kDword;
  u32 met = 0;
  for (size_t i = 0; i < count; ++i) {
    u32 had, value;
    std::memcpy(&had, before + i * kDword, kDword);
    std::memcpy(&value, data + i * kDword, kDword);
    const u32 bits = had ^ value, mask = bits != 0 ? ~0u : 0;
    changes[i] = bits;
    met |= (loads[i] | stores[i] | atomics[i]) & mask;
    stores[i] |= self & mask;
    loads[i] |= self & ~mask;
  }
  return met;
}

u32 LdsLog::store_dword(u64 dword, u32 changed, u32 self) {
  if (changed == 0) {
    waves_.loads[dword] |= self;
    return 0;
  }
  const u32 met = waves_.loads[dword] | waves_.stores[dword] | waves_.atomics[dword];
  waves_.stores[dword] |= self;
  return met;
}

bool LdsLog::load(const Wave& wave, const isa::Row& row, const LdsAccess& access, const LaneAccesses& all) {
  const Entry& entry = begin(wave, row, access, all);
  const u32 self = 1u << access.wave;
  const u32* const begins = begins_.data() + entry.begins;
  const size_t count = begins_.size() - entry.begins;
  u32 met = 0;
  for (size_t i = 0; i < count; i += kLanesAtOnce) {
    const u32 some = static_cast<u32>(std::min<size_t>(kLanesAtOnce, count - i));
    const bool are_as_before = i != 0 && some == kLanesAtOnce &&
                               std::memcmp(begins + i, begins + i - kLanesAtOnce, kLanesAtOnce * kDword) == 0;
    if (are_as_before) continue;
    const LaneOrder order = order_of(begins + i, some, all.size);
    const u32 spans = order == LaneOrder::Apart ? some : 1;
    const u64 size = order == LaneOrder::SideBySide ? u64{some} * all.size : all.size;
    for (u32 k = 0; k < spans; ++k) {
      const DwordRange dwords = dwords_of(begins[i + k], size);
      met |= load_side_by_side(dwords.first, dwords.end - dwords.first, self);
      touch(dwords.first, dwords.end);
    }
  }
  return (met & ~self) == 0;
}

bool LdsLog::store(const Wave& wave, const isa::Row& row, const LdsAccess& access, const LaneAccesses& all,
                   const u8* lds) {
  Entry& entry = begin(wave, row, access, all);
  entry.is_store = true;
  entry.has_changes = all.data != nullptr;
  const u32 self = 1u << access.wave;
  const u32 met = all.data == nullptr ? modify(entry, self) : change(entry, all, lds, self);
  return (met & ~self) == 0;
}

void LdsLog::note_release(const LdsRelease& release) {
  releases_.push_back(release);
  entries_.back().release = releases_.size();
}

void LdsLog::note_release_in_memory(const Wave& wave, const isa::Row& row, const LdsAccess& access, u64 address,
                                    const LdsRelease& release) {
  entries_.push_back({.wave = &wave,
                      .row = &row,
                      .access = access,
                      .is_store = false,
                      .has_changes = false,
                      .size = 0,
                      .lanes = 0,
                      .begins = begins_.size(),
                      .changes = changes_.size(),
                      .release = 0,
                      .address = address});
  note_release(release);
}

/// Atomics. Returns who has accessed the dwords otherwise.
u32 LdsLog::modify(const Entry& entry, u32 self) {
  u32 met = 0;
  for (size_t i = entry.begins; i < begins_.size(); ++i) {
    const DwordRange dwords = dwords_of(begins_[i], entry.size);
    for (u64 dword = dwords.first; dword < dwords.end; ++dword) {
      u32& atomics = waves_.atomics[dword];
      met |= waves_.loads[dword] | waves_.stores[dword] | (entry.access.is_atomic() ? 0 : atomics);
      atomics |= self;
    }
    touch(dwords.first, dwords.end);
  }
  return met;
}

/// Stores with data. Returns who has accessed the dwords that they change.
u32 LdsLog::change(const Entry& entry, const LaneAccesses& all, const u8* lds, u32 self) {
  const u32* const begins = begins_.data() + entry.begins;
  const size_t count = begins_.size() - entry.begins;
  changes_.resize(entry.changes + count * parts_of(all.size));
  u32* changes = changes_.data() + entry.changes;
  u32 met = 0;
  u64 left = all.lanes;
  for (size_t i = 0; i < count; i += kLanesAtOnce) {
    const u32 some = static_cast<u32>(std::min<size_t>(kLanesAtOnce, count - i));
    const u32 first = static_cast<u32>(std::countr_zero(left));
    const bool are_next = static_cast<u32>(std::countr_one(left >> first)) >= some;  // the lanes
    if (are_next && order_of(begins + i, some, all.size) == LaneOrder::SideBySide) {
      const DwordRange dwords = dwords_of(begins[i], u64{some} * all.size);
      const size_t dword_count = dwords.end - dwords.first;
      met |= store_side_by_side(dwords.first, dword_count, self, lds, all.data_of(static_cast<int>(first)), changes);
      changes += dword_count;
      touch(dwords.first, dwords.end);
      left &= ~(((u64{1} << some) - 1) << first);
      continue;
    }
    for (u32 k = 0; k < some; ++k, left &= left - 1) {
      const u8* const data = all.data_of(std::countr_zero(left));
      for (u32 done = 0; done < all.size; done += kDword) {
        const u64 begin = u64{begins[i + k]} + done;
        const u32 size = std::min<u32>(all.size - done, kDword);
        const u32 bits = *changes++ = difference(lds + begin, data + done, size);
        const DwordRange dwords = dwords_of(begin, size);
        for (u64 dword = dwords.first; dword < dwords.end; ++dword) met |= store_dword(dword, bits, self);
        touch(dwords.first, dwords.end);
      }
    }
  }
  return met;
}

void LdsLog::tell(LdsHistory& history, size_t from) const {
  for (size_t i = from; i < entries_.size(); ++i) {
    const Entry& entry = entries_[i];
    const LdsRelease* const release = entry.release == 0 ? nullptr : &releases_[entry.release - 1];
    history.begin(*entry.wave, *entry.row, entry.access, release);
    if (entry.address != 0) history.meet_in_memory(entry.address);
    const u32 parts = parts_of(entry.size);
    const u32* begins = begins_.data() + entry.begins;
    const u32* changes = changes_.data() + entry.changes;
    for (u64 left = entry.lanes; left != 0; left &= left - 1, ++begins) {
      const int lane = std::countr_zero(left);
      const u32 step = entry.size % kDword == 0 ? static_cast<u32>(kDword) : entry.size;
      for (u32 done = 0; done < entry.size; done += step) {
        const AddressSpan span(*begins + done, step);
        if (!entry.is_store) {
          history.load(span, lane);
        } else if (!entry.has_changes) {
          history.store(span, ~0u, lane);
        } else {
          u32 bytes = 0;
          const u32 some = step == kDword ? 1 : parts;
          for (u32 part = 0; part < some; ++part) bytes |= bytes_with_bits(*changes++) << kDword * part;
          history.store(span, bytes, lane);
        }
      }
    }
  }
}

/// Marks again what an entry has accessed.
void LdsLog::mark(const Entry& entry) {
  const u32 self = 1u << entry.access.wave;
  const u32 parts = parts_of(entry.size);
  const size_t count = static_cast<size_t>(std::popcount(entry.lanes));
  for (size_t i = 0; i < count; ++i) {
    const u64 begin = begins_[entry.begins + i];
    for (u32 part = 0; part < parts; ++part) {
      const u32 size = std::min<u32>(entry.size - part * 4, kDword);
      const DwordRange dwords = dwords_of(begin + part * kDword, size);
      for (u64 dword = dwords.first; dword < dwords.end; ++dword) {
        if (entry.is_store && !entry.has_changes) {
          waves_.atomics[dword] |= self;
        } else if (entry.is_store && changes_[entry.changes + i * parts + part] != 0) {
          waves_.stores[dword] |= self;
        } else {
          waves_.loads[dword] |= self;
        }
      }
      touch(dwords.first, dwords.end);
    }
  }
}

void LdsLog::keep_pending(const std::vector<LdsWave>& waves) {
  const auto is_pending = [&](const Entry& one) {
    return one.address == 0 && !waves[one.access.wave].is_done(one.access);
  };
  if (std::ranges::none_of(entries_, is_pending)) return clear();
  const std::vector<Entry> entries = std::exchange(entries_, {});
  const std::vector<u32> begins = std::exchange(begins_, {}), changes = std::exchange(changes_, {});
  const std::vector<LdsRelease> releases = std::exchange(releases_, {});
  clear();
  const auto append = [](std::vector<u32>& to, const std::vector<u32>& from, size_t at, size_t count) {
    const auto begin = from.begin() + static_cast<std::ptrdiff_t>(at);
    to.insert(to.end(), begin, begin + static_cast<std::ptrdiff_t>(count));
    return to.size() - count;
  };
  for (const Entry& one : entries) {
    if (!is_pending(one)) continue;
    Entry& entry = entries_.emplace_back(one);
    const size_t count = static_cast<size_t>(std::popcount(one.lanes));
    entry.begins = append(begins_, begins, one.begins, count);
    entry.changes = append(changes_, changes, one.changes, one.has_changes ? count * parts_of(one.size) : 0);
    if (one.release != 0) note_release(releases[one.release - 1]);
    mark(entry);
  }
}

}  // namespace wave::emulator
