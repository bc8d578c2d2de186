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
constexpr Counters kAll = kLoadCount | kStoreCount | kLdsCount | kScalarCount;

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

std::string single_wait_text(Counters counters, u64 outstanding) {
  std::string name = "s_wait";
  if (counters & kLoadCount) name += "_loadcnt";
  if (counters & kStoreCount) name += "_storecnt";
  if (counters & kLdsCount) name += "_dscnt";
  if (counters & kScalarCount) name += "_kmcnt";
  return text(name, " ", outstanding);
}

}  // namespace

Counters counters_of(const isa::Instruction& instruction) {
  if (isa::is_wait(instruction.row->kind)) return 0;
  const Counters counters = instruction.row->traits & kAll;
  constexpr Counters kEither = kLoadCount | kStoreCount;
  if ((counters & kEither) != kEither) return counters;
  return counters & ~(isa::returns_value(instruction) ? kStoreCount : kLoadCount);
}

bool ends_in_order(Counters counters) { return std::has_single_bit(counters) && counters != kScalarCount; }

std::string wait_text(Generation generation, Counters counters, u64 outstanding) {
  if (isa::features(generation).has_single_waits) return single_wait_text(counters, outstanding);
  const std::string stores = counters & kStoreCount ? text("s_waitcnt_vscnt null, ", outstanding) : "";
  const Counters others = counters & ~kStoreCount;
  if (others == 0) return stores;
  std::string wait = stores.empty() ? "s_waitcnt" : stores + " and s_waitcnt";
  if (others & kLoadCount) wait += text(" vmcnt(", outstanding, ")");
  if (others & (kLdsCount | kScalarCount)) wait += text(" lgkmcnt(", outstanding, ")");
  return wait;
}

/// Of a queue that ends in order all but the last ones are done then; of others nothing is known before the counter is
/// zero.
void WaitCounters::leave(Counters counter, u32 outstanding) {
  constexpr u32 kOf[kCounters] = {0xaaaa, 0xcccc, 0xf0f0, 0xff00};  // the queues whose numbers have a counter's bit
  const int index = std::countr_zero(counter / kLoadCount);
  for (u32 queues = pending_ & kOf[index]; queues != 0; queues &= queues - 1) {
    const u32 number = static_cast<u32>(std::countr_zero(queues));
    const Counters counters = kLoadCount * number;
    Queue& one = queues_[number];
    if (one.issued - one.done[index] <= outstanding || (!ends_in_order(counters) && outstanding != 0)) continue;
    one.done[index] = one.issued - outstanding;
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
        if (row.traits & kLoadCount << i) leave(kLoadCount << i, immediate & kCount);
      }
      return;
    case Kind::WaitPair:
      leave(row.traits & (kLoadCount | kStoreCount), immediate >> 8 & kCount);
      return leave(kLdsCount, immediate & kCount);
    case Kind::WaitPacked: {
      const PackedCounts counts = unpack(row.generation, immediate);
      leave(kLoadCount, counts.loads);
      leave(kLdsCount, counts.others);
      return leave(kScalarCount, counts.others);
    }
    default:
      return;
  }
}

void WaitCounters::finish() {
  for (u32 i = 0; i < kCounters; ++i) leave(kLoadCount << i, 0);
}

}  // namespace wave::emulator
