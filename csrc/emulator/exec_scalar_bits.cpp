// Scalar ALU: shifts, bit fields, and counting and searching of bits (ISA document, "SOP1 Instructions" and "SOP2
// Instructions").
#include <algorithm>
#include <bit>
#include <type_traits>

#include "emulator/bodies.h"
#include "emulator/scalar.h"

namespace wave::emulator {

namespace {

template <class T>
T s_lshl(T a, u32 b, bool& scc) {
  const T result = a << (b & (sizeof(T) * 8 - 1));
  scc = result != 0;
  return result;
}
template <class T>
T s_shr(T a, u32 b, bool& scc) {  // arithmetic where T is signed
  const T result = a >> (b & (sizeof(T) * 8 - 1));
  scc = result != 0;
  return result;
}
/// Bits [4:0] ([5:0] of 64 bits) of the field say where it begins, bits [22:16] how wide it is. A field that reaches
/// beyond the top ends there.
template <class T>
T s_bfe(T a, u32 field, bool& scc) {  // sign-extends where T is signed
  constexpr u32 kBits = sizeof(T) * 8;
  const u32 low = field & (kBits - 1), width = std::min(field >> 16 & 0x7fu, kBits - low);
  const T result =
      width == 0 ? 0
                 : static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) << (kBits - low - width)) >> (kBits - width);
  scc = result != 0;
  return result;
}
template <class T>
T s_bfm(u32 width, u32 low) {
  constexpr u32 kMost = sizeof(T) * 8 - 1;
  return ((T{1} << (width & kMost)) - 1) << (low & kMost);
}
template <class T>
T s_brev(T a) {
  T result = 0;
  for (size_t i = 0; i < sizeof(T) * 8; ++i) result = result << 1 | (a >> i & 1);
  return result;
}
template <class T>
u32 s_bcnt0(T a, bool& scc) {
  const u32 count = static_cast<u32>(std::popcount(static_cast<T>(~a)));
  scc = count != 0;
  return count;
}
template <class T>
u32 s_bcnt1(T a, bool& scc) {
  const u32 count = static_cast<u32>(std::popcount(a));
  scc = count != 0;
  return count;
}
/// The lowest set bit, or -1.
template <class T>
u32 s_ff1(T a) {
  return a == 0 ? ~0u : static_cast<u32>(std::countr_zero(a));
}
template <class T>
u32 s_ff0(T a) {
  return s_ff1(static_cast<T>(~a));
}
/// How many bits are above the highest set bit, or -1.
template <class T>
u32 s_flbit(T a) {
  return a == 0 ? ~0u : static_cast<u32>(std::countl_zero(a));
}
/// How many bits from the top are like the sign, or -1 where all are.
template <class T>
u32 s_flbit_signed(T a) {
  return s_flbit(static_cast<std::make_unsigned_t<T>>(a < 0 ? ~a : a));
}
template <class T>
u32 s_sext(u32 a) {
  return static_cast<u32>(static_cast<i32>(static_cast<T>(a)));
}
u32 s_bitset0_b32(u32 bit, Destination d) { return d.value & ~(1u << (bit & 31)); }
u32 s_bitset1_b32(u32 bit, Destination d) { return d.value | 1u << (bit & 31); }
u64 s_bitset0_b64(u32 bit, Destination64 d) { return d.value & ~(u64{1} << (bit & 63)); }
u64 s_bitset1_b64(u32 bit, Destination64 d) { return d.value | u64{1} << (bit & 63); }
u64 s_bitreplicate_b64_b32(u32 a) {
  u64 result = 0;
  for (int i = 0; i < 32; ++i) result |= u64{a >> i & 1} * 3 << 2 * i;
  return result;
}
/// Bit i: whether any of bits 4i to 4i + 3 is set.
template <class T>
T s_quadmask(T a, bool& scc) {
  T result = 0;
  for (size_t i = 0; i < sizeof(T) * 2; ++i) result |= T{(a >> 4 * i & 15) != 0} << i;
  scc = result != 0;
  return result;
}
/// Each group of four bits set where any of them was.
template <class T>
T s_wqm(T a, bool& scc) {
  T result = 0;
  for (size_t i = 0; i < sizeof(T) * 2; ++i) result |= T{(a >> 4 * i & 15) != 0} * 15 << 4 * i;
  scc = result != 0;
  return result;
}
u32 s_pack_ll_b32_b16(u32 a, u32 b) { return (a & 0xffff) | b << 16; }
u32 s_pack_lh_b32_b16(u32 a, u32 b) { return (a & 0xffff) | (b & 0xffff0000); }
u32 s_pack_hh_b32_b16(u32 a, u32 b) { return a >> 16 | (b & 0xffff0000); }

