// LDS: reads, writes and exchanges between lanes (ISA document, "LDS Instructions").
#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>

#include "emulator/atomics.h"
#include "emulator/bodies.h"
#include "emulator/observer.h"
#include "emulator/workgroup.h"

#define WAVE_SOURCE "emulator/exec_lds.cpp"
#include "emulator/each_simd_level.h"
#include "emulator/vector_memory.inl"

namespace wave::emulator::WAVE_SIMD {

namespace {

/// DS: a vector address and an offset, whose sum has 32 bits: compilers make negative addresses with offsets that bring
/// them back.
struct Lds : LdsMemory {
  static AddressParts parts(const Wave& wave, const Op* op) {
    return {op->lds.offset[0], &wave.v[op->lds.address], nullptr};
  }
  static bool find(const Wave& wave, const Op* op, Addresses<u32>& addresses) {
    return find_at(wave, op, op->lds.offset[0], addresses);
  }
  static bool find_at(const Wave& wave, const Op* op, u32 offset, Addresses<u32>& addresses) {
    const LaneRow& row = wave.v[op->lds.address];
    WAVE_LANES
    for (int i = 0; i < kLanes; ++i) addresses.lane[i] = row.lane[i] + offset;
    return addresses.find_range(wave);
  }
  static u16 destination(const Op* op) { return op->lds.dst; }
  static u16 data(const Op* op) { return op->lds.data[0]; }
};

/// LDS at an address that the instruction takes from M0, without a vector address.
u32 scalar_address(const Wave& wave, const Op* op) { return lds_address_in_m0(wave) + op->lds.offset[0]; }

/// The same, and a dword for each lane from there on (ADDTID).
struct LdsByLane : LdsMemory {
  static bool find(const Wave& wave, const Op* op, Addresses<u32>& addresses) {
    const u32 base = scalar_address(wave, op);
    for (u32 i = 0; i < kLanes; ++i) addresses.lane[i] = base + sizeof(u32) * i;
    return addresses.find_range(wave);
  }
  static u16 destination(const Op* op) { return op->lds.dst; }
  static u16 data(const Op* op) { return op->lds.data[0]; }
};

/// The addresses of a two-address form, whose offsets count kUnit bytes.
template <u32 kUnit>
bool find_two(const Wave& wave, const Op* op, Addresses<u32> (&addresses)[2]) {
  const u32 first = op->lds.offset[0] * kUnit, second = op->lds.offset[1] * kUnit;
  if (!Lds::find_at(wave, op, first, addresses[0])) return false;
  addresses[1] = addresses[0].moved(second - first);
  return true;
}

/// Whether a two-address form accesses what lies side by side: one access of twice the size, which is made as that
/// where nobody is told of accesses.
template <int kDwords, u32 kUnit>
bool is_one_access(const LdsOperands& operands) {
  return kUnit == sizeof(u32) * kDwords && operands.offset[1] == operands.offset[0] + 1;
}

/// ds_read2 where lanes are side by side, or at the same place. False where they are not.
template <u32 kStep, int kDwords, u32 kUnit>
bool read2_groups(const Wave& wave, const Op* op) {
  const u32 one = op->lds.offset[0] * kUnit, other = op->lds.offset[1] * kUnit;
  const u32 lower = std::min(one, other), upper = std::max(one, other);
  const AddressParts parts{lower, &wave.v[op->lds.address], nullptr};
  const Groups<Lds, kStep> from(wave, parts, upper - lower + sizeof(u32) * kDwords, false);
  for (int k = 0; k < 2; ++k) {
    LaneRow* const rows = &wave.v[op->lds.dst + k * kDwords];
    read_groups<u32, kDwords>(from, rows, op->lds.offset[k] * kUnit - lower);
  }
  return from.lanes() != 0;
}

/// The result may overwrite the address, so both are found first.
template <int kDwords, u32 kUnit>
const Op* ds_read2(Wave& wave, const Op* op) {
  constexpr u32 kSize = sizeof(u32) * kDwords;
  if constexpr (kDwords == 1) {
    if (read2_groups<sizeof(u32), kDwords, kUnit>(wave, op)) return go_on(wave, op);
  }
  if (read2_groups<0, kDwords, kUnit>(wave, op)) return go_on(wave, op);
  const u32 one = op->lds.offset[0] * kUnit, other = op->lds.offset[1] * kUnit;
  const u32 lower = std::min(one, other), upper = std::max(one, other);
  Addresses<u32> addresses;
  if (!Lds::find_at(wave, op, lower, addresses)) return go_on(wave, op);
  LaneRow* const rows = &wave.v[op->lds.dst];
  const bool are_covered = wave.group->direct_lds_bytes().contains({u64{addresses.high} + (upper - lower), kSize});
  if (are_covered && is_one_access<kDwords, kUnit>(op->lds)) {
    load_covered_rows<Lds, u32, 2 * kDwords, Part::Whole>(wave, addresses, rows);
    return go_on(wave, op);
  }
  for (int k = 0; k < 2; ++k) {
    const u32 behind = op->lds.offset[k] * kUnit - lower;
    if (are_covered) [[likely]] {
      load_covered_rows<Lds, u32, kDwords, Part::Whole>(wave, addresses, rows + k * kDwords, behind);
    } else {
      load_rows<Lds, u32, kDwords, Part::Whole>(wave, addresses.moved(behind), rows + k * kDwords);
    }
  }
  return go_on(wave, op);
}

/// Two equal offsets are one write, of the first data (ISA document, "LDS Instructions": one address is specified so).
template <int kDwords, u32 kUnit>
const Op* ds_write2(Wave& wave, const Op* op) {
  constexpr u32 kSize = sizeof(u32) * kDwords;
  const u32 offset[] = {op->lds.offset[0] * kUnit, op->lds.offset[1] * kUnit};
  const LaneRow* const rows[] = {&wave.v[op->lds.data[0]], &wave.v[op->lds.data[1]]};
  Addresses<u32> addresses;
  if (!Lds::find_at(wave, op, offset[0], addresses)) return go_on(wave, op);
  if (is_one_access<kDwords, kUnit>(op->lds) && rows[1] == rows[0] + kDwords &&
      Lds::covers(wave, 0, addresses.high, 2 * kSize, true)) {
    store_rows<Lds, u32, 2 * kDwords, Part::Whole>(wave, addresses, rows[0]);
    return go_on(wave, op);
  }
  store_rows<Lds, u32, kDwords, Part::Whole>(wave, addresses, rows[0]);
  if (offset[1] != offset[0]) {
    store_rows<Lds, u32, kDwords, Part::Whole>(wave, addresses.moved(offset[1] - offset[0]), rows[1]);
  }
  return go_on(wave, op);
}

/// Gives each enabled lane the data of lane source(lane), which is zero where that one is disabled.
template <class Source>
const Op* exchange(Wave& wave, const Op* op, const LaneRow& data, Source source) {
  LaneRow valid, result;
  for (int i = 0; i < kLanes; ++i) valid.lane[i] = data.lane[i] & wave.exec_lanes.lane[i];
  for (int i = 0; i < kLanes; ++i) result.lane[i] = valid.lane[source(i)];
  LaneRow& to = wave.v[op->lds.dst];
  for (int i = 0; i < kLanes; ++i) {
    to.lane[i] = (result.lane[i] & wave.exec_lanes.lane[i]) | (to.lane[i] & ~wave.exec_lanes.lane[i]);
  }
  return next(op);
}

/// Which lane of kSpan neighbours an address names, beside lane `i`.
template <u32 kSpan>
u32 named_lane(u32 address, int i) {
  return (static_cast<u32>(i) & ~(kSpan - 1)) | (address / 4 & (kSpan - 1));
}

/// Among kSpan neighbours.
template <u32 kSpan>
const Op* ds_bpermute_b32(Wave& wave, const Op* op) {
  const LaneRow& address = wave.v[op->lds.address];
  return exchange(wave, op, wave.v[op->lds.data[0]], [&, offset = u32{op->lds.offset[0]}](int i) {
    return named_lane<kSpan>(address.lane[i] + offset, i);
  });
}

/// GFX12: among all lanes, and those that are not enabled are read all the same.
template <u32 kSpan>
const Op* ds_bpermute_fi_b32(Wave& wave, const Op* op) {
  const LaneRow address = wave.v[op->lds.address], data = wave.v[op->lds.data[0]];
  LaneRow& to = wave.v[op->lds.dst];
  for (int i = 0; i < kLanes; ++i) {
    if (wave.exec_lanes.lane[i] != 0) to.lane[i] = data.lane[named_lane<kSpan>(address.lane[i] + op->lds.offset[0], i)];
  }
  return go_on(wave, op);
}

/// Where several lanes send to one, the highest of them wins.
template <u32 kSpan>
const Op* ds_permute_b32(Wave& wave, const Op* op) {
  LaneRow result{};
  for (int i = 0; i < kLanes; ++i) {
    if (wave.exec_lanes.lane[i] == 0) continue;
    const u32 address = wave.v[op->lds.address].lane[i] + op->lds.offset[0];
    result.lane[named_lane<kSpan>(address, i)] = wave.v[op->lds.data[0]].lane[i];
  }
  return exchange(wave, op, result, [](int i) { return i; });
}

u32 reversed5(u32 lane) { return (lane & 1) << 4 | (lane & 2) << 2 | (lane & 4) | (lane & 8) >> 2 | (lane & 16) >> 4; }

/// Patterns of DS_SWIZZLE_B32: within four lanes where bit 15 of the offset is set, else within 32; from 0xc000 on
/// rotations, from 0xe000 on the exchanges of a fast Fourier transform.
const Op* ds_swizzle_b32(Wave& wave, const Op* op) {
  const LaneRow& data = wave.v[op->lds.address];
  const u32 offset = op->lds.offset[0], low = offset & 31, middle = offset >> 5 & 31, high = offset >> 10 & 31;
  const auto within_32 = [&](auto source) {
    return exchange(wave, op, data, [&](int i) { return (source(i) & 31u) | (static_cast<u32>(i) & 32u); });
  };
  if (offset >= 0xe000) {
    const int shift = std::popcount(low);
    return within_32([=](u32 i) { return low == 31 ? i : reversed5(i & 31) >> shift | (i & low); });
  }
  if (offset >= 0xc000) {
    const u32 rotation = high & 1 ? 0u - middle : middle;
    return within_32([=](u32 i) { return (i & low) | ((i + rotation) & ~low); });
  }
  if (offset >= 0x8000)
    return exchange(wave, op, data, [=](u32 i) { return (i & ~3u) | (offset >> 2 * (i & 3u) & 3u); });
  return within_32([=](u32 i) { return ((i & low) | middle) ^ high; });
}

/// DS_APPEND and DS_CONSUME: all lanes get the old value of one dword, to which the number of lanes is added.
template <int kSign>
const Op* ds_count(Wave& wave, const Op* op) {
  if (wave.exec() == 0) return next(op);
  const int lane = std::countr_zero(wave.exec());
  u32 old;
  const AddressSpan counter(scalar_address(wave, op), sizeof(old));
  wave.group->read_lds(counter, &old, lane);
  const u32 sum = old + static_cast<u32>(kSign * std::popcount(wave.exec()));
  wave.group->write_lds(counter, &sum, lane);
  for (int i = 0; i < kLanes; ++i) {
    if (wave.exec_lanes.lane[i] != 0) wave.v[op->lds.dst].lane[i] = old;
  }
  return next(op);
}

/// An atomic of one address. A second operand is in registers of its own.
template <auto kModify>
const Op* ds_atomic(Wave& wave, const Op* op) {
  Addresses<u32> addresses;
  if (!Lds::find(wave, op, addresses)) return next(op);
  const LaneRow *first = &wave.v[op->lds.data[0]],
                *second = Atomic<kModify>::kHasTwo ? &wave.v[op->lds.data[1]] : nullptr;
  modify_rows<Lds, kModify>(wave, addresses, first, second, op->lds.returns ? &wave.v[op->lds.dst] : nullptr);
  return next(op);
}

const Op* ds_add_f32(Wave& wave, const Op* op) {
  add_by_mode(wave.mode, [&]<auto kModify> { ds_atomic<kModify>(wave, op); });
  return next(op);
}

/// Two exchanges: all of a lane's reads come before its writes.
template <class T, u32 kUnit>
const Op* ds_wrxchg2(Wave& wave, const Op* op) {
  Addresses<u32> addresses[2];
  if (!find_two<kUnit>(wave, op, addresses)) return go_on(wave, op);
  for (int i = 0; i < kLanes; ++i) {
    if (wave.exec_lanes.lane[i] == 0) continue;
    T value[2], old[2];
    for (int k = 0; k < 2; ++k) value[k] = get_value<T>(&wave.v[op->lds.data[k]], i);
    for (int k = 0; k < 2; ++k) Lds::read(wave, {addresses[k].lane[i], sizeof(T)}, &old[k], i);
    for (int k = 0; k < 2; ++k) Lds::write(wave, {addresses[k].lane[i], sizeof(T)}, &value[k], i);
    for (u32 k = 0; k < 2; ++k) set_value(&wave.v[op->lds.dst + k * (sizeof(T) / sizeof(u32))], old[k], i);
  }
  return go_on(wave, op);
}

/// Replaces either dword where bit 31 of the new one says so, and clears that bit. The address is rounded down to both;
/// the document's mask for that, 0xfff8, is of LDS of 64 KiB, of which gfx950 has more.
const Op* ds_condxchg32_rtn_b64(Wave& wave, const Op* op) {
  Addresses<u32> addresses;
  if (!Lds::find(wave, op, addresses)) return go_on(wave, op);
  for (int i = 0; i < kLanes; ++i) {
    if (wave.exec_lanes.lane[i] == 0) continue;
    const u64 address = addresses.lane[i] & ~7u;
    for (u32 k = 0; k < 2; ++k) {
      const u32 data = wave.v[op->lds.data[0] + k].lane[i], value = data & 0x7fffffffu;
      const AddressSpan dword(address + 4 * k, sizeof(u32));
      Lds::read(wave, dword, &wave.v[op->lds.dst + k].lane[i], i);
      if (data >> 31) Lds::write(wave, dword, &value, i);
    }
  }
  return go_on(wave, op);
}

/// Atomics of 32 and 64 bits; the forms that return the old value end in _rtn and the type.
// clang-format off
#define WAVE_DS_ATOMICS(rtn, bits)                                 \
  {"ds_add" rtn "_u" #bits, ds_atomic<atomics::add<u##bits>>},     \
  {"ds_sub" rtn "_u" #bits, ds_atomic<atomics::sub<u##bits>>},     \
  {"ds_rsub" rtn "_u" #bits, ds_atomic<atomics::rsub<u##bits>>},   \
  {"ds_inc" rtn "_u" #bits, ds_atomic<atomics::inc<u##bits>>},     \
  {"ds_dec" rtn "_u" #bits, ds_atomic<atomics::dec<u##bits>>},     \
  {"ds_min" rtn "_i" #bits, ds_atomic<atomics::min<i##bits>>},     \
  {"ds_max" rtn "_i" #bits, ds_atomic<atomics::max<i##bits>>},     \
  {"ds_min" rtn "_u" #bits, ds_atomic<atomics::min<u##bits>>},     \
  {"ds_max" rtn "_u" #bits, ds_atomic<atomics::max<u##bits>>},     \
  {"ds_and" rtn "_b" #bits, ds_atomic<atomics::and_<u##bits>>},    \
  {"ds_or" rtn "_b" #bits, ds_atomic<atomics::or_<u##bits>>},      \
  {"ds_xor" rtn "_b" #bits, ds_atomic<atomics::xor_<u##bits>>},    \
  {"ds_mskor" rtn "_b" #bits, ds_atomic<atomics::mskor<u##bits>>}, \
  {"ds_cmpst" rtn "_b" #bits, ds_atomic<atomics::cmpst<u##bits>>}, \
  {"ds_cmpst" rtn "_f" #bits, ds_atomic<atomics::cmpst<f##bits>>}, \
  {"ds_min" rtn "_f" #bits, ds_atomic<atomics::min<f##bits>>},     \
  {"ds_max" rtn "_f" #bits, ds_atomic<atomics::max<f##bits>>}
// clang-format on

constexpr Body kBodies[] = {
    {"ds_read_u8", load<Lds, u8>},
    {"ds_read_i8", load<Lds, i8>},
    {"ds_read_u16", load<Lds, u16>},
    {"ds_read_i16", load<Lds, i16>},
    {"ds_read_u8_d16", load<Lds, u8, 1, Part::Low>},
    {"ds_read_u8_d16_hi", load<Lds, u8, 1, Part::High>},
    {"ds_read_i8_d16", load<Lds, i8, 1, Part::Low>},
    {"ds_read_i8_d16_hi", load<Lds, i8, 1, Part::High>},
    {"ds_read_u16_d16", load<Lds, u16, 1, Part::Low>},
    {"ds_read_u16_d16_hi", load<Lds, u16, 1, Part::High>},
    {"ds_read_u8_d16_alone", load<Lds, u8, 1, Part::LowAlone>},
    {"ds_read_u8_d16_hi_alone", load<Lds, u8, 1, Part::HighAlone>},
    {"ds_read_i8_d16_alone", load<Lds, i8, 1, Part::LowAlone>},
    {"ds_read_i8_d16_hi_alone", load<Lds, i8, 1, Part::HighAlone>},
    {"ds_read_u16_d16_alone", load<Lds, u16, 1, Part::LowAlone>},
    {"ds_read_u16_d16_hi_alone", load<Lds, u16, 1, Part::HighAlone>},
    {"ds_read_b32", load<Lds, u32>},
    {"ds_read_b64", load<Lds, u32, 2>},
    {"ds_read_b96", load<Lds, u32, 3>},
    {"ds_read_b128", load<Lds, u32, 4>},
    {"ds_read_addtid_b32", load<LdsByLane, u32>},
    {"ds_read2_b32", ds_read2<1, 4>},
    {"ds_read2_b64", ds_read2<2, 8>},
    {"ds_read2st64_b32", ds_read2<1, 256>},
    {"ds_read2st64_b64", ds_read2<2, 512>},
    {"ds_write_b8", store<Lds, u8>},
    {"ds_write_b8_d16_hi", store<Lds, u8, 1, Part::High>},
    {"ds_write_b16", store<Lds, u16>},
    {"ds_write_b16_d16_hi", store<Lds, u16, 1, Part::High>},
    {"ds_write_b32", store<Lds, u32>},
    {"ds_write_b64", store<Lds, u32, 2>},
    {"ds_write_b96", store<Lds, u32, 3>},
    {"ds_write_b128", store<Lds, u32, 4>},
    {"ds_write_addtid_b32", store<LdsByLane, u32>},
    {"ds_write2_b32", ds_write2<1, 4>},
    {"ds_write2_b64", ds_write2<2, 8>},
    {"ds_write2st64_b32", ds_write2<1, 256>},
    {"ds_write2st64_b64", ds_write2<2, 512>},
    {"ds_bpermute_b32", ds_bpermute_b32<32>, Variant::Lanes32},
    {"ds_bpermute_b32", ds_bpermute_b32<64>, Variant::Lanes64},
    {"ds_permute_b32", ds_permute_b32<32>, Variant::Lanes32},
    {"ds_permute_b32", ds_permute_b32<64>, Variant::Lanes64},
    {"ds_bpermute_fi_b32", ds_bpermute_fi_b32<32>, Variant::Lanes32},
    {"ds_bpermute_fi_b32", ds_bpermute_fi_b32<64>, Variant::Lanes64},
    // Those of GFX11 stay within the half of a wave of 64 lanes (GCNSubtarget.h of LLVM, supportsWaveWideBPermute).
    {"ds_bpermute_b32_gfx11", ds_bpermute_b32<32>},
    {"ds_permute_b32_gfx11", ds_permute_b32<32>},
    {"ds_swizzle_b32", ds_swizzle_b32},
    WAVE_DS_ATOMICS("", 32),
    WAVE_DS_ATOMICS("", 64),
    WAVE_DS_ATOMICS("_rtn", 32),
    WAVE_DS_ATOMICS("_rtn", 64),
    {"ds_add_f32", ds_add_f32},
    {"ds_add_rtn_f32", ds_add_f32},
    {"ds_add_f64", ds_atomic<atomics::add<f64>>},
    {"ds_add_rtn_f64", ds_atomic<atomics::add<f64>>},
    {"ds_min_num_f32", ds_atomic<atomics::min_num<f32>>},
    {"ds_max_num_f32", ds_atomic<atomics::max_num<f32>>},
    {"ds_min_num_f64", ds_atomic<atomics::min_num<f64>>},
    {"ds_max_num_f64", ds_atomic<atomics::max_num<f64>>},
    {"ds_min_num_rtn_f32", ds_atomic<atomics::min_num<f32>>},
    {"ds_max_num_rtn_f32", ds_atomic<atomics::max_num<f32>>},
    {"ds_min_num_rtn_f64", ds_atomic<atomics::min_num<f64>>},
    {"ds_max_num_rtn_f64", ds_atomic<atomics::max_num<f64>>},
    {"ds_pk_add_f16", ds_atomic<atomics::pk_add_f16>},
    {"ds_pk_add_bf16", ds_atomic<atomics::pk_add_bf16>},
    {"ds_pk_add_rtn_f16", ds_atomic<atomics::pk_add_f16>},
    {"ds_pk_add_rtn_bf16", ds_atomic<atomics::pk_add_bf16>},
    {"ds_sub_clamp_u32", ds_atomic<atomics::sub_clamp>},
    {"ds_sub_clamp_rtn_u32", ds_atomic<atomics::sub_clamp>},
    {"ds_cond_sub_u32", ds_atomic<atomics::cond_sub>},
    {"ds_cond_sub_rtn_u32", ds_atomic<atomics::cond_sub>},
    {"ds_wrap_rtn_b32", ds_atomic<atomics::wrap>},
    {"ds_wrxchg_rtn_b32", ds_atomic<atomics::swap<u32>>},
    {"ds_wrxchg_rtn_b64", ds_atomic<atomics::swap<u64>>},
    {"ds_wrxchg2_rtn_b32", ds_wrxchg2<u32, 4>},
    {"ds_wrxchg2_rtn_b64", ds_wrxchg2<u64, 8>},
    {"ds_wrxchg2st64_rtn_b32", ds_wrxchg2<u32, 256>},
    {"ds_wrxchg2st64_rtn_b64", ds_wrxchg2<u64, 512>},
    {"ds_condxchg32_rtn_b64", ds_condxchg32_rtn_b64},
    {"ds_append", ds_count<1>},
    {"ds_consume", ds_count<-1>},
    {"ds_nop", nothing},
};

}  // namespace

std::span<const Body> lds_bodies() { return kBodies; }

}  // namespace wave::emulator::WAVE_SIMD
