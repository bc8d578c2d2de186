// Scalar instructions and program flow that GFX11 and GFX12 added (RDNA3 and RDNA4 ISA documents).
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "emulator/bodies.h"
#include "emulator/scalar.h"
#include "emulator/small_float.h"
#include "emulator/vector.h"
#include "emulator/workgroup.h"

namespace wave::emulator {

namespace {

u64 s_add_nc_u64(u64 a, u64 b) { return a + b; }
u64 s_sub_nc_u64(u64 a, u64 b) { return a - b; }
u64 s_mul_u64(u64 a, u64 b) { return a * b; }
u32 s_pack_hl_b32_b16(u32 a, u32 b) { return a >> 16 | b << 16; }

// Floats, with MODE's rounding and handling of denormals. Computed in f64, where products are exact, and sums have a
// last bit that says whether more follows: rounded once more they are what they would be if rounded once.

enum Rounding : u32 { kNearest, kUp, kDown, kTowardZero };  // of MODE

f32 as_float(u32 bits) { return __builtin_bit_cast(f32, bits); }
u32 as_bits(f32 value) { return __builtin_bit_cast(u32, value); }

constexpr f64 kSmallestFloat = 0x1p-126, kSmallestHalf = 0x1p-14;  // normal numbers

f64 flushed_below(f64 value, f64 smallest) { return std::abs(value) < smallest ? std::copysign(0.0, value) : value; }

/// Which way a value that was rounded to nearest goes on: 1 up, -1 down.
int correction(f64 exact, f64 rounded, u32 rounding) {
  if (rounding == kUp) return rounded < exact;
  if (rounding == kDown) return -(rounded > exact);
  const bool is_larger = rounding == kTowardZero && std::abs(rounded) > std::abs(exact);
  return is_larger ? exact < 0 ? 1 : -1 : 0;
}
f64 sum(f64 a, f64 b, u32 rounding) {
  const f64 sum = a + b, of_b = sum - a;
  const f64 rest = (a - (sum - of_b)) + (b - of_b);  // exact (Knuth's TwoSum), or of an infinity NaN
  const u64 bits = __builtin_bit_cast(u64, sum);
  if (sum == 0 && rounding == kDown && std::signbit(a) != std::signbit(b)) return -0.0;
  if (!std::isfinite(rest) || rest == 0 || (bits & 1) != 0) return sum;
  return __builtin_bit_cast(f64, (rest > 0) == (sum > 0) ? bits + 1 : bits - 1);
}
f64 float_source(const Wave& wave, u32 bits) {
  const f64 value = as_float(bits);
  return wave.mode.denorm32() & 1 ? value : flushed_below(value, kSmallestFloat);
}
u32 float_result(const Wave& wave, f64 value) {
  const f32 nearest = static_cast<f32>(value);
  const int up = correction(value, nearest, wave.mode.round32());
  const f32 rounded = up == 0 ? nearest : std::nextafter(nearest, up * std::numeric_limits<f32>::infinity());
  return as_bits(wave.mode.denorm32() & 2 ? rounded : static_cast<f32>(flushed_below(rounded, kSmallestFloat)));
}

// An f16 is the low half of a register, whose high half results fill up with zeros.

f64 half_value(const Wave& wave, u32 bits) {
  const f64 value = f16_to_f32(bits & 0xffff);
  return wave.mode.denorm16_64() & 1 ? value : flushed_below(value, kSmallestHalf);
}
template <class Operands>
f64 half_source(const Wave& wave, const Operands& operands, int index) {
  const u32 encoding = operands.src[index];
  const bool is_constant = is_inline_constant(encoding);
  return half_value(wave, is_constant ? static_cast<u32>(inline_constant(encoding, isa::OperandType::F16))
                                      : read_scalar32(wave, operands, index));
}
u32 without_denormal_half(const Wave& wave, u32 bits) {
  const bool flushes = (bits & 0x7c00) == 0 && !(wave.mode.denorm16_64() & 2);
  return flushes ? bits & 0x8000 : bits;
}
u32 half_result(const Wave& wave, f64 value) {
  u32 bits = f64_to_f16(value);
  const int up = correction(value, f16_to_f32(bits), wave.mode.round16_64());
  if (up != 0) bits += (bits & 0x8000) == 0 ? up : -up;
  if (wave.mode.fp16_ovfl() && (bits & 0x7fff) == 0x7c00 && std::isfinite(value)) --bits;
  return without_denormal_half(wave, bits);
}
const Op* write_half(Wave& wave, const Op* op, f64 value) {
  write_scalar32(wave, op->scalar.dst, half_result(wave, value));
  return go_on(wave, op);
}

f64 add(f64 a, f64 b, u32 rounding) { return sum(a, b, rounding); }
f64 sub(f64 a, f64 b, u32 rounding) { return b == b ? sum(a, -b, rounding) : a - b; }
f64 mul(f64 a, f64 b, u32) { return a * b; }
bool is_less(f64 a, f64 b) { return a < b || (a == b && std::signbit(a) && !std::signbit(b)); }
/// Of a number and a NaN the number.
f64 min_num(f64 a, f64 b, u32) { return b != b || is_less(a, b) ? a : b; }
f64 max_num(f64 a, f64 b, u32) { return b != b || is_less(b, a) ? a : b; }
/// ... the NaN.
f64 minimum(f64 a, f64 b, u32) { return a != a || is_less(a, b) ? a : b; }
f64 maximum(f64 a, f64 b, u32) { return a != a || is_less(b, a) ? a : b; }
template <f64 (*kBody)(f64, f64, u32)>
u32 binary(u32 a, u32 b, Wave& wave) {
  return float_result(wave, kBody(float_source(wave, a), float_source(wave, b), wave.mode.round32()));
}
template <f64 (*kBody)(f64, f64, u32)>
const Op* half_binary(Wave& wave, const Op* op) {
  const u32 rounding = wave.mode.round16_64();
  return write_half(wave, op, kBody(half_source(wave, op->scalar, 0), half_source(wave, op->scalar, 1), rounding));
}
const Op* s_fmac_f16(Wave& wave, const Op* op) {
  const f64 addend = half_value(wave, wave.s[op->scalar.dst]);
  const f64 product = half_source(wave, op->scalar, 0) * half_source(wave, op->scalar, 1);
  return write_half(wave, op, sum(product, addend, wave.mode.round16_64()));
}

/// S_MIN_F32 and its like of RDNA3.5: with MODE.IEEE a signaling NaN wins, and becomes a quiet one.
constexpr u32 kQuietFloat = 0x00400000, kQuietHalf = 0x0200;
bool signals_float(u32 bits) { return (bits & 0x7fffffffu) > 0x7f800000u && (bits & kQuietFloat) == 0; }
bool signals_half(u32 bits) { return (bits & 0x7fffu) > 0x7c00u && (bits & kQuietHalf) == 0; }
template <f64 (*kBody)(f64, f64, u32)>
u32 ieee_extremum(u32 a, u32 b, Wave& wave) {
  if (wave.mode.ieee() && signals_float(a)) return a | kQuietFloat;
  if (wave.mode.ieee() && signals_float(b)) return b | kQuietFloat;
  return binary<kBody>(a, b, wave);
}
template <f64 (*kBody)(f64, f64, u32)>
const Op* half_ieee_extremum(Wave& wave, const Op* op) {
  for (const int i : {0, 1}) {
    const u32 bits = is_inline_constant(op->scalar.src[i]) ? 0 : read_scalar32(wave, op->scalar, i);
    if (!wave.mode.ieee() || !signals_half(bits)) continue;
    write_scalar32(wave, op->scalar.dst, (bits & 0xffffu) | kQuietHalf);
    return go_on(wave, op);
  }
  return half_binary<kBody>(wave, op);
}

f64 ceil(f64 a) { return __builtin_ceil(a); }
f64 floor(f64 a) { return __builtin_floor(a); }
f64 trunc(f64 a) { return __builtin_trunc(a); }
f64 rndne(f64 a) { return std::nearbyint(a); }
template <f64 (*kBody)(f64)>
u32 unary(u32 a, Wave& wave) {
  return float_result(wave, kBody(float_source(wave, a)));
}
template <f64 (*kBody)(f64)>
const Op* half_unary(Wave& wave, const Op* op) {
  return write_half(wave, op, kBody(half_source(wave, op->scalar, 0)));
}

u32 fused(const Wave& wave, u32 a, u32 b, u32 c) {
  const f64 product = float_source(wave, a) * float_source(wave, b);
  return float_result(wave, sum(product, float_source(wave, c), wave.mode.round32()));
}
u32 s_fmac_f32(u32 a, u32 b, Destination d, Wave& wave) { return fused(wave, a, b, d.value); }
/// The constant K is behind the instruction.
const Op* s_fmaak_f32(Wave& wave, const Op* op) {
  write_scalar32(
      wave, op->scalar.dst,
      fused(wave, read_scalar32(wave, op->scalar, 0), read_scalar32(wave, op->scalar, 1), op->scalar.literal));
  return go_on(wave, op);
}
const Op* s_fmamk_f32(Wave& wave, const Op* op) {
  write_scalar32(
      wave, op->scalar.dst,
      fused(wave, read_scalar32(wave, op->scalar, 0), op->scalar.literal, read_scalar32(wave, op->scalar, 1)));
  return go_on(wave, op);
}

u32 s_cvt_f32_i32(i32 a, Wave& wave) { return float_result(wave, a); }
u32 s_cvt_f32_u32(u32 a, Wave& wave) { return float_result(wave, a); }
const Op* s_cvt_f16_f32(Wave& wave, const Op* op) {
  return write_half(wave, op, float_source(wave, read_scalar32(wave, op->scalar, 0)));
}
const Op* s_cvt_f32_f16(Wave& wave, const Op* op) {
  write_scalar32(wave, op->scalar.dst, float_result(wave, half_source(wave, op->scalar, 0)));
  return go_on(wave, op);
}
u32 s_cvt_hi_f32_f16(u32 a, Wave& wave) { return float_result(wave, half_value(wave, a >> 16)); }
/// Towards zero whatever MODE says: what an f16 cannot hold is cut off, and what is too large becomes the largest.
/// Denormals are MODE's, as those of V_CVT_PK_RTZ_F16_F32.
u32 cut_to_half(const Wave& wave, u32 bits) {
  const f64 value = float_source(wave, bits), magnitude = std::abs(value);
  if (!(magnitude < 65536.0))
    return f64_to_f16(std::isinf(value) || value != value ? value : std::copysign(65504.0, value));
  const int exponent = magnitude < kSmallestHalf ? -14 : std::ilogb(magnitude);
  const f64 cut = std::ldexp(std::trunc(std::ldexp(value, 10 - exponent)), exponent - 10);
  return without_denormal_half(wave, f64_to_f16(cut));
}
u32 s_cvt_pk_rtz_f16_f32(u32 a, u32 b, Wave& wave) { return cut_to_half(wave, a) | cut_to_half(wave, b) << 16; }

/// Towards zero; what does not fit becomes the nearest value that does, and a NaN becomes zero.
template <class T>
u32 to_integer(u32 a, Wave& wave) {
  constexpr f64 kLow = std::numeric_limits<T>::min(), kHigh = std::numeric_limits<T>::max();
  const f64 value = float_source(wave, a);
  const f64 limited = value < kLow ? kLow : value > kHigh ? kHigh : value;
  return static_cast<u32>(static_cast<T>(static_cast<i64>(limited == limited ? limited : 0.0)));
}

// Approximations to 1 ULP by the unit that vectors have (exec_vector_transcendental.cpp): rounded to nearest whatever
// MODE says, those of f32 without denormals, those of f16 with MODE's.
f64 exponential(f64 a) { return std::exp2(a); }
f64 logarithm(f64 a) { return a < 0 ? std::numeric_limits<f64>::quiet_NaN() : std::log2(a); }
f64 reciprocal(f64 a) { return 1 / a; }
f64 root(f64 a) { return std::sqrt(a); }
f64 reciprocal_root(f64 a) { return 1 / std::sqrt(a); }

/// With the modifiers of VOP3, which these functions have though their operands are scalar; on GFX12, which alone has
/// them, OMOD counts whatever MODE says, and CLAMP makes zero of a NaN.
f64 modified_source(const Modifiers* modifiers, f64 source) {
  if (modifiers == nullptr) return source;
  const f64 magnitude = modifiers->absolute & 1 ? std::abs(source) : source;
  return modifiers->negate & 1 ? -magnitude : magnitude;
}
f32 modified_result(const Modifiers* modifiers, f32 value, f32 smallest) {
  if (modifiers == nullptr) return value;
  if (modifiers->output != 0) value = Scale{modifiers->factor()}(value, smallest);
  return modifiers->clamp ? Clamp<true>()(value, smallest) : value;
}
template <f64 (*kFunction)(f64)>
const Op* transcendental(Wave& wave, const Op* op) {
  const Modifiers* const modifiers = op->vector.modifiers;
  const f64 source = flushed_below(as_float(read_scalar32(wave, op->vector, 0)), kSmallestFloat);
  const f64 value = flushed_below(kFunction(modified_source(modifiers, source)), kSmallestFloat);
  const f32 result = modified_result(modifiers, static_cast<f32>(value), static_cast<f32>(kSmallestFloat));
  write_scalar32(wave, op->vector.scalar_dst, as_bits(result));
  return go_on(wave, op);
}
/// Of a finite number FP16_OVFL makes the largest one of an infinity.
template <f64 (*kFunction)(f64)>
const Op* half_transcendental(Wave& wave, const Op* op) {
  const Modifiers* const modifiers = op->vector.modifiers;
  const f64 source = modified_source(modifiers, half_source(wave, op->vector, 0));
  const f64 value = kFunction(source);
  const bool saturates = wave.mode.fp16_ovfl(), is_too_large = std::isinf(value) && std::isfinite(source);
  const u32 rounded = f64_to_f16(is_too_large ? std::copysign(0x1p100, value) : value, saturates);
  const f32 result = modified_result(modifiers, f16_to_f32(rounded), static_cast<f32>(kSmallestHalf));
  write_scalar32(wave, op->vector.scalar_dst, without_denormal_half(wave, f32_to_f16(result, saturates)));
  return go_on(wave, op);
}

bool lt(f64 a, f64 b) { return a < b; }
bool eq(f64 a, f64 b) { return a == b; }
bool le(f64 a, f64 b) { return a <= b; }
bool gt(f64 a, f64 b) { return a > b; }
bool lg(f64 a, f64 b) { return a < b || a > b; }
bool ge(f64 a, f64 b) { return a >= b; }
bool o(f64 a, f64 b) { return a == a && b == b; }
template <bool (*kCompare)(f64, f64), bool kNegated = false>
void compare(u32 a, u32 b, Wave& wave, bool& scc) {
  scc = kCompare(float_source(wave, a), float_source(wave, b)) != kNegated;
}
template <bool (*kCompare)(f64, f64), bool kNegated = false>
const Op* half_compare(Wave& wave, const Op* op) {
  wave.scc = kCompare(half_source(wave, op->scalar, 0), half_source(wave, op->scalar, 1)) != kNegated;
  return go_on(wave, op);
}

// MODE.

template <u32 kShift>
const Op* set_mode_field(Wave& wave, const Op* op) {
  wave.set_mode((wave.mode.bits & ~(15u << kShift)) | (op->scalar.simm16 & 15u) << kShift);
  return go_on(wave, op);
}

// Program flow.

/// Barrier -1 is that of the workgroup, -2 one for trap handlers, and 0 none, which all do nothing with. Others have
/// names, which the RDNA4 document reserves: they came with gfx1250.
enum class Barrier : u8 { None, Workgroup };
Barrier barrier_of(const Wave& wave, const Op* op) {
  const u32 number = read_scalar32(wave, op->scalar, 0);
  if (op->scalar.src[0] == sreg::kM0 ? (number & 31) != 0 : number - 1 < 16)
    fault("a named barrier, which this processor reserves");
  return number == ~0u && op->scalar.src[0] != sreg::kM0 ? Barrier::Workgroup : Barrier::None;
}

const Op* s_barrier_signal(Wave& wave, const Op* op) {
  if (barrier_of(wave, op) == Barrier::Workgroup) wave.group->signal_barrier(wave);
  return go_on(wave, op);
}
const Op* s_barrier_signal_isfirst(Wave& wave, const Op* op) {
  wave.scc = barrier_of(wave, op) == Barrier::Workgroup && wave.group->signal_barrier(wave);
  return go_on(wave, op);
}
const Op* s_get_barrier_state(Wave& wave, const Op* op) {
  const bool is_known = barrier_of(wave, op) == Barrier::Workgroup;
  write_scalar32(wave, op->scalar.dst, is_known ? wave.group->barrier_state() : 0);
  return go_on(wave, op);
}
const Op* s_barrier_wait(Wave& wave, const Op* op) {
  if (op->scalar.simm16 != 0xffff) fault("a named barrier, which this processor reserves");
  return stop(wave, op, Status::Barrier);
}

/// Nobody listens to interrupts, and registers that are given back are given back at the end.
const Op* s_sendmsg(Wave& wave, const Op* op) {
  constexpr u32 kInterrupt = 1, kDeallocateVgprs = 3;
  const u32 message = op->scalar.simm16 & 0xff;
  if (message != kInterrupt && message != kDeallocateVgprs) fault(message_name(wave, op) + ", which nobody takes here");
  return go_on(wave, op);
}

/// SHADER_CYCLES, the low 20 bits of the shader's clock on GFX11; on GFX12 its low half, and SHADER_CYCLES_HI.
const Op* getreg_cycles(Wave& wave, const Op* op) {
  constexpr u32 kHighCycles = 30;
  const u32 low = op->scalar.simm16 >> 6 & 31;
  const u64 mask = (u64{2} << (op->scalar.simm16 >> 11 & 31)) - 1;
  const u64 cycles = wave.group->launch().cycles() >> ((op->scalar.simm16 & 63) == kHighCycles ? 32 : 0);
  write_scalar32(wave, op->scalar.dst, static_cast<u32>((cycles & 0xffffffffu) >> low & mask));
  return go_on(wave, op);
}

/// The one question that is answered: for the time. Others that there are (SIDefines.h of LLVM, ID_RTN_*) are for trap
/// handlers, debuggers, and the queues of a driver.
const Op* s_sendmsg_rtn(Wave& wave, const Op* op, bool is_wide) {
  constexpr u32 kGetRealtime = 0x83;
  if (op->scalar.simm16 != kGetRealtime) fault(message_name(wave, op) + ", which nobody answers here");
  const u64 time = wave.group->launch().ticks();
  if (is_wide) {
    write_scalar64(wave, op->scalar.dst, time);
  } else {
    write_scalar32(wave, op->scalar.dst, static_cast<u32>(time));
  }
  return go_on(wave, op);
}
const Op* s_sendmsg_rtn_b32(Wave& wave, const Op* op) { return s_sendmsg_rtn(wave, op, false); }
const Op* s_sendmsg_rtn_b64(Wave& wave, const Op* op) { return s_sendmsg_rtn(wave, op, true); }

constexpr Body kBodies[] = {
    {"s_getreg_b32_gfx11", getreg_cycles, Variant::Clock},
    {"s_sendmsg_rtn_b32", s_sendmsg_rtn_b32},
    {"s_sendmsg_rtn_b64", s_sendmsg_rtn_b64},
    {"s_add_nc_u64", scalar<s_add_nc_u64>},
    {"s_sub_nc_u64", scalar<s_sub_nc_u64>},
    {"s_mul_u64", scalar<s_mul_u64>},
    {"s_pack_hl_b32_b16", scalar<s_pack_hl_b32_b16>},
    {"s_add_f32", scalar<binary<add>>},
    {"s_add_f16", half_binary<add>},
    {"s_sub_f32", scalar<binary<sub>>},
    {"s_sub_f16", half_binary<sub>},
    {"s_mul_f32", scalar<binary<mul>>},
    {"s_mul_f16", half_binary<mul>},
    {"s_min_num_f32", scalar<binary<min_num>>},
    {"s_min_num_f16", half_binary<min_num>},
    {"s_max_num_f32", scalar<binary<max_num>>},
    {"s_max_num_f16", half_binary<max_num>},
    {"s_min_f32", scalar<ieee_extremum<min_num>>},
    {"s_min_f16", half_ieee_extremum<min_num>},
    {"s_max_f32", scalar<ieee_extremum<max_num>>},
    {"s_max_f16", half_ieee_extremum<max_num>},
    {"s_cvt_pk_rtz_f16_f32", scalar<s_cvt_pk_rtz_f16_f32>},
    {"s_minimum_f32", scalar<binary<minimum>>},
    {"s_minimum_f16", half_binary<minimum>},
    {"s_maximum_f32", scalar<binary<maximum>>},
    {"s_maximum_f16", half_binary<maximum>},
    {"s_fmac_f32", scalar<s_fmac_f32>},
    {"s_fmac_f16", s_fmac_f16},
    {"s_fmaak_f32", s_fmaak_f32},
    {"s_fmamk_f32", s_fmamk_f32},
    {"s_ceil_f32", scalar<unary<ceil>>},
    {"s_ceil_f16", half_unary<ceil>},
    {"s_floor_f32", scalar<unary<floor>>},
    {"s_floor_f16", half_unary<floor>},
    {"s_trunc_f32", scalar<unary<trunc>>},
    {"s_trunc_f16", half_unary<trunc>},
    {"s_rndne_f32", scalar<unary<rndne>>},
    {"s_rndne_f16", half_unary<rndne>},
    {"s_cvt_f32_i32", scalar<s_cvt_f32_i32>},
    {"s_cvt_f32_u32", scalar<s_cvt_f32_u32>},
    {"s_cvt_f16_f32", s_cvt_f16_f32},
    {"s_cvt_f32_f16", s_cvt_f32_f16},
    {"s_cvt_hi_f32_f16", scalar<s_cvt_hi_f32_f16>},
    {"s_cvt_i32_f32", scalar<to_integer<i32>>},
    {"s_cvt_u32_f32", scalar<to_integer<u32>>},
    {"v_s_exp_f32", transcendental<exponential>},
    {"v_s_log_f32", transcendental<logarithm>},
    {"v_s_rcp_f32", transcendental<reciprocal>},
    {"v_s_sqrt_f32", transcendental<root>},
    {"v_s_rsq_f32", transcendental<reciprocal_root>},
    {"v_s_exp_f16", half_transcendental<exponential>},
    {"v_s_log_f16", half_transcendental<logarithm>},
    {"v_s_rcp_f16", half_transcendental<reciprocal>},
    {"v_s_sqrt_f16", half_transcendental<root>},
    {"v_s_rsq_f16", half_transcendental<reciprocal_root>},
    {"s_cmp_lt_f32", scalar<compare<lt>>},
    {"s_cmp_lt_f16", half_compare<lt>},
    {"s_cmp_eq_f32", scalar<compare<eq>>},
    {"s_cmp_eq_f16", half_compare<eq>},
    {"s_cmp_le_f32", scalar<compare<le>>},
    {"s_cmp_le_f16", half_compare<le>},
    {"s_cmp_gt_f32", scalar<compare<gt>>},
    {"s_cmp_gt_f16", half_compare<gt>},
    {"s_cmp_lg_f32", scalar<compare<lg>>},
    {"s_cmp_lg_f16", half_compare<lg>},
    {"s_cmp_ge_f32", scalar<compare<ge>>},
    {"s_cmp_ge_f16", half_compare<ge>},
    {"s_cmp_o_f32", scalar<compare<o>>},
    {"s_cmp_o_f16", half_compare<o>},
    {"s_cmp_u_f32", scalar<compare<o, true>>},
    {"s_cmp_u_f16", half_compare<o, true>},
    {"s_cmp_nge_f32", scalar<compare<ge, true>>},
    {"s_cmp_nge_f16", half_compare<ge, true>},
    {"s_cmp_nlg_f32", scalar<compare<lg, true>>},
    {"s_cmp_nlg_f16", half_compare<lg, true>},
    {"s_cmp_ngt_f32", scalar<compare<gt, true>>},
    {"s_cmp_ngt_f16", half_compare<gt, true>},
    {"s_cmp_nle_f32", scalar<compare<le, true>>},
    {"s_cmp_nle_f16", half_compare<le, true>},
    {"s_cmp_neq_f32", scalar<compare<eq, true>>},
    {"s_cmp_neq_f16", half_compare<eq, true>},
    {"s_cmp_nlt_f32", scalar<compare<lt, true>>},
    {"s_cmp_nlt_f16", half_compare<lt, true>},
    {"s_round_mode", set_mode_field<0>},
    {"s_denorm_mode", set_mode_field<4>},
    {"s_alloc_vgpr", nothing},  // which a wave ignores that was not launched to allocate registers as it runs
    {"s_barrier_signal", s_barrier_signal},
    {"s_barrier_signal_isfirst", s_barrier_signal_isfirst},
    {"s_get_barrier_state", s_get_barrier_state},
    {"s_barrier_wait", s_barrier_wait},
    {"s_sendmsg_gfx11", s_sendmsg},
    {"s_clause", nothing},
    {"s_delay_alu", nothing},
    {"s_set_inst_prefetch_distance", nothing},
    {"s_waitcnt_depctr", nothing},
    {"s_wait_alu", nothing},
    {"s_waitcnt_vscnt", order_memory},
    {"s_waitcnt_vmcnt", nothing},
    {"s_waitcnt_expcnt", nothing},
    {"s_waitcnt_lgkmcnt", nothing},
    {"s_wait_idle", order_memory},
    {"s_wait_event", nothing},
    {"s_wait_loadcnt", nothing},
    {"s_wait_storecnt", order_memory},
    {"s_wait_samplecnt", nothing},
    {"s_wait_bvhcnt", nothing},
    {"s_wait_expcnt", nothing},
    {"s_wait_dscnt", nothing},
    {"s_wait_kmcnt", nothing},
    {"s_wait_loadcnt_dscnt", nothing},
    {"s_wait_storecnt_dscnt", order_memory},
    {"buffer_gl0_inv", order_memory},
    {"buffer_gl1_inv", order_memory},
    {"global_inv", order_memory},
    {"global_wb", order_memory},
    {"global_wbinv", order_memory},
};

}  // namespace

std::span<const Body> scalar_gfx11_bodies() { return kBodies; }

}  // namespace wave::emulator
