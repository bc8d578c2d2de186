#include "emulator/wait_counters.h"

#include <algorithm>
#include <bit>

#include "base/error.h"
#include "emulator/isa/operand.h"

namespace wave::emulator {

namespace {

using isa::Generation;
using isa::Kind;
using isa::kLdsCount;
using isa::kLoadCount;
using isa::kScalarCount;
using isa::kStoreCount;

static_assert(kStoreCount == kLoadCount << 1 && kLdsCount == kLoadCount << 2 && kScalarCount == kLoadCount << 3);
constexpr Counters kCounted = kLoadCount | kStoreCount | kLdsCount | kScalarCount;
constexpr u32 kSingleWidth = 6;  // of what has an instruction of its own, in bits; of scalar memory one less

/// What S_WAITCNT lets be outstanding, of vector memory and of LDS and scalar memory.
struct PackedCounts {
  u32 loads, others;
};
PackedCounts unpack(Generation generation, u32 immediate) {
  const isa::PackedWaits& waits = isa::features(generation).waits;
  const auto bits = [&](u32 low, u32 width) { return immediate >> low & ((1u << width) - 1); };
  const u32 high_loads = waits.high_loads != 0 ? bits(waits.high_loads, 2) << waits.loads_width : 0;
  return {bits(waits.loads, waits.loads_width) | high_loads, bits(waits.others, waits.others_width)};
}

/// A wait for a counter's largest value waits for nothing: the largest that may be outstanding behind one is less.
u64 waited_for(u64 outstanding, u32 width) { return std::min<u64>(outstanding, (u64{1} << width) - 2); }

std::string single_wait_text(Counters counters, u64 outstanding) {
  std::string name = "s_wait";
  if (counters & kLoadCount) name += "_loadcnt";
  if (counters & kStoreCount) name += "_storecnt";
  if (counters & kLdsCount) name += "_dscnt";
  if (counters & kScalarCount) name += "_kmcnt";
  return text(name, " ", waited_for(outstanding, counters & kScalarCount ? kSingleWidth - 1 : kSingleWidth));
}

}  // namespace

Counters counters_of(const isa::Instruction& instruction) {
  if (isa::is_wait(instruction.row->kind)) return 0;
  const Counters counters = instruction.row->traits & kCounted;
  constexpr Counters kEither = kLoadCount | kStoreCount;
  if ((counters & kEither) != kEither) return counters;
  return counters & ~(isa::returns_value(instruction) ? kStoreCount : kLoadCount);
}

bool ends_in_order(Generation generation, Counters counters) {
  return counters != kScalarCount && (std::has_single_bit(counters) || isa::features(generation).flat_ends_in_order);
}

std::string wait_text(Generation generation, Counters counters, u64 outstanding) {
  if (isa::features(generation).has_single_waits) return single_wait_text(counters, outstanding);
  const isa::PackedWaits& waits = isa::features(generation).waits;
  const u32 loads_width = waits.loads_width + (waits.high_loads != 0 ? 2u : 0u);
  const auto count = [&](u32 width) { return waited_for(outstanding, width); };
  const std::string stores = counters & kStoreCount ? text("s_waitcnt_vscnt null, ", count(kSingleWidth)) : "";
  const Counters others = counters & ~kStoreCount;
  if (others == 0) return stores;
  std::string wait = stores.empty() ? "s_waitcnt" : stores + " and s_waitcnt";
  if (others & kLoadCount) wait += text(" vmcnt(", count(loads_width), ")");
  if (others & (kLdsCount | kScalarCount)) wait += text(" lgkmcnt(", count(waits.others_width), ")");
  return wait;
}

/// How many of a queue are among the last ones that some queues, it among them, were given.
u32 WaitCounters::count_recent(u32 number, u32 queues, u32 outstanding) const {
  u32 count = 0;
  const u32 most = std::min(issued_, kRecent);
  for (u32 back = 1, seen = 0; back <= most && seen < outstanding; ++back) {
    const u32 one = recent_[(issued_ - back) % kRecent];
    seen += queues >> one & 1;
    count += one == number;
  }
  return count;
}

/// Of a queue that ends in order all but the last ones are done then; of others nothing is known before the counter is
/// zero. Where all end in order that a counter counts, they do so together.
void WaitCounters::leave(Generation generation, Counters counter, u32 outstanding) {
  constexpr u32 kOf[kCounters] = {0xaaaa, 0xcccc, 0xf0f0, 0xff00};  // the queues whose numbers have a counter's bit
  const int index = std::countr_zero(counter / kLoadCount);
  const u32 all = pending_ & kOf[index];
  const bool are_mixed = outstanding != 0 && isa::features(generation).flat_ends_in_order && !std::has_single_bit(all);
  for (u32 queues = all; queues != 0; queues &= queues - 1) {
    const u32 number = static_cast<u32>(std::countr_zero(queues));
    Queue& one = queues_[number];
    const u32 most = are_mixed ? count_recent(number, kOf[index], outstanding) : outstanding;
    if (one.issued - one.done[index] <= most) continue;
    if (outstanding != 0 && !ends_in_order(generation, kLoadCount * number)) continue;
    one.done[index] = one.issued - most;
    one.all_done = one.issued;
    for (u32 i = 0; i < kCounters; ++i) {
      if (number >> i & 1) one.all_done = std::min(one.all_done, one.done[i]);
    }
    if (one.all_done == one.issued) pending_ &= ~(1u << number);
  }
}

void WaitCounters::wait(const isa::Row& row, u32 immediate) {
  constexpr u32 kCount = 63;
  switch (row.kind) {
    case Kind::Wait:
      for (u32 i = 0; i < kCounters; ++i) {
        if (row.traits & kLoadCount << i) leave(row.generation, kLoadCount << i, immediate & kCount);
      }
      return;
    case Kind::WaitPair:
      leave(row.generation, row.traits & (kLoadCount | kStoreCount), immediate >> 8 & kCount);
      return leave(row.generation, kLdsCount, immediate & kCount);
    case Kind::WaitPacked: {
      const PackedCounts counts = unpack(row.generation, immediate);
      leave(row.generation, kLoadCount, counts.loads);
      leave(row.generation, kLdsCount, counts.others);
      return leave(row.generation, kScalarCount, counts.others);
    }
    default:
      return;
  }
}

void WaitCounters::finish() {
  for (u32 i = 0; i < kCounters; ++i) leave(Generation::GFX9, kLoadCount << i, 0);
}

}  // namespace wave::emulator