constexpr Body kBodies[] = {
    {"s_lshl_b32", scalar<s_lshl<u32>>},
    {"s_lshl_b64", scalar<s_lshl<u64>>},
    {"s_lshr_b32", scalar<s_shr<u32>>},
    {"s_lshr_b64", scalar<s_shr<u64>>},
    {"s_ashr_i32", scalar<s_shr<i32>>},
    {"s_ashr_i64", scalar<s_shr<i64>>},
    {"s_bfe_u32", scalar<s_bfe<u32>>},
    {"s_bfe_u64", scalar<s_bfe<u64>>},
    {"s_bfe_i32", scalar<s_bfe<i32>>},
    {"s_bfe_i64", scalar<s_bfe<i64>>},
    {"s_bfm_b32", scalar<s_bfm<u32>>},
    {"s_bfm_b64", scalar<s_bfm<u64>>},
    {"s_brev_b32", scalar<s_brev<u32>>},
    {"s_brev_b64", scalar<s_brev<u64>>},
    {"s_bcnt0_i32_b32", scalar<s_bcnt0<u32>>},
    {"s_bcnt0_i32_b64", scalar<s_bcnt0<u64>>},
    {"s_bcnt1_i32_b32", scalar<s_bcnt1<u32>>},
    {"s_bcnt1_i32_b64", scalar<s_bcnt1<u64>>},
    {"s_ff0_i32_b32", scalar<s_ff0<u32>>},
    {"s_ff0_i32_b64", scalar<s_ff0<u64>>},
    {"s_ff1_i32_b32", scalar<s_ff1<u32>>},
    {"s_ff1_i32_b64", scalar<s_ff1<u64>>},
    {"s_flbit_i32_b32", scalar<s_flbit<u32>>},
    {"s_flbit_i32_b64", scalar<s_flbit<u64>>},
    {"s_flbit_i32", scalar<s_flbit_signed<i32>>},
    {"s_flbit_i32_i64", scalar<s_flbit_signed<i64>>},
    {"s_sext_i32_i8", scalar<s_sext<i8>>},
    {"s_sext_i32_i16", scalar<s_sext<i16>>},
    {"s_bitset0_b32", scalar<s_bitset0_b32>},
    {"s_bitset0_b64", scalar<s_bitset0_b64>},
    {"s_bitset1_b32", scalar<s_bitset1_b32>},
    {"s_bitset1_b64", scalar<s_bitset1_b64>},
    {"s_bitreplicate_b64_b32", scalar<s_bitreplicate_b64_b32>},
    {"s_quadmask_b32", scalar<s_quadmask<u32>>},
    {"s_quadmask_b64", scalar<s_quadmask<u64>>},
    {"s_wqm_b32", scalar<s_wqm<u32>>},
    {"s_wqm_b64", scalar<s_wqm<u64>>},
    {"s_pack_ll_b32_b16", scalar<s_pack_ll_b32_b16>},
    {"s_pack_lh_b32_b16", scalar<s_pack_lh_b32_b16>},
    {"s_pack_hh_b32_b16", scalar<s_pack_hh_b32_b16>},
};

}  // namespace

std::span<const Body> scalar_bit_bodies() { return kBodies; }

}  // namespace wave::emulator
