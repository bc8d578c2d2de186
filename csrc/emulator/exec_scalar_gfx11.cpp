// Scalar instructions and program flow that GFX11 and GFX12 added (RDNA3 and RDNA4 ISA documents).
#include <cmath>
#include <limits>

#include "base/error.h"
#include "emulator/bodies.h"
#include "emulator/scalar.h"
#include "emulator/workgroup.h"

namespace wave::emulator {

namespace {

u64 s_add_nc_u64(u64 a, u64 b) { return a + b; }
u64 s_sub_nc_u64(u64 a, u64 b) { return a - b; }
u64 s_mul_u64(u64 a, u64 b) { return a * b; }
u32 s_pack_hl_b32_b16(u32 a, u32 b) { return a >> 16 | b << 16; }

// Floats, with MODE's handling of denormals.

f32 as_float(u32 bits) { return __builtin_bit_cast(f32, bits); }
u32 as_bits(f32 value) { return __builtin_bit_cast(u32, value); }

f32 without_denormal(f32 value) { return std::abs(value) < 0x1p-126f ? std::copysign(0.0f, value) : value; }

/// Checks that results are to be rounded to nearest.
void check_rounding(const Wave& wave) {
  if (wave.mode.round32() != 0) fault("scalar floats rounded otherwise than to nearest, which is not implemented");
}
f32 float_source(const Wave& wave, u32 bits) {
  return wave.mode.denorm32() & 1 ? as_float(bits) : without_denormal(as_float(bits));
}
u32 float_result(const Wave& wave, f32 value) {
  check_rounding(wave);
  return as_bits(wave.mode.denorm32() & 2 ? value : without_denormal(value));
}

f32 add(f32 a, f32 b) { return a + b; }
f32 sub(f32 a, f32 b) { return a - b; }
f32 mul(f32 a, f32 b) { return a * b; }
template <f32 (*kBody)(f32, f32)>
u32 binary(u32 a, u32 b, Wave& wave) {
  return float_result(wave, kBody(float_source(wave, a), float_source(wave, b)));
}

f32 ceil(f32 a) { return __builtin_ceilf(a); }
f32 floor(f32 a) { return __builtin_floorf(a); }
f32 trunc(f32 a) { return __builtin_truncf(a); }
f32 rndne(f32 a) { return std::nearbyint(a); }
template <f32 (*kBody)(f32)>
u32 unary(u32 a, Wave& wave) {
  return float_result(wave, kBody(float_source(wave, a)));
}

u32 fused(const Wave& wave, u32 a, u32 b, u32 c) {
  return float_result(wave, __builtin_fmaf(float_source(wave, a), float_source(wave, b), float_source(wave, c)));
}
u32 s_fmac_f32(u32 a, u32 b, Destination d, Wave& wave) { return fused(wave, a, b, d.value); }
/// The constant K is behind the instruction.
const Op* s_fmaak_f32(Wave& wave, const Op* op) {
  write_scalar32(wave, op->dst, fused(wave, read_scalar32(wave, op, 0), read_scalar32(wave, op, 1), op->imm));
  return next(op);
}
const Op* s_fmamk_f32(Wave& wave, const Op* op) {
  write_scalar32(wave, op->dst, fused(wave, read_scalar32(wave, op, 0), op->imm, read_scalar32(wave, op, 1)));
  return next(op);
}

u32 s_cvt_f32_i32(i32 a, Wave& wave) { return float_result(wave, static_cast<f32>(a)); }
u32 s_cvt_f32_u32(u32 a, Wave& wave) { return float_result(wave, static_cast<f32>(a)); }
/// Towards zero; what does not fit becomes the nearest value that does, and a NaN becomes zero.
template <class T>
u32 to_integer(u32 a, Wave& wave) {
  constexpr f64 kLow = std::numeric_limits<T>::min(), kHigh = std::numeric_limits<T>::max();
  const f64 value = float_source(wave, a);
  const f64 limited = value < kLow ? kLow : value > kHigh ? kHigh : value;
  return static_cast<u32>(static_cast<T>(static_cast<i64>(limited == limited ? limited : 0.0)));
}

bool lt(f32 a, f32 b) { return a < b; }
bool eq(f32 a, f32 b) { return a == b; }
bool le(f32 a, f32 b) { return a <= b; }
bool gt(f32 a, f32 b) { return a > b; }
bool lg(f32 a, f32 b) { return a < b || a > b; }
bool ge(f32 a, f32 b) { return a >= b; }
bool o(f32 a, f32 b) { return a == a && b == b; }
template <bool (*kCompare)(f32, f32), bool kNegated = false>
void compare(u32 a, u32 b, Wave& wave, bool& scc) {
  scc = kCompare(float_source(wave, a), float_source(wave, b)) != kNegated;
}

// MODE.

template <u32 kShift>
const Op* set_mode_field(Wave& wave, const Op* op) {
  wave.set_mode((wave.mode.bits & ~(15u << kShift)) | (op->imm & 15) << kShift);
  return next(op);
}

// Program flow.

/// Barrier -1 is that of the workgroup. That a wave has come to it is noticed where it waits, so that the others go on
/// only then: a kernel in which a wave works for others between signal and wait does not end here.
const Op* s_barrier_signal(Wave& wave, const Op* op) {
  if (read_scalar32(wave, op, 0) != ~0u) fault("a named barrier, of which there are none");
  return next(op);
}
const Op* s_barrier_wait(Wave& wave, const Op* op) {
  if ((op->imm & 0xffff) != 0xffff) fault("a named barrier, of which there are none");
  return stop(wave, op, Status::Barrier);
}

/// Nobody listens to interrupts, and registers that are given back are given back at the end.
const Op* s_sendmsg(Wave&, const Op* op) {
  constexpr u32 kInterrupt = 1, kDeallocateVgprs = 3;
  const u32 message = op->imm & 0xff;
  if (message != kInterrupt && message != kDeallocateVgprs)
    fault(text("message ", message, ", which nobody takes here"));
  return next(op);
}

constexpr Body kBodies[] = {
    {"s_add_nc_u64", scalar<s_add_nc_u64>},
    {"s_sub_nc_u64", scalar<s_sub_nc_u64>},
    {"s_mul_u64", scalar<s_mul_u64>},
    {"s_pack_hl_b32_b16", scalar<s_pack_hl_b32_b16>},
    {"s_add_f32", scalar<binary<add>>},
    {"s_sub_f32", scalar<binary<sub>>},
    {"s_mul_f32", scalar<binary<mul>>},
    {"s_fmac_f32", scalar<s_fmac_f32>},
    {"s_fmaak_f32", s_fmaak_f32},
    {"s_fmamk_f32", s_fmamk_f32},
    {"s_ceil_f32", scalar<unary<ceil>>},
    {"s_floor_f32", scalar<unary<floor>>},
    {"s_trunc_f32", scalar<unary<trunc>>},
    {"s_rndne_f32", scalar<unary<rndne>>},
    {"s_cvt_f32_i32", scalar<s_cvt_f32_i32>},
    {"s_cvt_f32_u32", scalar<s_cvt_f32_u32>},
    {"s_cvt_i32_f32", scalar<to_integer<i32>>},
    {"s_cvt_u32_f32", scalar<to_integer<u32>>},
    {"s_cmp_lt_f32", scalar<compare<lt>>},
    {"s_cmp_eq_f32", scalar<compare<eq>>},
    {"s_cmp_le_f32", scalar<compare<le>>},
    {"s_cmp_gt_f32", scalar<compare<gt>>},
    {"s_cmp_lg_f32", scalar<compare<lg>>},
    {"s_cmp_ge_f32", scalar<compare<ge>>},
    {"s_cmp_o_f32", scalar<compare<o>>},
    {"s_cmp_u_f32", scalar<compare<o, true>>},
    {"s_cmp_nge_f32", scalar<compare<ge, true>>},
    {"s_cmp_nlg_f32", scalar<compare<lg, true>>},
    {"s_cmp_ngt_f32", scalar<compare<gt, true>>},
    {"s_cmp_nle_f32", scalar<compare<le, true>>},
    {"s_cmp_neq_f32", scalar<compare<eq, true>>},
    {"s_cmp_nlt_f32", scalar<compare<lt, true>>},
    {"s_round_mode", set_mode_field<0>},
    {"s_denorm_mode", set_mode_field<4>},
    {"s_barrier_signal", s_barrier_signal},
    {"s_barrier_wait", s_barrier_wait},
    {"s_sendmsg gfx11", s_sendmsg},
    {"s_clause", nothing},
    {"s_delay_alu", nothing},
    {"s_set_inst_prefetch_distance", nothing},
    {"s_waitcnt_depctr", nothing},
    {"s_wait_alu", nothing},
    {"s_waitcnt_vscnt", nothing},
    {"s_waitcnt_vmcnt", nothing},
    {"s_waitcnt_expcnt", nothing},
    {"s_waitcnt_lgkmcnt", nothing},
    {"s_wait_idle", nothing},
    {"s_wait_loadcnt", nothing},
    {"s_wait_storecnt", nothing},
    {"s_wait_samplecnt", nothing},
    {"s_wait_bvhcnt", nothing},
    {"s_wait_expcnt", nothing},
    {"s_wait_dscnt", nothing},
    {"s_wait_kmcnt", nothing},
    {"s_wait_loadcnt_dscnt", nothing},
    {"s_wait_storecnt_dscnt", nothing},
    {"buffer_gl0_inv", nothing},
    {"buffer_gl1_inv", nothing},
    {"global_inv", nothing},
    {"global_wb", nothing},
    {"global_wbinv", nothing},
};

}  // namespace

std::span<const Body> scalar_gfx11_bodies() { return kBodies; }

}  // namespace wave::emulator
