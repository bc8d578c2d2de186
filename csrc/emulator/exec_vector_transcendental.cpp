// Exponentials, logarithms, reciprocals, roots, sine and cosine (ISA document, "V_EXP_F32" and its siblings). The
// hardware approximates to 1 ULP; here results are computed in f64 and rounded to nearest, whatever MODE says. The f32
// forms know no denormals, but for sine and cosine: a denormal operand counts as zero, a denormal result becomes zero.
// Of f16 FP16_OVFL makes the largest number of an infinity whose operand is finite. AMD measured all this on a gfx1100
// and a gfx1201 (ROCm/rocm-systems, emulation/rocjitsu, tests/valu_fp_mode_test.cpp).
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include "emulator/bodies.h"
#include "emulator/vector.h"

#define WAVE_SOURCE "emulator/exec_vector_transcendental.cpp"
#include "emulator/each_simd_level.h"
#include "emulator/vector.inl"

namespace wave::emulator::WAVE_SIMD {

namespace {

constexpr f64 kInfinity = std::numeric_limits<f64>::infinity();
constexpr f64 kNan = std::numeric_limits<f64>::quiet_NaN();

// Loops over lanes are for vectors only if what they call is inlined.
#define WAVE_INLINE inline __attribute__((always_inline))

/// The sum of factors[k] x^k, in two halves, which hosts compute beside each other.
template <size_t kCount>
WAVE_INLINE f64 polynomial(const f64 (&factors)[kCount], f64 x) {
  static_assert(kCount % 2 == 0);
  const f64 square = x * x;
  f64 even = factors[kCount - 2], odd = factors[kCount - 1];
  for (size_t k = kCount - 2; k != 0; k -= 2) {
    even = even * square + factors[k - 2];
    odd = odd * square + factors[k - 1];
  }
  return even + odd * x;
}

/// 2^x to 50 bits: the whole part goes to the exponent, the rest through the series of e^(x ln 2).
WAVE_INLINE f64 exp2(f64 x) {
  const f64 limited = x < -400.0 ? -400.0 : x > 400.0 ? 400.0 : x;
  constexpr f64 kShifter = 0x1.8p52;
  const f64 shifted = limited + kShifter;
  const f64 rest = (limited - (shifted - kShifter)) * 0.69314718055994530942;
  constexpr f64 kInverseFactorials[] = {
      1.0,        1.0,         1.0 / 2,      1.0 / 6,       1.0 / 24,       1.0 / 120,       1.0 / 720,
      1.0 / 5040, 1.0 / 40320, 1.0 / 362880, 1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800.0};
  const f64 sum = polynomial(kInverseFactorials, rest);
  const f64 scale = __builtin_bit_cast(f64, (__builtin_bit_cast(u64, shifted) + 1023) << 52);
  const f64 result = sum * scale;
  return x != x ? x : x > 400.0 ? kInfinity : x < -400.0 ? 0.0 : result;
}

/// log2(x) to 50 bits for normal x: the exponent, and the series of the inverse hyperbolic tangent for the significand
/// in [sqrt(1/2), sqrt(2)).
WAVE_INLINE f64 log2(f64 x) {
  const u64 bits = __builtin_bit_cast(u64, x);
  constexpr u64 kRootHalf = 0x3fe6a09e667f3bcdu;
  const u64 offset = bits - kRootHalf;
  const f64 exponent = static_cast<f64>(static_cast<i32>(static_cast<i64>(offset) >> 52));
  const f64 m = __builtin_bit_cast(f64, (offset & 0xfffffffffffffu) + kRootHalf);
  const f64 t = (m - 1) / (m + 1), square = t * t;
  constexpr f64 kInverses[] = {1.0,      1.0 / 3,  1.0 / 5,  1.0 / 7,  1.0 / 9,  1.0 / 11,
                               1.0 / 13, 1.0 / 15, 1.0 / 17, 1.0 / 19, 1.0 / 21, 1.0 / 23};
  const f64 result = exponent + t * polynomial(kInverses, square) * (2 / 0.69314718055994530942);
  return x == 0 ? -kInfinity : !(x > 0) ? kNan : x == kInfinity ? x : x == 1 ? 0 : result;
}

f64 reciprocal(f64 x) { return 1 / x; }
f64 root(f64 x) { return __builtin_sqrt(x); }
f64 reciprocal_root(f64 x) { return 1 / __builtin_sqrt(x); }

/// x revolutions as a part of one, in [-1/2, 1/2]: exact in every rounding mode.
WAVE_INLINE f64 turns(f64 x) {
  const f64 rest = x - __builtin_trunc(x);
  return std::abs(rest) > 0.5 ? rest - __builtin_copysign(1.0, rest) : rest;
}
/// sin(2 pi x) for x in [-1/2, 1/2] to 50 bits, by its series, with zeros where they belong.
WAVE_INLINE f64 sine_of_turns(f64 x) {
  const f64 mirrored = __builtin_copysign(0.5, x) - x;
  const f64 angle = (std::abs(x) > 0.25 ? mirrored : x) * 6.28318530717958647692;
  constexpr f64 kFactors[] = {1.0,
                              -1.0 / 6,
                              1.0 / 120,
                              -1.0 / 5040,
                              1.0 / 362880,
                              -1.0 / 39916800,
                              1.0 / 6227020800.0,
                              -1.0 / 1307674368000.0,
                              1.0 / 355687428096000.0,
                              -1.0 / 121645100408832000.0,
                              1.0 / 51090942171709440000.0,
                              -1.0 / 25852016738884976640000.0};
  return angle * polynomial(kFactors, angle * angle);
}
WAVE_INLINE f64 sine(f64 x) { return sine_of_turns(x == 0 ? x : turns(x)); }
WAVE_INLINE f64 cosine(f64 x) { return sine_of_turns(0.25 - std::abs(turns(x))); }

f64 without_denormal(f64 value) { return std::abs(value) < 0x1p-126 ? std::copysign(0.0, value) : value; }

template <f64 (*kFunction)(f64)>
WAVE_INLINE Approximation<f32, true> single(f32 a) {
  return {static_cast<f32>(without_denormal(kFunction(without_denormal(a))))};
}
template <f64 (*kFunction)(f64)>
Approximation<f32> periodic(f32 a) {
  return {static_cast<f32>(kFunction(a))};
}
/// Of a finite number the result is finite, so that it counts as too large and not as infinite.
template <f64 (*kFunction)(f64)>
Approximation<WideHalf> half(WideHalf a) {
  constexpr f64 kTooLarge = 0x1p100;
  const f64 value = kFunction(a.value);
  const bool is_too_large = std::abs(value) > kTooLarge && std::abs(a.value) != kInfinity;
  return {{blend<f64>(is_too_large, std::copysign(kTooLarge, value), value)}};
}
template <f64 (*kFunction)(f64)>
Approximation<f64> wide(f64 a) {
  return {kFunction(a)};
}

constexpr Body kBodies[] = {
    {"v_exp_f32", vector<single<exp2>>},
    {"v_exp_legacy_f32", vector<single<exp2>>},
    {"v_log_f32", vector<single<log2>>},
    {"v_log_legacy_f32", vector<single<log2>>},
    {"v_rcp_f32", vector<single<reciprocal>>},
    {"v_rcp_iflag_f32", vector<single<reciprocal>>},
    {"v_rsq_f32", vector<single<reciprocal_root>>},
    {"v_sqrt_f32", vector<single<root>>},
    {"v_sin_f32", vector<periodic<sine>>},
    {"v_cos_f32", vector<periodic<cosine>>},
    {"v_exp_f16", vector<half<exp2>>},
    {"v_log_f16", vector<half<log2>>},
    {"v_rcp_f16", vector<half<reciprocal>>},
    {"v_rsq_f16", vector<half<reciprocal_root>>},
    {"v_sqrt_f16", vector<half<root>>},
    {"v_sin_f16", vector<half<sine>>},
    {"v_cos_f16", vector<half<cosine>>},
    {"v_rcp_f64", vector<wide<reciprocal>>},
    {"v_rsq_f64", vector<wide<reciprocal_root>>},
    {"v_sqrt_f64", vector<wide<root>>},
};

}  // namespace

#undef WAVE_INLINE

std::span<const Body> vector_transcendental_bodies() { return kBodies; }

}  // namespace wave::emulator::WAVE_SIMD
