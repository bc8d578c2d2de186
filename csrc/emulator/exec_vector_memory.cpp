// Global, flat and scratch memory (ISA document, "Flat Memory Instructions").
#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>

#include "base/error.h"
#include "emulator/atomics.h"
#include "emulator/bodies.h"
#include "emulator/observer.h"
#include "emulator/workgroup.h"

#define WAVE_SOURCE "emulator/exec_vector_memory.cpp"
#include "emulator/each_simd_level.h"
#include "emulator/vector_memory.inl"

namespace wave::emulator::WAVE_SIMD {

namespace {

struct FlatRegisters {
  static u16 destination(const Op* op) { return op->flat.dst; }
  static u16 data(const Op* op) { return op->flat.data; }
};

/// GLOBAL: a 64-bit vector address, or a scalar address and a 32-bit vector offset.
struct GlobalSpace : GlobalMemory, FlatRegisters {
  static AddressParts parts(const Wave& wave, const Op* op) {
    const FlatOperands& operands = op->flat;
    const u64 offset = static_cast<u64>(i64{operands.offset});
    const LaneRow* const row = &wave.v[operands.address];
    if (operands.base == kNoOperand) return {offset, row, row + 1};
    return {wave.pair(operands.base) + offset, row, nullptr};
  }
  static bool find(const Wave& wave, const Op* op, Addresses<u64>& addresses) {
    const AddressParts parts = GlobalSpace::parts(wave, op);
    const LaneRow *const low = parts.low, *const high = parts.high;
    if (high != nullptr) {
      for (int i = 0; i < kLanes; ++i) addresses.lane[i] = parts.base + (u64{high->lane[i]} << 32 | low->lane[i]);
    } else {
      for (int i = 0; i < kLanes; ++i) addresses.lane[i] = parts.base + low->lane[i];
    }
    return addresses.find_range(wave);
  }
};

/// A dword for each lane, from a scalar address on.
struct GlobalByLane : GlobalMemory, FlatRegisters {
  static bool find(const Wave& wave, const Op* op, Addresses<u64>& addresses) {
    const FlatOperands& operands = op->flat;
    const u64 base = operands.base == kNoOperand ? 0 : wave.pair(operands.base);
    const u64 first = base + static_cast<u64>(i64{operands.offset});
    for (u32 i = 0; i < kLanes; ++i) addresses.lane[i] = first + sizeof(u32) * i;
    return addresses.find_range(wave);
  }
};

/// SCRATCH: each lane has bytes of its own, from address 0 on.
struct ScratchSpace : FlatRegisters {
  using Memory = ScratchSpace;
  using Address = u64;
  static bool find(const Wave& wave, const Op* op, Addresses<u64>& addresses) {
    const FlatOperands& operands = op->flat;
    const u64 base = static_cast<u64>(i64{operands.offset}) + (operands.base == kNoOperand ? 0 : wave.s[operands.base]);
    const LaneRow* row = operands.address == kNoOperand ? nullptr : &wave.v[operands.address];
    for (int i = 0; i < kLanes; ++i) addresses.lane[i] = static_cast<u32>(base + (row == nullptr ? 0 : row->lane[i]));
    return addresses.find_range(wave);
  }
  static bool covers(const Wave&, u64, u64, u32, bool) { return false; }  // not memory that lanes share
  static u8* host(const Wave&, u64) { return nullptr; }                   // not used
  static void read(Wave& wave, AddressSpan span, void* to, int lane) {
    std::memcpy(to, wave.group->scratch(wave, span, ScratchAccess::Load, lane), span.size());
  }
  static void write(Wave& wave, AddressSpan span, const void* from, int lane) {
    std::memcpy(wave.group->scratch(wave, span, ScratchAccess::Store, lane), from, span.size());
  }
  static AtomicTarget atomic(Wave& wave, const AtomicAccess& access) {
    check_atomic(access.span, access.lane);
    return {wave.group->scratch(wave, access.span, ScratchAccess::Atomic, access.lane)};
  }
};

/// FLAT: a 64-bit address that is in LDS or scratch where its upper half says so. Those apertures are in no region of
/// the launch's memory, so addresses that it covers need no look at them.
struct FlatSpace : GlobalSpace {
  static void read(Wave& wave, AddressSpan span, void* to, int lane) {
    if (in(kPrivateAperture, span)) return ScratchSpace::read(wave, within(kPrivateAperture, span), to, lane);
    if (in(kSharedAperture, span)) return LdsMemory::read(wave, within(kSharedAperture, span), to, lane);
    GlobalSpace::read(wave, span, to, lane);
  }
  static void write(Wave& wave, AddressSpan span, const void* from, int lane) {
    if (in(kPrivateAperture, span)) return ScratchSpace::write(wave, within(kPrivateAperture, span), from, lane);
    if (in(kSharedAperture, span)) return LdsMemory::write(wave, within(kSharedAperture, span), from, lane);
    GlobalSpace::write(wave, span, from, lane);
  }
  static AtomicTarget atomic(Wave& wave, AtomicAccess access) {
    const bool is_private = in(kPrivateAperture, access.span);
    if (!is_private && !in(kSharedAperture, access.span)) return GlobalSpace::atomic(wave, access);
    access.span = within(is_private ? kPrivateAperture : kSharedAperture, access.span);
    return is_private ? ScratchSpace::atomic(wave, access) : LdsMemory::atomic(wave, access);
  }

