// Vector integer and bit instructions (ISA document, "VOP1 Instructions", "VOP2 Instructions", "VOP3A Instructions").
#include <limits>
#include <type_traits>
#include <utility>

#include "emulator/bodies.h"
#include "emulator/vector.h"

#define WAVE_SOURCE "emulator/exec_vector_integer.cpp"
#include "emulator/each_simd_level.h"
#include "emulator/vector.inl"

namespace wave::emulator::WAVE_SIMD {

namespace {

u32 v_mov_b32(u32 a) { return a; }
Dwords v_mov_b64(Dwords a) { return a; }
u32 v_not_b32(u32 a) { return ~a; }
u32 v_and_b32(u32 a, u32 b) { return a & b; }
u32 v_or_b32(u32 a, u32 b) { return a | b; }
u32 v_xor_b32(u32 a, u32 b) { return a ^ b; }
u32 v_or3_b32(u32 a, u32 b, u32 c) { return a | b | c; }
u32 v_and_or_b32(u32 a, u32 b, u32 c) { return (a & b) | c; }
u32 v_bfi_b32(u32 a, u32 b, u32 c) { return (a & b) | (~a & c); }
Float32Bits v_cndmask_b32(Float32Bits a, Float32Bits b, bool choose) { return choose ? b : a; }

u32 v_lshlrev_b32(u32 shift, u32 value) { return value << (shift & 31); }
u32 v_lshrrev_b32(u32 shift, u32 value) { return value >> (shift & 31); }
i32 v_ashrrev_i32(u32 shift, i32 value) { return value >> (shift & 31); }
// What 64-bit shifts move out of one dword into the other. A shift by 32 is none.
u32 carried_up(u32 low, u32 shift) { return low >> 1 >> (31 - shift); }
u32 carried_down(u32 high, u32 shift) { return high << 1 << (31 - shift); }
Dwords v_lshlrev_b64(u32 shift, Dwords value) {
  const u32 bits = shift & 31, low = value.low << bits, high = value.high << bits | carried_up(value.low, bits);
  return {shift & 32 ? 0 : low, shift & 32 ? low : high};
}
Dwords v_lshrrev_b64(u32 shift, Dwords value) {
  const u32 bits = shift & 31, low = value.low >> bits | carried_down(value.high, bits), high = value.high >> bits;
  return {shift & 32 ? high : low, shift & 32 ? 0 : high};
}
Dwords v_ashrrev_i64(u32 shift, Dwords value) {
  const u32 bits = shift & 31, low = value.low >> bits | carried_down(value.high, bits);
  const i32 top = static_cast<i32>(value.high), high = top >> bits, sign = top >> 31;
  return {shift & 32 ? static_cast<u32>(high) : low, static_cast<u32>(shift & 32 ? sign : high)};
}
u32 v_lshl_add_u32(u32 a, u32 shift, u32 c) { return (a << (shift & 31)) + c; }
u32 v_add_lshl_u32(u32 a, u32 b, u32 shift) { return (a + b) << (shift & 31); }
u32 v_xad_u32(u32 a, u32 b, u32 c) { return (a ^ b) + c; }
u32 v_lshl_or_b32(u32 a, u32 shift, u32 c) { return a << (shift & 31) | c; }
/// By up to 4 bits, by what is more not at all.
Dwords v_lshl_add_u64(Dwords a, u32 shift, Dwords c) {
  const u32 three = shift & 7, bits = three > 4 ? 0 : three, low = (a.low << bits) + c.low;
  return {low, (a.high << bits | carried_up(a.low, bits)) + c.high + (low < c.low)};
}
u32 v_bfe_u32(u32 a, u32 offset, u32 width) { return (a >> (offset & 31)) & ((1u << (width & 31)) - 1); }
i32 v_bfe_i32(i32 a, u32 offset, u32 width) {
  const u32 bits = width & 31;
  const u32 field = static_cast<u32>(a >> (offset & 31)) & ((1u << bits) - 1);
  const u32 sign = bits == 0 ? 0 : 1u << (bits - 1);
  return static_cast<i32>((field ^ sign) - sign);
}

u32 v_xnor_b32(u32 a, u32 b) { return ~(a ^ b); }
u32 v_bfm_b32(u32 width, u32 offset) { return ((1u << (width & 31)) - 1) << (offset & 31); }
u32 v_alignbit_b32(u32 a, u32 b, u32 shift) { return static_cast<u32>((u64{a} << 32 | b) >> (shift & 31)); }
u32 v_alignbyte_b32(u32 a, u32 b, u32 shift) { return static_cast<u32>((u64{a} << 32 | b) >> (8 * (shift & 3))); }
Dwords v_pk_mov_b32(Dwords a, Dwords b, OpSel select) {
  return {select.bits & 1 ? a.high : a.low, select.bits & 2 ? b.high : b.low};
}

// Counting bits.
u32 bit_count(u32 a) {
  a = a - (a >> 1 & 0x55555555u);
  a = (a & 0x33333333u) + (a >> 2 & 0x33333333u);
  return (((a + (a >> 4)) & 0x0f0f0f0fu) * 0x01010101u) >> 24;
}
u32 v_bfrev_b32(u32 a) {
  a = (a >> 1 & 0x55555555u) | (a & 0x55555555u) << 1;
  a = (a >> 2 & 0x33333333u) | (a & 0x33333333u) << 2;
  a = (a >> 4 & 0x0f0f0f0fu) | (a & 0x0f0f0f0fu) << 4;
  return __builtin_bswap32(a);
}
u32 v_bcnt_u32_b32(u32 a, u32 b) { return bit_count(a) + b; }
u32 v_ffbl_b32(u32 a) { return a == 0 ? ~0u : bit_count((a & (0u - a)) - 1); }
u32 v_ffbh_u32(u32 a) {
  u32 below = a | a >> 1;  // in the end the first bit that is set, and all below it
  below |= below >> 2;
  below |= below >> 4;
  below |= below >> 8;
  below |= below >> 16;
  return a == 0 ? ~0u : 32 - bit_count(below);
}
u32 v_ffbh_i32(u32 a) { return v_ffbh_u32(a ^ static_cast<u32>(static_cast<i32>(a) >> 31)); }
u32 v_mbcnt_lo_u32_b32(u32 mask, u32 b, Lane lane) {
  return bit_count(mask & (lane.index >= 32 ? ~0u : (1u << (lane.index & 31)) - 1)) + b;
}
u32 v_mbcnt_hi_u32_b32(u32 mask, u32 b, Lane lane) {
  return bit_count(mask & (lane.index < 32 ? 0 : (1u << (lane.index & 31)) - 1)) + b;
}

u32 byte_of(u32 a, int i) { return a >> 8 * i & 0xff; }
u32 v_lerp_u8(u32 a, u32 b, u32 c) {
  u32 result = 0;
  for (int i = 0; i < 4; ++i) result |= (byte_of(a, i) + byte_of(b, i) + (byte_of(c, i) & 1)) >> 1 << 8 * i;
  return result;
}

// CLAMP saturates.
template <class T>
T add(T a, T b) {
  return static_cast<T>(static_cast<u32>(a) + static_cast<u32>(b));
}
template <class T>
T sub(T a, T b) {
  return static_cast<T>(static_cast<u32>(a) - static_cast<u32>(b));
}
template <class T>
T subrev(T a, T b) {
  return sub(b, a);
}
template <class T>
T mul(T a, T b) {
  return static_cast<T>(static_cast<u32>(a) * static_cast<u32>(b));
}
template <class T>
T mad(T a, T b, T c) {
  return static_cast<T>(static_cast<u32>(a) * static_cast<u32>(b) + static_cast<u32>(c));
}
template <class T>
T add_clamp(T a, T b) {
  return saturated<T>(i64{a} + b);
}
template <class T>
T sub_clamp(T a, T b) {
  return saturated<T>(i64{a} - b);
}
template <class T>
T subrev_clamp(T a, T b) {
  return saturated<T>(i64{b} - a);
}
template <class T>
T mul_clamp(T a, T b) {
  return saturated<T>(i64{a} * b);
}
template <class T>
T mad_clamp(T a, T b, T c) {
  return saturated<T>(i64{a} * b + c);
}
template <class T>
T min(T a, T b) {
  return a < b ? a : b;
}
template <class T>
T max(T a, T b) {
  return a > b ? a : b;
}
template <class T>
T min3(T a, T b, T c) {
  return min(min(a, b), c);
}
template <class T>
T max3(T a, T b, T c) {
  return max(max(a, b), c);
}
template <class T>
T med3(T a, T b, T c) {
  return max(min(a, b), min(max(a, b), c));
}
template <class T>
T lshlrev16(u16 shift, T value) {
  return static_cast<T>(static_cast<u32>(value) << (shift & 15));
}
template <class T>
T shrrev16(u16 shift, T value) {  // arithmetic where T is signed
  return static_cast<T>(value >> (shift & 15));
}

// Both halves of a packed operand.
template <class T, T (*kBody)(T, T)>
Pair16<T> packed(Pair16<T> a, Pair16<T> b) {
  return {kBody(a.low, b.low), kBody(a.high, b.high)};
}
template <class T, T (*kBody)(T, T, T)>
Pair16<T> packed3(Pair16<T> a, Pair16<T> b, Pair16<T> c) {
  return {kBody(a.low, b.low, c.low), kBody(a.high, b.high, c.high)};
}
template <class T, T (*kBody)(u16, T)>
Pair16<T> packed_shift(Pair16<u16> shift, Pair16<T> value) {
  return {kBody(shift.low, value.low), kBody(shift.high, value.high)};
}

// Conversions between integers.
Pair16<u16> v_cvt_pk_u16_u32(u32 a, u32 b) { return {saturated<u16>(a), saturated<u16>(b)}; }
Pair16<i16> v_cvt_pk_i16_i32(i32 a, i32 b) { return {saturated<i16>(a), saturated<i16>(b)}; }
u16 v_sat_pk_u8_i16(Pair16<i16> a) { return static_cast<u16>(saturated<u8>(a.low) | u32{saturated<u8>(a.high)} << 8); }

u32 v_add3_u32(u32 a, u32 b, u32 c) { return a + b + c; }
u32 v_xor3_b32(u32 a, u32 b, u32 c) { return a ^ b ^ c; }
template <class T>
T maxmin(T a, T b, T c) {
  return min(max(a, b), c);
}
template <class T>
T minmax(T a, T b, T c) {
  return max(min(a, b), c);
}

Carry<u32> v_add_co_u32(u32 a, u32 b) { return {a + b, a > ~b}; }
Carry<u32> v_sub_co_u32(u32 a, u32 b) { return {a - b, b > a}; }
Carry<u32> v_subrev_co_u32(u32 a, u32 b) { return {b - a, a > b}; }
Carry<u32> v_addc_co_u32(u32 a, u32 b, bool carry) {
  const u64 sum = u64{a} + b + carry;
  return {static_cast<u32>(sum), sum >> 32 != 0};
}
Carry<u32> v_subb_co_u32(u32 a, u32 b, bool carry) { return {a - b - carry, u64{b} + carry > a}; }
Carry<u32> v_subbrev_co_u32(u32 a, u32 b, bool carry) { return {b - a - carry, u64{a} + carry > b}; }

// Saturated results; the carry is that of the exact ones.
Carry<u32> add_co_clamp(u32 a, u32 b) { return {saturated<u32>(i64{a} + b), a > ~b}; }
Carry<u32> sub_co_clamp(u32 a, u32 b) { return {saturated<u32>(i64{a} - b), b > a}; }
Carry<u32> subrev_co_clamp(u32 a, u32 b) { return sub_co_clamp(b, a); }
Carry<u32> addc_co_clamp(u32 a, u32 b, bool carry) {
  return {saturated<u32>(i64{a} + b + carry), v_addc_co_u32(a, b, carry).carry};
}
Carry<u32> subb_co_clamp(u32 a, u32 b, bool carry) {
  return {saturated<u32>(i64{a} - b - carry), v_subb_co_u32(a, b, carry).carry};
}
Carry<u32> subbrev_co_clamp(u32 a, u32 b, bool carry) { return subb_co_clamp(b, a, carry); }

// V_PERM_B32: of each byte of a lane a code. 0 to 7 select a byte of {a, b}, 8 to 11 repeat the sign of a halfword, 12
// is zero and what is above has all bits (ISA document, V_PERM_B32).

#if defined(WAVE_SIMD_AVX512)
using HostBytes = __m512i;
HostBytes all(int byte) { return _mm512_set1_epi8(static_cast<char>(byte)); }

/// Of 16 lanes, by the host's permutations of bytes.
HostBytes permuted_bytes(HostBytes a, HostBytes b, HostBytes select) {
  const auto tests = [](HostBytes bytes, HostBytes bits) { return _mm512_test_epi8_mask(bytes, bits); };
  const __mmask64 is_sign = tests(select, all(8));
  const HostBytes doubled = _mm512_add_epi8(select, select);
  const HostBytes of_half = _mm512_or_si512(_mm512_and_si512(doubled, all(2)), all(1));  // the byte with its sign
  const HostBytes first = _mm512_set4_epi32(0x0c0c0c0c, 0x08080808, 0x04040404, 0);      // of the same lane
  const HostBytes at = _mm512_add_epi8(_mm512_mask_mov_epi8(_mm512_and_si512(select, all(3)), is_sign, of_half), first);
  const __mmask64 is_of_a = tests(_mm512_mask_mov_epi8(select, is_sign, doubled), all(4));
  HostBytes bytes = _mm512_mask_shuffle_epi8(_mm512_shuffle_epi8(b, at), is_of_a, a, at);
  bytes = _mm512_mask_mov_epi8(bytes, is_sign, _mm512_movm_epi8(_mm512_movepi8_mask(bytes)));
  bytes = _mm512_mask_mov_epi8(bytes, _mm512_cmpge_epu8_mask(select, all(12)), all(0xff));
  return _mm512_mask_mov_epi8(bytes, _mm512_cmpeq_epi8_mask(select, all(12)), all(0));
}
#elif defined(WAVE_SIMD_AVX2)
using HostBytes = __m256i;
HostBytes all(int byte) { return _mm256_set1_epi8(static_cast<char>(byte)); }
HostBytes choose(HostBytes low, HostBytes high, HostBytes by_top_bit) {
  return _mm256_blendv_epi8(low, high, by_top_bit);
}

/// Of eight lanes, by the host's permutations of bytes.
HostBytes permuted_bytes(HostBytes a, HostBytes b, HostBytes select) {
  const HostBytes is_sign = _mm256_slli_epi16(select, 4);
  const HostBytes doubled = _mm256_add_epi8(select, select);
  const HostBytes of_half = _mm256_or_si256(_mm256_and_si256(doubled, all(2)), all(1));  // the byte with its sign
  const HostBytes first =
      _mm256_set_epi32(0x0c0c0c0c, 0x08080808, 0x04040404, 0, 0x0c0c0c0c, 0x08080808, 0x04040404, 0);
  const HostBytes at = _mm256_add_epi8(choose(_mm256_and_si256(select, all(3)), of_half, is_sign), first);
  const HostBytes is_of_a = _mm256_slli_epi16(choose(select, doubled, is_sign), 5);
  HostBytes bytes = choose(_mm256_shuffle_epi8(b, at), _mm256_shuffle_epi8(a, at), is_of_a);
  bytes = choose(bytes, _mm256_cmpgt_epi8(_mm256_setzero_si256(), bytes), is_sign);
  bytes = _mm256_or_si256(bytes, _mm256_cmpeq_epi8(_mm256_max_epu8(select, all(12)), select));
  return _mm256_andnot_si256(_mm256_cmpeq_epi8(select, all(12)), bytes);
}
#else
u32 permuted_byte(u32 a, u32 b, u32 code) {
  const u32 byte = (code & 4 ? a : b) >> 8 * (code & 3) & 0xff;
  const u32 sign = (code & 2 ? a : b) >> (16 * (code & 1) + 15) & 1 ? 0xff : 0;
  const u32 constant = code == 12 ? 0 : 0xff;
  return code < 8 ? byte : code < 12 ? sign : constant;
}
u32 permuted_bytes(u32 a, u32 b, u32 select) {
  return permuted_byte(a, b, select & 0xff) | permuted_byte(a, b, select >> 8 & 0xff) << 8 |
         permuted_byte(a, b, select >> 16 & 0xff) << 16 | permuted_byte(a, b, select >> 24) << 24;
}
#endif

/// The loop over lanes: compilers know no such permutations.
const Op* permute_bytes(Wave& wave, const Op* op, const LaneRow& exec, LaneRow* result, const LaneRow* a,
                        const LaneRow* b, const LaneRow* select) {
#if defined(WAVE_SIMD_AVX512) || defined(WAVE_SIMD_AVX2)
  constexpr size_t kStep = sizeof(HostBytes) / sizeof(u32);
  const auto load = [&](const u32* lanes) { return *reinterpret_cast<const HostBytes*>(lanes); };
  for (size_t i = 0; i < wave.lanes; i += kStep) {
    const HostBytes value = permuted_bytes(load(&a->lane[i]), load(&b->lane[i]), load(&select->lane[i]));
    const HostBytes enabled = load(&exec.lane[i]), old = load(&result->lane[i]);
    *reinterpret_cast<HostBytes*>(&result->lane[i]) = (value & enabled) | (old & ~enabled);
  }
#else
  for (size_t i = 0; i < wave.lanes; ++i)
    blend_lane(*result, i, permuted_bytes(a->lane[i], b->lane[i], select->lane[i]), exec.lane[i]);
#endif
  return next(op);
}
const Op* v_perm_b32(Wave& wave, const Op* op) {
  static constexpr VectorKinds kKinds = VectorShape<u32, u32, u32, u32>::kKinds;
  const uintptr_t* const rows = op->vector.rows;
  if (((rows[0] | rows[1] | rows[2]) & kSourceScalar) != 0 || op->vector.modifiers != nullptr)
    return detour<0, 1, 2>(wave, op, kKinds, permute_bytes);
  return permute_bytes(wave, op, wave.exec_lanes, &wave.v[op->vector.dst], rows_at(wave, rows[0]),
                       rows_at(wave, rows[1]), rows_at(wave, rows[2]));
}

constexpr Body kBodies[] = {
    {"v_mov_b32", light<v_mov_b32>},
    {"v_mov_b64", light<v_mov_b64>},
    {"v_accvgpr_mov_b32", light<v_mov_b32>},
    {"v_accvgpr_read_b32", light<v_mov_b32>},
    {"v_accvgpr_write_b32", light<v_mov_b32>},
    {"v_not_b32", light<v_not_b32>},
    {"v_and_b32", light<v_and_b32>},
    {"v_or_b32", light<v_or_b32>},
    {"v_xor_b32", light<v_xor_b32>},
    {"v_or3_b32", light<v_or3_b32>},
    {"v_and_or_b32", light<v_and_or_b32>},
    {"v_bfi_b32", light<v_bfi_b32>},
    {"v_cndmask_b32", light<v_cndmask_b32>},
    {"v_lshlrev_b32", light<v_lshlrev_b32>},
    {"v_lshrrev_b32", light<v_lshrrev_b32>},
    {"v_ashrrev_i32", light<v_ashrrev_i32>},
    {"v_lshlrev_b64", light<v_lshlrev_b64>},
    {"v_lshrrev_b64", vector<v_lshrrev_b64>},
    {"v_ashrrev_i64", vector<v_ashrrev_i64>},
    {"v_lshl_add_u32", light<v_lshl_add_u32>},
    {"v_add_lshl_u32", light<v_add_lshl_u32>},
    {"v_xad_u32", vector<v_xad_u32>},
    {"v_lshl_or_b32", light<v_lshl_or_b32>},
    {"v_lshl_add_u64", light<v_lshl_add_u64>},
    {"v_bfe_u32", light<v_bfe_u32>},
    {"v_bfe_i32", light<v_bfe_i32>},
    {"v_add_u32", light<add<u32>>},
    {"v_add_u32", vector<add_clamp<u32>>, Variant::Clamp},
    {"v_sub_u32", light<sub<u32>>},
    {"v_sub_u32", vector<sub_clamp<u32>>, Variant::Clamp},
    {"v_subrev_u32", light<subrev<u32>>},
    {"v_subrev_u32", vector<subrev_clamp<u32>>, Variant::Clamp},
    {"v_add3_u32", light<v_add3_u32>},
    {"v_min_u32", light<min<u32>>},
    {"v_max_u32", light<max<u32>>},
    {"v_min_i32", light<min<i32>>},
    {"v_max_i32", light<max<i32>>},
    {"v_add_co_u32", light<v_add_co_u32>},
    {"v_add_co_u32", vector<add_co_clamp>, Variant::Clamp},
    {"v_sub_co_u32", light<v_sub_co_u32>},
    {"v_sub_co_u32", vector<sub_co_clamp>, Variant::Clamp},
    {"v_subrev_co_u32", vector<v_subrev_co_u32>},
    {"v_subrev_co_u32", vector<subrev_co_clamp>, Variant::Clamp},
    {"v_addc_co_u32", light<v_addc_co_u32>},
    {"v_addc_co_u32", vector<addc_co_clamp>, Variant::Clamp},
    {"v_subb_co_u32", light<v_subb_co_u32>},
    {"v_subb_co_u32", vector<subb_co_clamp>, Variant::Clamp},
    {"v_subbrev_co_u32", vector<v_subbrev_co_u32>},
    {"v_subbrev_co_u32", vector<subbrev_co_clamp>, Variant::Clamp},
    {"v_perm_b32", v_perm_b32},
    {"v_xnor_b32", vector<v_xnor_b32>},
    {"v_bfm_b32", vector<v_bfm_b32>},
    {"v_alignbit_b32", vector<v_alignbit_b32>},
    {"v_alignbyte_b32", vector<v_alignbyte_b32>},
    {"v_pk_mov_b32", vector<v_pk_mov_b32>},
    {"v_bfrev_b32", vector<v_bfrev_b32>},
    {"v_bcnt_u32_b32", vector<v_bcnt_u32_b32>},
    {"v_ffbl_b32", vector<v_ffbl_b32>},
    {"v_ffbh_u32", vector<v_ffbh_u32>},
    {"v_ffbh_i32", vector<v_ffbh_i32>},
    {"v_mbcnt_lo_u32_b32", vector<v_mbcnt_lo_u32_b32>},
    {"v_mbcnt_hi_u32_b32", vector<v_mbcnt_hi_u32_b32>},
    {"v_lerp_u8", vector<v_lerp_u8>},
    {"v_cvt_pk_u16_u32", vector<v_cvt_pk_u16_u32>},
    {"v_cvt_pk_i16_i32", vector<v_cvt_pk_i16_i32>},
    {"v_sat_pk_u8_i16", vector<v_sat_pk_u8_i16>},
    {"v_add_i32", vector<add<i32>>},
    {"v_add_i32", vector<add_clamp<i32>>, Variant::Clamp},
    {"v_add_i16", vector<add<i16>>},
    {"v_add_i16", vector<add_clamp<i16>>, Variant::Clamp},
    {"v_sub_i32", vector<sub<i32>>},
    {"v_sub_i32", vector<sub_clamp<i32>>, Variant::Clamp},
    {"v_sub_i16", vector<sub<i16>>},
    {"v_sub_i16", vector<sub_clamp<i16>>, Variant::Clamp},
    {"v_add_u16", vector<add<u16>>},
    {"v_add_u16", vector<add_clamp<u16>>, Variant::Clamp},
    {"v_sub_u16", vector<sub<u16>>},
    {"v_sub_u16", vector<sub_clamp<u16>>, Variant::Clamp},
    {"v_subrev_u16", vector<subrev<u16>>},
    {"v_subrev_u16", vector<subrev_clamp<u16>>, Variant::Clamp},
    {"v_mul_lo_u16", vector<mul<u16>>},
    {"v_mul_lo_u16", vector<mul_clamp<u16>>, Variant::Clamp},
    {"v_mad_u16", vector<mad<u16>>},
    {"v_mad_u16", vector<mad_clamp<u16>>, Variant::Clamp},
    {"v_mad_legacy_u16", vector<mad<u16>>},
    {"v_mad_legacy_u16", vector<mad_clamp<u16>>, Variant::Clamp},
    {"v_min_u16", vector<min<u16>>},
    {"v_max_u16", vector<max<u16>>},
    {"v_pk_add_u16", vector<packed<u16, add<u16>>>},
    {"v_pk_add_u16", vector<packed<u16, add_clamp<u16>>>, Variant::Clamp},
    {"v_pk_sub_u16", vector<packed<u16, sub<u16>>>},
    {"v_pk_sub_u16", vector<packed<u16, sub_clamp<u16>>>, Variant::Clamp},
    {"v_pk_min_u16", vector<packed<u16, min<u16>>>},
    {"v_pk_max_u16", vector<packed<u16, max<u16>>>},
    {"v_pk_mad_u16", vector<packed3<u16, mad<u16>>>},
    {"v_pk_mad_u16", vector<packed3<u16, mad_clamp<u16>>>, Variant::Clamp},
    {"v_mad_i16", vector<mad<i16>>},
    {"v_mad_i16", vector<mad_clamp<i16>>, Variant::Clamp},
    {"v_mad_legacy_i16", vector<mad<i16>>},
    {"v_mad_legacy_i16", vector<mad_clamp<i16>>, Variant::Clamp},
    {"v_min_i16", vector<min<i16>>},
    {"v_max_i16", vector<max<i16>>},
    {"v_pk_add_i16", vector<packed<i16, add<i16>>>},
    {"v_pk_add_i16", vector<packed<i16, add_clamp<i16>>>, Variant::Clamp},
    {"v_pk_sub_i16", vector<packed<i16, sub<i16>>>},
    {"v_pk_sub_i16", vector<packed<i16, sub_clamp<i16>>>, Variant::Clamp},
    {"v_pk_min_i16", vector<packed<i16, min<i16>>>},
    {"v_pk_max_i16", vector<packed<i16, max<i16>>>},
    {"v_pk_mad_i16", vector<packed3<i16, mad<i16>>>},
    {"v_pk_mad_i16", vector<packed3<i16, mad_clamp<i16>>>, Variant::Clamp},
    {"v_pk_mul_lo_u16", vector<packed<u16, mul<u16>>>},
    {"v_pk_mul_lo_u16", vector<packed<u16, mul_clamp<u16>>>, Variant::Clamp},
    {"v_min3_u16", vector<min3<u16>>},
    {"v_max3_u16", vector<max3<u16>>},
    {"v_med3_u16", vector<med3<u16>>},
    {"v_min3_i16", vector<min3<i16>>},
    {"v_max3_i16", vector<max3<i16>>},
    {"v_med3_i16", vector<med3<i16>>},
    {"v_min3_u32", vector<min3<u32>>},
    {"v_max3_u32", vector<max3<u32>>},
    {"v_med3_u32", vector<med3<u32>>},
    {"v_min3_i32", vector<min3<i32>>},
    {"v_max3_i32", vector<max3<i32>>},
    {"v_med3_i32", vector<med3<i32>>},
    {"v_xor3_b32", vector<v_xor3_b32>},
    {"v_maxmin_i32", vector<maxmin<i32>>},
    {"v_minmax_i32", vector<minmax<i32>>},
    {"v_maxmin_u32", vector<maxmin<u32>>},
    {"v_minmax_u32", vector<minmax<u32>>},
    {"v_lshlrev_b16", vector<lshlrev16<u16>>},
    {"v_lshrrev_b16", vector<shrrev16<u16>>},
    {"v_ashrrev_i16", vector<shrrev16<i16>>},
    {"v_pk_lshlrev_b16", vector<packed_shift<u16, lshlrev16<u16>>>},
    {"v_pk_lshrrev_b16", vector<packed_shift<u16, shrrev16<u16>>>},
    {"v_pk_ashrrev_i16", vector<packed_shift<i16, shrrev16<i16>>>},
};

}  // namespace

std::span<const Body> vector_integer_bodies() { return kBodies; }

}  // namespace wave::emulator::WAVE_SIMD
