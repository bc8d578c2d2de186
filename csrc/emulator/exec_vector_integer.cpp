// Vector integer and bit instructions (ISA document, "VOP1 Instructions", "VOP2 Instructions", "VOP3A Instructions").
#include <immintrin.h>

#include <type_traits>
#include <utility>

#include "emulator/bodies.h"
#include "emulator/vector.h"

#define WAVE_SOURCE "emulator/exec_vector_integer.cpp"
#include "emulator/each_simd_level.h"
#include "emulator/vector.inl"

namespace wave::emulator::WAVE_SIMD {

namespace {

constexpr u32 low24(u32 a) { return a & 0xffffffu; }

u32 v_mov_b32(u32 a) { return a; }
u64 v_mov_b64(u64 a) { return a; }
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
u64 v_lshlrev_b64(u32 shift, u64 value) { return value << (shift & 63); }
u64 v_lshrrev_b64(u32 shift, u64 value) { return value >> (shift & 63); }
i64 v_ashrrev_i64(u32 shift, i64 value) { return value >> (shift & 63); }
u32 v_lshl_add_u32(u32 a, u32 shift, u32 c) { return (a << (shift & 31)) + c; }
u32 v_add_lshl_u32(u32 a, u32 b, u32 shift) { return (a + b) << (shift & 31); }
u32 v_xad_u32(u32 a, u32 b, u32 c) { return (a ^ b) + c; }
u32 v_lshl_or_b32(u32 a, u32 shift, u32 c) { return a << (shift & 31) | c; }
u64 v_lshl_add_u64(u64 a, u32 shift, u64 c) { return (a << (shift & 7)) + c; }
u32 v_bfe_u32(u32 a, u32 offset, u32 width) { return (a >> (offset & 31)) & ((1u << (width & 31)) - 1); }
i32 v_bfe_i32(i32 a, u32 offset, u32 width) {
  const u32 bits = width & 31;
  const u32 field = static_cast<u32>(a >> (offset & 31)) & ((1u << bits) - 1);
  const u32 sign = bits == 0 ? 0 : 1u << (bits - 1);
  return static_cast<i32>((field ^ sign) - sign);
}

u32 v_add_u32(u32 a, u32 b) { return a + b; }
u32 v_sub_u32(u32 a, u32 b) { return a - b; }
u32 v_subrev_u32(u32 a, u32 b) { return b - a; }
u32 v_add3_u32(u32 a, u32 b, u32 c) { return a + b + c; }
u32 v_mul_lo_u32(u32 a, u32 b) { return a * b; }
u32 v_mul_hi_u32(u32 a, u32 b) { return static_cast<u32>(u64{a} * b >> 32); }
u32 v_mul_u32_u24(u32 a, u32 b) { return low24(a) * low24(b); }
u32 v_mad_u32_u24(u32 a, u32 b, u32 c) { return low24(a) * low24(b) + c; }
u32 v_min_u32(u32 a, u32 b) { return a < b ? a : b; }
u32 v_max_u32(u32 a, u32 b) { return a > b ? a : b; }
i32 v_min_i32(i32 a, i32 b) { return a < b ? a : b; }
i32 v_max_i32(i32 a, i32 b) { return a > b ? a : b; }

Carry<u32> v_add_co_u32(u32 a, u32 b) { return {a + b, a > ~b}; }
Carry<u32> v_sub_co_u32(u32 a, u32 b) { return {a - b, b > a}; }
Carry<u32> v_subrev_co_u32(u32 a, u32 b) { return {b - a, a > b}; }
Carry<u32> v_addc_co_u32(u32 a, u32 b, bool carry) {
  const u64 sum = u64{a} + b + carry;
  return {static_cast<u32>(sum), sum >> 32 != 0};
}
Carry<u32> v_subb_co_u32(u32 a, u32 b, bool carry) { return {a - b - carry, u64{b} + carry > a}; }
Carry<u32> v_subbrev_co_u32(u32 a, u32 b, bool carry) { return {b - a - carry, u64{a} + carry > b}; }
Carry<u64> v_mad_u64_u32(u32 a, u32 b, u64 c) {
  const u64 product = u64{a} * b;
  return {product + c, product > ~c};
}

/// One byte of v_perm_b32: 0 to 7 select a byte of {a, b}, 8 to 11 repeat the sign of a halfword (ISA document,
/// V_PERM_B32).
u32 permuted_byte(u64 bytes, u32 code) {
  if (code >= 13) return 0xff;
  if (code == 12) return 0;
  if (code >= 8) return static_cast<u32>(bytes >> (16 * (code & 3) + 15)) & 1 ? 0xff : 0;
  return static_cast<u32>(bytes >> (8 * code)) & 0xff;
}
u32 v_perm_b32(u32 a, u32 b, u32 select) {
  const u64 bytes = u64{a} << 32 | b;
  return permuted_byte(bytes, select & 0xff) | permuted_byte(bytes, select >> 8 & 0xff) << 8 |
         permuted_byte(bytes, select >> 16 & 0xff) << 16 | permuted_byte(bytes, select >> 24) << 24;
}

constexpr Body kBodies[] = {
    {"v_mov_b32", vector<v_mov_b32>},
    {"v_mov_b64", vector<v_mov_b64>},
    {"v_accvgpr_read_b32", vector<v_mov_b32>},
    {"v_accvgpr_write_b32", vector<v_mov_b32>},
    {"v_not_b32", vector<v_not_b32>},
    {"v_and_b32", vector<v_and_b32>},
    {"v_or_b32", vector<v_or_b32>},
    {"v_xor_b32", vector<v_xor_b32>},
    {"v_or3_b32", vector<v_or3_b32>},
    {"v_and_or_b32", vector<v_and_or_b32>},
    {"v_bfi_b32", vector<v_bfi_b32>},
    {"v_cndmask_b32", vector<v_cndmask_b32>},
    {"v_lshlrev_b32", vector<v_lshlrev_b32>},
    {"v_lshrrev_b32", vector<v_lshrrev_b32>},
    {"v_ashrrev_i32", vector<v_ashrrev_i32>},
    {"v_lshlrev_b64", vector<v_lshlrev_b64>},
    {"v_lshrrev_b64", vector<v_lshrrev_b64>},
    {"v_ashrrev_i64", vector<v_ashrrev_i64>},
    {"v_lshl_add_u32", vector<v_lshl_add_u32>},
    {"v_add_lshl_u32", vector<v_add_lshl_u32>},
    {"v_xad_u32", vector<v_xad_u32>},
    {"v_lshl_or_b32", vector<v_lshl_or_b32>},
    {"v_lshl_add_u64", vector<v_lshl_add_u64>},
    {"v_bfe_u32", vector<v_bfe_u32>},
    {"v_bfe_i32", vector<v_bfe_i32>},
    {"v_add_u32", vector<v_add_u32>},
    {"v_sub_u32", vector<v_sub_u32>},
    {"v_subrev_u32", vector<v_subrev_u32>},
    {"v_add3_u32", vector<v_add3_u32>},
    {"v_mul_lo_u32", vector<v_mul_lo_u32>},
    {"v_mul_hi_u32", vector<v_mul_hi_u32>},
    {"v_mul_u32_u24", vector<v_mul_u32_u24>},
    {"v_mad_u32_u24", vector<v_mad_u32_u24>},
    {"v_min_u32", vector<v_min_u32>},
    {"v_max_u32", vector<v_max_u32>},
    {"v_min_i32", vector<v_min_i32>},
    {"v_max_i32", vector<v_max_i32>},
    {"v_add_co_u32", vector<v_add_co_u32>},
    {"v_sub_co_u32", vector<v_sub_co_u32>},
    {"v_subrev_co_u32", vector<v_subrev_co_u32>},
    {"v_addc_co_u32", vector<v_addc_co_u32>},
    {"v_subb_co_u32", vector<v_subb_co_u32>},
    {"v_subbrev_co_u32", vector<v_subbrev_co_u32>},
    {"v_mad_u64_u32", vector<v_mad_u64_u32>},
    {"v_perm_b32", vector<v_perm_b32>},
};

}  // namespace

std::span<const Body> vector_integer_bodies() { return kBodies; }

}  // namespace wave::emulator::WAVE_SIMD