 private:
  static bool in(u64 aperture, AddressSpan span) { return AddressSpan(aperture, kApertureSize).contains(span.begin()); }
  static AddressSpan within(u64 aperture, AddressSpan span) { return {span.begin() - aperture, span.size()}; }
};

/// Of lanes whose addresses are in LDS, and then of the others: memory keeps denormals.
const Op* flat_add_f32(Wave& wave, const Op* op) {
  constexpr u32 kLdsHigh = kSharedAperture >> 32;
  Addresses<u64> addresses;
  if (!find_for_atomic<FlatSpace>(wave, op, addresses)) return next(op);
  LaneRow in_lds, elsewhere;
  for (int i = 0; i < kLanes; ++i) {
    in_lds.lane[i] = addresses.lane[i] >> 32 == kLdsHigh ? wave.exec_lanes.lane[i] : 0;
    elsewhere.lane[i] = wave.exec_lanes.lane[i] & ~in_lds.lane[i];
  }
  const LaneRow* const data = &wave.v[op->flat.data];
  LaneRow* const returned = op->flat.returns ? &wave.v[op->flat.dst] : nullptr;
  if (addresses.find_range(in_lds, 0)) {
    add_by_mode(wave.mode,
                [&]<auto kModify> { modify_rows<FlatSpace, kModify>(wave, addresses, data, nullptr, returned); });
  }
  if (addresses.find_range(elsewhere, 0)) {
    modify_rows<FlatSpace, atomics::add<f32>>(wave, addresses, data, nullptr, returned);
  }
  return next(op);
}
/// Where MODE keeps denormals there is no difference.
const Op* flat_atomic_add_f32(Wave& wave, const Op* op) {
  constexpr u32 kKept = 3;
  return wave.mode.denorm32() == kKept ? atomic<FlatSpace, atomics::add<f32>>(wave, op) : flat_add_f32(wave, op);
}

/// GFX12: of 32 dwords those that M0 has a bit for, each to the register, and from the place, of its number.
template <class Space>
const Op* load_block(Wave& wave, const Op* op) {
  Addresses<u64> addresses;
  if (!Space::find(wave, op, addresses)) return go_on(wave, op);
  for (u32 left = wave.s[sreg::kM0]; left != 0; left &= left - 1) {
    const int k = std::countr_zero(left);
    load_rows<Space, u32, 1, Part::Whole>(wave, addresses.moved(sizeof(u32) * static_cast<u32>(k)),
                                          &wave.v[Space::destination(op) + k]);
  }
  return go_on(wave, op);
}
template <class Space>
const Op* store_block(Wave& wave, const Op* op) {
  Addresses<u64> addresses;
  if (!Space::find(wave, op, addresses)) return go_on(wave, op);
  for (u32 left = wave.s[sreg::kM0]; left != 0; left &= left - 1) {
    const int k = std::countr_zero(left);
    store_rows<Space, u32, 1, Part::Whole>(wave, addresses.moved(sizeof(u32) * static_cast<u32>(k)),
                                           &wave.v[Space::data(op) + k]);
  }
  return go_on(wave, op);
}

/// Out of line: who loads has nothing to clean up then (lost_memory.h).
[[gnu::noinline]] void check_transposing(const Wave& wave) {
  if (static_cast<u32>(wave.exec()) != ~0u) fault("EXEC must be all ones where a matrix is transposed");
}

/// GFX12: eight lanes load eight halves each, and are given a column each of what they loaded: half k of a lane is what
/// lane k of the eight loaded at the lane's own place. That it is eight is what users of gfx1201 and of gfx1250 found;
/// the document calls it a matrix of 16x16 and leaves the order open.
const Op* global_load_tr_b128(Wave& wave, const Op* op) {
  constexpr int kSide = 8, kDwords = kSide / 2;
  check_transposing(wave);
  Addresses<u64> addresses;
  GlobalSpace::find(wave, op, addresses);
  LaneRow loaded[kDwords] = {};
  load_rows<GlobalSpace, u32, kDwords, Part::Whole>(wave, addresses, loaded);
  for (int lane = 0; lane < kLanes; ++lane) {
    if (wave.exec_lanes.lane[lane] == 0) continue;
    const int first = lane / kSide * kSide, column = lane % kSide;
    for (int k = 0; k < kDwords; ++k) {
      const auto half = [&](int row) { return loaded[column / 2].lane[first + row] >> 16 * (column % 2) & 0xffffu; };
      wave.v[op->flat.dst + k].lane[lane] = half(2 * k) | half(2 * k + 1) << 16;
    }
  }
  return go_on(wave, op);
}

/// GFX12: the same with eight bytes, but that the eight lanes are 0 to 3 and 8 to 11 of sixteen, whose columns go to
/// the first eight, and the others, whose columns go to the last eight. So two users of gfx1201 found it, by tables and
/// by products; the document leaves the order open.
const Op* global_load_tr_b64(Wave& wave, const Op* op) {
  constexpr int kSide = 8, kHalf = kSide / 2, kGroup = 2 * kSide;
  check_transposing(wave);
  Addresses<u64> addresses;
  GlobalSpace::find(wave, op, addresses);
  LaneRow loaded[2] = {};
  load_rows<GlobalSpace, u32, 2, Part::Whole>(wave, addresses, loaded);
  for (int lane = 0; lane < kLanes; ++lane) {
    if (wave.exec_lanes.lane[lane] == 0) continue;
    const int first = lane / kGroup * kGroup + lane % kGroup / kSide * kHalf, column = lane % kSide;
    u32 bytes[2] = {};
    for (int row = 0; row < kSide; ++row) {
      const u32 dword = loaded[column / kHalf].lane[first + row / kHalf * kSide + row % kHalf];
      bytes[row / kHalf] |= (dword >> 8 * (column % kHalf) & 0xffu) << 8 * (row % kHalf);
    }
    for (int k = 0; k < 2; ++k) wave.v[op->flat.dst + k].lane[lane] = bytes[k];
  }
  return go_on(wave, op);
}

constexpr Body kBodies[] = {
    WAVE_LOADS_AND_STORES("global", load, store, GlobalSpace),
    WAVE_HALF_LOADS("global", "", load, GlobalSpace, Part::Low, Part::High),
    WAVE_HALF_LOADS("global", "_alone", load, GlobalSpace, Part::LowAlone, Part::HighAlone),
    WAVE_LOADS_AND_STORES("flat", load, store, FlatSpace),
    WAVE_HALF_LOADS("flat", "", load, FlatSpace, Part::Low, Part::High),
    WAVE_HALF_LOADS("flat", "_alone", load, FlatSpace, Part::LowAlone, Part::HighAlone),
    WAVE_LOADS_AND_STORES("scratch", load, store, ScratchSpace),
    WAVE_HALF_LOADS("scratch", "", load, ScratchSpace, Part::Low, Part::High),
    WAVE_HALF_LOADS("scratch", "_alone", load, ScratchSpace, Part::LowAlone, Part::HighAlone),
    {"global_load_addtid_b32", load<GlobalByLane, u32>},
    {"global_store_addtid_b32", store<GlobalByLane, u32>},
    {"global_load_block", load_block<GlobalSpace>},
    {"global_store_block", store_block<GlobalSpace>},
    {"scratch_load_block", load_block<ScratchSpace>},
    {"scratch_store_block", store_block<ScratchSpace>},
    {"global_load_tr_b128", global_load_tr_b128, Variant::Lanes32},
    {"global_load_tr_b64", global_load_tr_b64, Variant::Lanes32},
    {"global_load_lds_ubyte", load_lds<GlobalSpace, u8>},
    {"global_load_lds_sbyte", load_lds<GlobalSpace, i8>},
    {"global_load_lds_ushort", load_lds<GlobalSpace, u16>},
    {"global_load_lds_sshort", load_lds<GlobalSpace, i16>},
    {"global_load_lds_dword", load_lds<GlobalSpace, u32>},
    {"global_load_lds_dwordx3", load_lds<GlobalSpace, u32, 3>},
    {"global_load_lds_dwordx4", load_lds<GlobalSpace, u32, 4>},
    {"scratch_load_lds_ubyte", load_lds<ScratchSpace, u8>},
    {"scratch_load_lds_sbyte", load_lds<ScratchSpace, i8>},
    {"scratch_load_lds_ushort", load_lds<ScratchSpace, u16>},
    {"scratch_load_lds_sshort", load_lds<ScratchSpace, i16>},
    {"scratch_load_lds_dword", load_lds<ScratchSpace, u32>},
    {"global_load_ubyte", load_lds<GlobalSpace, u8>, Variant::ToLds},
    {"global_load_sbyte", load_lds<GlobalSpace, i8>, Variant::ToLds},
    {"global_load_ushort", load_lds<GlobalSpace, u16>, Variant::ToLds},
    {"global_load_sshort", load_lds<GlobalSpace, i16>, Variant::ToLds},
    {"global_load_dword", load_lds<GlobalSpace, u32>, Variant::ToLds},
    {"scratch_load_ubyte", load_lds<ScratchSpace, u8>, Variant::ToLds},
    {"scratch_load_sbyte", load_lds<ScratchSpace, i8>, Variant::ToLds},
    {"scratch_load_ushort", load_lds<ScratchSpace, u16>, Variant::ToLds},
    {"scratch_load_sshort", load_lds<ScratchSpace, i16>, Variant::ToLds},
    {"scratch_load_dword", load_lds<ScratchSpace, u32>, Variant::ToLds},
    WAVE_INTEGER_ATOMICS("global", atomic, GlobalSpace),
    WAVE_INTEGER_ATOMICS("flat", atomic, FlatSpace),
    WAVE_FLOAT_ATOMICS("global", atomic, GlobalSpace),
    WAVE_FLOAT_ATOMICS("flat", atomic, FlatSpace),
    {"flat_atomic_add_f32", flat_atomic_add_f32},
    {"global_atomic_add_f32", atomic<GlobalSpace, atomics::add<f32>>},
    WAVE_MORE_FLOAT_ATOMICS("global", atomic, GlobalSpace),
    WAVE_MORE_FLOAT_ATOMICS("flat", atomic, FlatSpace),
    {"global_atomic_min_num_f32", atomic<GlobalSpace, atomics::min_num<f32>>},
    {"global_atomic_max_num_f32", atomic<GlobalSpace, atomics::max_num<f32>>},
    {"flat_atomic_min_num_f32", atomic<FlatSpace, atomics::min_num<f32>>},
    {"flat_atomic_max_num_f32", atomic<FlatSpace, atomics::max_num<f32>>},
    {"global_atomic_add_f32_without_denormals", atomic<GlobalSpace, atomics::add_without_denormals>},
};

}  // namespace

std::span<const Body> vector_memory_bodies() { return kBodies; }

}  // namespace wave::emulator::WAVE_SIMD
