// Scalar ALU: SOP1, SOP2, SOPK and SOPC, but for shifts and bit fields (ISA document, "SOP1 Instructions" to "SOPK
// Instructions").
#include "base/error.h"
#include "emulator/bodies.h"
#include "emulator/scalar.h"
#include "emulator/step.h"

namespace wave::emulator {

namespace {

bool add_overflows(i32 a, i32 b) {
  i32 sum;
  return __builtin_add_overflow(a, b, &sum);
}
bool sub_overflows(i32 a, i32 b) {
  i32 difference;
  return __builtin_sub_overflow(a, b, &difference);
}

// Moves and bit logic.
u32 s_mov_b32(u32 a) { return a; }
u64 s_mov_b64(u64 a) { return a; }
u32 s_movk_i32(i32 k) { return static_cast<u32>(k); }
u32 s_cselect_b32(u32 a, u32 b, bool& scc) { return scc ? a : b; }
u64 s_cselect_b64(u64 a, u64 b, bool& scc) { return scc ? a : b; }

template <class T>
T s_not(T a, bool& scc) {
  scc = static_cast<T>(~a) != 0;
  return ~a;
}
template <class T>
T s_and(T a, T b, bool& scc) {
  scc = (a & b) != 0;
  return a & b;
}
template <class T>
T s_or(T a, T b, bool& scc) {
  scc = (a | b) != 0;
  return a | b;
}
template <class T>
T s_xor(T a, T b, bool& scc) {
  scc = (a ^ b) != 0;
  return a ^ b;
}
template <class T>
T s_andn2(T a, T b, bool& scc) {
  scc = (a & ~b) != 0;
  return a & ~b;
}
template <class T>
T s_orn2(T a, T b, bool& scc) {
  scc = (a | ~b) != 0;
  return a | ~b;
}
template <class T>
T s_nand(T a, T b, bool& scc) {
  return s_not<T>(a & b, scc);
}
template <class T>
T s_nor(T a, T b, bool& scc) {
  return s_not<T>(a | b, scc);
}
template <class T>
T s_xnor(T a, T b, bool& scc) {
  return s_not<T>(a ^ b, scc);
}
u64 s_andn1(u64 a, u64 b, bool& scc) { return s_andn2(b, a, scc); }
u64 s_orn1(u64 a, u64 b, bool& scc) { return s_orn2(b, a, scc); }

/// Combines a mask with EXEC, and returns what EXEC was: both registers, of waves of 32 lanes, too.
template <u64 (*kCombine)(u64, u64, bool&)>
u64 s_saveexec(u64 a, Wave& wave, bool& scc) {
  const u64 exec = wave.pair(sreg::kExec);
  write_scalar64(wave, sreg::kExec, kCombine(a, exec, scc));
  return exec;
}
/// The same, but returns the new EXEC.
template <u64 (*kCombine)(u64, u64, bool&)>
u64 s_wrexec(u64 a, Wave& wave, bool& scc) {
  write_scalar64(wave, sreg::kExec, kCombine(a, wave.pair(sreg::kExec), scc));
  return wave.pair(sreg::kExec);
}
u32 s_cmov_b32(u32 a, Destination d, bool& scc) { return scc ? a : d.value; }
u64 s_cmov_b64(u64 a, Destination64 d, bool& scc) { return scc ? a : d.value; }

// Arithmetic.
u32 s_add_u32(u32 a, u32 b, bool& scc) {
  scc = a > ~b;
  return a + b;
}
u32 s_addc_u32(u32 a, u32 b, bool& scc) {
  const u64 sum = u64{a} + b + scc;
  scc = sum >> 32;
  return static_cast<u32>(sum);
}
u32 s_sub_u32(u32 a, u32 b, bool& scc) {
  scc = b > a;
  return a - b;
}
u32 s_subb_u32(u32 a, u32 b, bool& scc) {
  const u32 result = a - b - scc;
  scc = u64{b} + scc > a;
  return result;
}
u32 s_add_i32(i32 a, i32 b, bool& scc) {
  scc = add_overflows(a, b);
  return static_cast<u32>(a) + static_cast<u32>(b);
}
u32 s_sub_i32(i32 a, i32 b, bool& scc) {
  scc = sub_overflows(a, b);
  return static_cast<u32>(a) - static_cast<u32>(b);
}
u32 s_addk_i32(Destination d, i32 k, bool& scc) { return s_add_i32(static_cast<i32>(d.value), k, scc); }
u32 s_mulk_i32(Destination d, i32 k) { return d.value * static_cast<u32>(k); }
u32 s_mul_i32(u32 a, u32 b) { return a * b; }
u32 s_mul_hi_u32(u32 a, u32 b) { return static_cast<u32>(u64{a} * b >> 32); }
u32 s_mul_hi_i32(i32 a, i32 b) { return static_cast<u32>(i64{a} * b >> 32); }
template <class T>
u32 s_min(T a, T b, bool& scc) {
  scc = a < b;
  return static_cast<u32>(a < b ? a : b);
}
template <class T>
u32 s_max(T a, T b, bool& scc) {
  scc = a >= b;  // the first source is taken where both are equal
  return static_cast<u32>(a > b ? a : b);
}

template <u32 kShift>
u32 s_lshl_add_u32(u32 a, u32 b, bool& scc) {
  const u64 sum = (u64{a} << kShift) + b;
  scc = sum >> 32 != 0;
  return static_cast<u32>(sum);
}
u32 s_abs_i32(u32 a, bool& scc) {
  scc = a != 0;
  return a >> 31 ? 0u - a : a;
}
u32 s_absdiff_i32(u32 a, u32 b, bool& scc) { return s_abs_i32(a - b, scc); }

// Comparisons.
template <class T, bool kSet>
void s_bitcmp(T a, u32 bit, bool& scc) {
  scc = (a >> (bit & (sizeof(T) * 8 - 1)) & 1) == kSet;
}
template <class T>
void s_cmp_eq(T a, T b, bool& scc) {
  scc = a == b;
}
template <class T>
void s_cmp_lg(T a, T b, bool& scc) {
  scc = a != b;
}
template <class T>
void s_cmp_gt(T a, T b, bool& scc) {
  scc = a > b;
}
template <class T>
void s_cmp_ge(T a, T b, bool& scc) {
  scc = a >= b;
}
template <class T>
void s_cmp_lt(T a, T b, bool& scc) {
  scc = a < b;
}
template <class T>
void s_cmp_le(T a, T b, bool& scc) {
  scc = a <= b;
}

/// SOPK comparisons with unsigned operands take SIMM16 without its sign.
template <void (*kCompare)(u32, u32, bool&)>
void s_cmpk_u32(u32 a, u32 k, bool& scc) {
  kCompare(a, k & 0xffff, scc);
}

// Moves from and to the register that is M0 registers farther on.
u32 relative_register(const Wave& wave, u32 first, u32 offset, u32 dwords) {
  const u64 last = u64{first} + offset + dwords;
  if (last > wave.sgpr_count)
    fault(text("scalar register ", last - 1, ", relative to M0, of ", wave.sgpr_count, " registers"));
  return first + offset;
}

template <u32 kDwords>
const Op* s_movrels(Wave& wave, const Op* op) {
  const u32 from = relative_register(wave, op->scalar.src[0], wave.s[sreg::kM0], kDwords);
  if constexpr (kDwords == 2) {
    write_scalar64(wave, op->scalar.dst, wave.pair(from));
  } else {
    write_scalar32(wave, op->scalar.dst, wave.s[from]);
  }
  return go_on(wave, op);
}
template <u32 kDwords>
const Op* s_movreld(Wave& wave, const Op* op) {
  const u32 to = relative_register(wave, op->scalar.dst, wave.s[sreg::kM0], kDwords);
  if constexpr (kDwords == 2) {
    wave.set_pair(to, read_scalar64(wave, op->scalar, 0));
  } else {
    wave.s[to] = read_scalar32(wave, op->scalar, 0);
  }
  return go_on(wave, op);
}
/// With an offset for each.
const Op* s_movrelsd_2_b32(Wave& wave, const Op* op) {
  const u32 m0 = wave.s[sreg::kM0];
  const u32 from = relative_register(wave, op->scalar.src[0], m0 & 0x3ff, 1);
  wave.s[relative_register(wave, op->scalar.dst, m0 >> 16 & 0x3ff, 1)] = wave.s[from];
  return go_on(wave, op);
}

constexpr Body kBodies[] = {
    {"s_mov_b32", scalar<s_mov_b32>},
    {"s_mov_b64", scalar<s_mov_b64>},
    {"s_movk_i32", scalar<s_movk_i32>},
    {"s_cselect_b32", scalar<s_cselect_b32>},
    {"s_cselect_b64", scalar<s_cselect_b64>},
    {"s_not_b32", scalar<s_not<u32>>},
    {"s_not_b64", scalar<s_not<u64>>},
    {"s_and_b32", scalar<s_and<u32>>},
    {"s_and_b64", scalar<s_and<u64>>},
    {"s_or_b32", scalar<s_or<u32>>},
    {"s_or_b64", scalar<s_or<u64>>},
    {"s_xor_b32", scalar<s_xor<u32>>},
    {"s_xor_b64", scalar<s_xor<u64>>},
    {"s_andn2_b32", scalar<s_andn2<u32>>},
    {"s_andn2_b64", scalar<s_andn2<u64>>},
    {"s_orn2_b32", scalar<s_orn2<u32>>},
    {"s_orn2_b64", scalar<s_orn2<u64>>},
    {"s_nand_b32", scalar<s_nand<u32>>},
    {"s_nand_b64", scalar<s_nand<u64>>},
    {"s_nor_b32", scalar<s_nor<u32>>},
    {"s_nor_b64", scalar<s_nor<u64>>},
    {"s_xnor_b32", scalar<s_xnor<u32>>},
    {"s_xnor_b64", scalar<s_xnor<u64>>},
    {"s_and_saveexec_b64", scalar<s_saveexec<s_and<u64>>>},
    {"s_or_saveexec_b64", scalar<s_saveexec<s_or<u64>>>},
    {"s_xor_saveexec_b64", scalar<s_saveexec<s_xor<u64>>>},
    {"s_andn2_saveexec_b64", scalar<s_saveexec<s_andn2<u64>>>},
    {"s_orn2_saveexec_b64", scalar<s_saveexec<s_orn2<u64>>>},
    {"s_nand_saveexec_b64", scalar<s_saveexec<s_nand<u64>>>},
    {"s_nor_saveexec_b64", scalar<s_saveexec<s_nor<u64>>>},
    {"s_xnor_saveexec_b64", scalar<s_saveexec<s_xnor<u64>>>},
    {"s_andn1_saveexec_b64", scalar<s_saveexec<s_andn1>>},
    {"s_orn1_saveexec_b64", scalar<s_saveexec<s_orn1>>},
    {"s_andn1_wrexec_b64", scalar<s_wrexec<s_andn1>>},
    {"s_andn2_wrexec_b64", scalar<s_wrexec<s_andn2<u64>>>},
    {"s_cmov_b32", scalar<s_cmov_b32>},
    {"s_cmov_b64", scalar<s_cmov_b64>},
    {"s_cmovk_i32", scalar<s_cmov_b32>},
    {"s_movrels_b32", s_movrels<1>},
    {"s_movrels_b64", s_movrels<2>},
    {"s_movreld_b32", s_movreld<1>},
    {"s_movreld_b64", s_movreld<2>},
    {"s_movrelsd_2_b32", s_movrelsd_2_b32},
    {"s_add_u32", scalar<s_add_u32>},
    {"s_addc_u32", scalar<s_addc_u32>},
    {"s_sub_u32", scalar<s_sub_u32>},
    {"s_subb_u32", scalar<s_subb_u32>},
    {"s_add_i32", scalar<s_add_i32>},
    {"s_sub_i32", scalar<s_sub_i32>},
    {"s_addk_i32", scalar<s_addk_i32>},
    {"s_mulk_i32", scalar<s_mulk_i32>},
    {"s_mul_i32", scalar<s_mul_i32>},
    {"s_mul_hi_u32", scalar<s_mul_hi_u32>},
    {"s_mul_hi_i32", scalar<s_mul_hi_i32>},
    {"s_min_i32", scalar<s_min<i32>>},
    {"s_min_u32", scalar<s_min<u32>>},
    {"s_max_i32", scalar<s_max<i32>>},
    {"s_max_u32", scalar<s_max<u32>>},
    {"s_lshl1_add_u32", scalar<s_lshl_add_u32<1>>},
    {"s_lshl2_add_u32", scalar<s_lshl_add_u32<2>>},
    {"s_lshl3_add_u32", scalar<s_lshl_add_u32<3>>},
    {"s_lshl4_add_u32", scalar<s_lshl_add_u32<4>>},
    {"s_abs_i32", scalar<s_abs_i32>},
    {"s_absdiff_i32", scalar<s_absdiff_i32>},
    {"s_bitcmp0_b32", scalar<s_bitcmp<u32, false>>},
    {"s_bitcmp0_b64", scalar<s_bitcmp<u64, false>>},
    {"s_bitcmp1_b32", scalar<s_bitcmp<u32, true>>},
    {"s_bitcmp1_b64", scalar<s_bitcmp<u64, true>>},
    {"s_cmp_eq_i32", scalar<s_cmp_eq<i32>>},
    {"s_cmp_lg_i32", scalar<s_cmp_lg<i32>>},
    {"s_cmp_gt_i32", scalar<s_cmp_gt<i32>>},
    {"s_cmp_ge_i32", scalar<s_cmp_ge<i32>>},
    {"s_cmp_lt_i32", scalar<s_cmp_lt<i32>>},
    {"s_cmp_le_i32", scalar<s_cmp_le<i32>>},
    {"s_cmp_eq_u32", scalar<s_cmp_eq<u32>>},
    {"s_cmp_lg_u32", scalar<s_cmp_lg<u32>>},
    {"s_cmp_gt_u32", scalar<s_cmp_gt<u32>>},
    {"s_cmp_ge_u32", scalar<s_cmp_ge<u32>>},
    {"s_cmp_lt_u32", scalar<s_cmp_lt<u32>>},
    {"s_cmp_le_u32", scalar<s_cmp_le<u32>>},
    {"s_cmpk_eq_i32", scalar<s_cmp_eq<i32>>},
    {"s_cmpk_lg_i32", scalar<s_cmp_lg<i32>>},
    {"s_cmpk_gt_i32", scalar<s_cmp_gt<i32>>},
    {"s_cmpk_ge_i32", scalar<s_cmp_ge<i32>>},
    {"s_cmpk_lt_i32", scalar<s_cmp_lt<i32>>},
    {"s_cmpk_le_i32", scalar<s_cmp_le<i32>>},
    {"s_cmpk_eq_u32", scalar<s_cmpk_u32<s_cmp_eq<u32>>>},
    {"s_cmpk_lg_u32", scalar<s_cmpk_u32<s_cmp_lg<u32>>>},
    {"s_cmpk_gt_u32", scalar<s_cmpk_u32<s_cmp_gt<u32>>>},
    {"s_cmpk_ge_u32", scalar<s_cmpk_u32<s_cmp_ge<u32>>>},
    {"s_cmpk_lt_u32", scalar<s_cmpk_u32<s_cmp_lt<u32>>>},
    {"s_cmpk_le_u32", scalar<s_cmpk_u32<s_cmp_le<u32>>>},
    {"s_cmp_eq_u64", scalar<s_cmp_eq<u64>>},
    {"s_cmp_lg_u64", scalar<s_cmp_lg<u64>>},
};

}  // namespace

std::span<const Body> scalar_bodies() { return kBodies; }

bool moves_relative_scalars(Execute body) {
  return body == s_movrels<1> || body == s_movrels<2> || body == s_movreld<1> || body == s_movreld<2> ||
         body == s_movrelsd_2_b32;
}

}  // namespace wave::emulator
