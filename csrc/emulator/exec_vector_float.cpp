// Vector floating-point arithmetic (ISA document, "VOP1 Instructions" to "VOP3P Instructions").
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include "emulator/bodies.h"
#include "emulator/vector.h"

#define WAVE_SOURCE "emulator/exec_vector_float.cpp"
#include "emulator/each_simd_level.h"
#include "emulator/extremum.inl"
#include "emulator/vector.inl"

namespace wave::emulator::WAVE_SIMD {

namespace {

f32 fma(f32 a, f32 b, f32 c) { return __builtin_fmaf(a, b, c); }
f64 fma(f64 a, f64 b, f64 c) { return __builtin_fma(a, b, c); }

/// In f32 the product is exact, and the sum is rounded to odd, so that it can be rounded again, to f16 (Boldo and
/// Melquiond, "Emulation of FMA and Correctly Rounded Sums"): of the two f32 beside the exact sum the one whose last
/// bit is set. `rest` is how much that exceeds `sum` (Knuth's TwoSum), of which the sign alone counts, in any rounding
/// mode.
Half fma(Half a, Half b, Half c) {
  const f32 product = a.value * b.value, sum = product + c.value, of_c = sum - product;
  const f32 rest = (product - (sum - of_c)) + (c.value - of_c);
  const u32 bits = __builtin_bit_cast(u32, sum);
  const u32 is_even_beside = ((rest < 0) | (rest > 0)) & ~bits & 1u;
  const u32 toward_zero = (rest < 0) != (sum < 0);
  return {__builtin_bit_cast(f32, bits + is_even_beside - 2 * (is_even_beside & toward_zero))};
}

template <class T>
T from_double(f64 value) {
  if constexpr (std::is_same_v<T, Half>) {
    return {static_cast<f32>(value)};
  } else {
    return static_cast<T>(value);
  }
}

template <class T>
T add(T a, T b) {
  return {a + b};
}
template <class T>
T sub(T a, T b) {
  return {a - b};
}
template <class T>
T subrev(T a, T b) {
  return {b - a};
}
template <class T>
T mul(T a, T b) {
  return {a * b};
}
template <class T>
T fused(T a, T b, T c) {
  return fma(a, b, c);
}
f32 v_mul_legacy_f32(f32 a, f32 b) { return a == 0 || b == 0 ? 0 : a * b; }
/// It knows no denormals, whatever MODE says: so AMD measured it on a gfx1100 and a gfx1201 (ROCm/rocm-systems,
/// emulation/rocjitsu, tests/valu_fp_mode_test.cpp, "dx9_fma_cases").
f32 v_fma_legacy_f32(f32 a, f32 b, f32 c) {
  a = without_denormal(a), b = without_denormal(b), c = without_denormal(c);
  return without_denormal(a == 0 || b == 0 ? 0.0f + c : fma(a, b, c));
}

// Packed operands.
Float32x2 v_pk_add_f32(Float32x2 a, Float32x2 b) { return {a.low + b.low, a.high + b.high}; }
Float32x2 v_pk_mul_f32(Float32x2 a, Float32x2 b) { return {a.low * b.low, a.high * b.high}; }
Float32x2 v_pk_fma_f32(Float32x2 a, Float32x2 b, Float32x2 c) {
  return {fma(a.low, b.low, c.low), fma(a.high, b.high, c.high)};
}

using Halves = Pair16<Half>;
Halves v_pk_add_f16(Halves a, Halves b) { return {add(a.low, b.low), add(a.high, b.high)}; }
Halves v_pk_mul_f16(Halves a, Halves b) { return {mul(a.low, b.low), mul(a.high, b.high)}; }
Halves v_pk_fma_f16(Halves a, Halves b, Halves c) { return {fma(a.low, b.low, c.low), fma(a.high, b.high, c.high)}; }

using PackedHalfBits = Pair16<HalfBits>;
PackedHalfBits v_pk_min_f16(PackedHalfBits a, PackedHalfBits b, Mode mode) {
  return {min(a.low, b.low, mode), min(a.high, b.high, mode)};
}
PackedHalfBits v_pk_max_f16(PackedHalfBits a, PackedHalfBits b, Mode mode) {
  return {max(a.low, b.low, mode), max(a.high, b.high, mode)};
}
u32 v_pack_b32_f16(HalfBits a, HalfBits b) { return a.bits | u32{b.bits} << 16; }

f32 v_fma_mix_f32(MixedFloat a, MixedFloat b, MixedFloat c) { return fma(a.value, b.value, c.value); }
Half v_fma_mix_f16(MixedFloat a, MixedFloat b, MixedFloat c) { return {v_fma_mix_f32(a, b, c)}; }

// Rounding to integers, which keeps the sign: without an instruction for it a zero comes out of a subtraction.
template <class T>
T trunc(T a) {
  return from_double<T>(__builtin_copysign(__builtin_trunc(a), a));
}
template <class T>
T ceil(T a) {
  return from_double<T>(__builtin_copysign(__builtin_ceil(a), a));
}
template <class T>
T floor(T a) {
  return from_double<T>(__builtin_copysign(__builtin_floor(a), a));
}
template <class T>
T rndne(T a) {
  const f64 value = a, rounded = std::abs(value) < 0x1p53 ? round_to_even(value) : value;
  return from_double<T>(__builtin_copysign(rounded, value));
}
/// Less than 1, which compilers rely on. A zero has no sign, in whatever direction MODE rounds (ROCm/rocm-systems,
/// emulation/rocjitsu, fract.h, of a gfx1201).
template <class T>
T fract(T a, f64 below_one) {
  const f64 rest = std::abs(from_double<T>(a - __builtin_floor(a)));
  return from_double<T>(rest > below_one ? below_one : rest);
}
f32 v_fract_f32(f32 a) { return fract(a, 0x1.fffffep-1); }
f64 v_fract_f64(f64 a) { return fract(a, 0x1.fffffffffffffp-1); }
Half v_fract_f16(Half a) { return fract(a, 0x1.ffcp-1); }

// Exponent and significand: a = significand * 2^exponent with a significand in [0.5, 1), as frexp() of C.
int exponent_of(f64 value) {
  const u64 bits = __builtin_bit_cast(u64, value) & ~(u64{1} << 63);
  const bool is_denormal = bits < u64{1} << 52;
  const u64 normal = __builtin_bit_cast(u64, __builtin_bit_cast(f64, bits) * 0x1p54);
  const int exponent = is_denormal ? static_cast<int>(normal >> 52) - 54 : static_cast<int>(bits >> 52);
  return bits == 0 || bits >= u64{0x7ff} << 52 ? 0 : exponent - 1022;
}
template <class T>
i32 frexp_exp(T a) {
  return exponent_of(a);
}
i16 v_frexp_exp_i16_f16(Half a) { return static_cast<i16>(exponent_of(a)); }
template <class T>
T frexp_mant(T a) {
  const int exponent = exponent_of(a), half = exponent / 2;
  return from_double<T>(a * power_of_two(-half) * power_of_two(half - exponent));
}

int limited(int value, int limit) { return value < -limit ? -limit : value > limit ? limit : value; }
f32 v_ldexp_f32(f32 a, i32 exponent) { return static_cast<f32>(a * power_of_two(limited(exponent, 300))); }
WideHalf v_ldexp_f16(WideHalf a, i16 exponent) { return {a * power_of_two(limited(exponent, 100))}; }
/// Rounds once, where the result is denormal: before that a significand in [1, 2) is multiplied, as far as is exact.
f64 v_ldexp_f64(f64 a, i32 exponent) {
  const f64 normal = std::abs(a) < 0x1p-1022 ? a * 0x1p54 : a;
  const u64 bits = __builtin_bit_cast(u64, normal);
  const i64 own = static_cast<i64>(bits >> 52 & 0x7ff) - 1023 - (std::abs(a) < 0x1p-1022 ? 54 : 0);
  const f64 significand = __builtin_bit_cast(f64, (bits & ~(u64{0x7ff} << 52)) | u64{1023} << 52);
  const i64 wanted = own + limited(exponent, 5000), most = wanted > 1100 ? 1100 : wanted,
            to = most < -1200 ? -1200 : most;
  const i64 exact = to > 1000 ? 1000 : to < -1000 ? -1000 : to;
  const f64 result = significand * power_of_two(exact) * power_of_two(to - exact);
  return blend<f64>((a == 0) | !(std::abs(a) <= std::numeric_limits<f64>::max()), a * 1.0, result);
}

// Division: scaling, the last step of the quotient, and special cases. Where a quotient or a reciprocal would be
// denormal, which the approximation of a reciprocal flushes, numerator or denominator are scaled; VCC says which
// lanes V_DIV_FMAS must scale back.
template <class T>
struct Division;
template <>
struct Division<f32> {
  using Bits = u32;
  static constexpr int kMantissa = 23, kBias = 127, kFar = 96, kTiny = 24, kUnderflow = -150;
  static constexpr f32 kUp = 0x1p64f, kDown = 0x1p-64f, kSmallest = 0x1p-126f, kMin = 0x1p-149f, kMax = 0x1.fffffep127f;
};
template <>
struct Division<f64> {
  using Bits = u64;
  static constexpr int kMantissa = 52, kBias = 1023, kFar = 768, kTiny = 53, kUnderflow = -1075;
  static constexpr f64 kUp = 0x1p128, kDown = 0x1p-128, kSmallest = 0x1p-1022, kMin = 0x0.0000000000001p-1022,
                       kMax = 0x1.fffffffffffffp1023;
};

/// As wide as the float, so that vectors of the host hold as many of both.
template <class T>
auto biased_exponent(T value) {
  using D = Division<T>;
  using Signed = std::make_signed_t<typename D::Bits>;
  return static_cast<Signed>(__builtin_bit_cast(typename D::Bits, value) >> D::kMantissa & (2 * D::kBias + 1));
}
/// Exponents decide, where the documents speak of denormal quotients and reciprocals: so AMD measured it on a gfx1100
/// and a gfx1201, VCC of zeros included (ROCm/rocm-systems, emulation/rocjitsu, division.h).
template <class T>
Carry<T> div_scale(T value, T denominator, T numerator) {
  using D = Division<T>;
  const bool is_denominator = value == denominator, is_zero = (denominator == 0) | (numerator == 0);
  const auto below = biased_exponent(denominator), above = biased_exponent(numerator);
  const bool is_large = above - below >= D::kFar, is_small = below - above >= D::kFar;
  T scale = blend<T>(above <= D::kTiny, D::kUp, 1);
  scale = blend<T>(is_small, blend<T>(is_denominator, 1, D::kUp), scale);
  const bool has_tiny_reciprocal = below >= 2 * D::kBias - 1;
  scale = blend<T>(has_tiny_reciprocal, blend<T>(is_small & !is_denominator, 1, D::kDown), scale);
  scale = blend<T>(below == 0, D::kUp, scale);
  scale = blend<T>(is_large, blend<T>(is_denominator, D::kUp, 1), scale);
  return {blend<T>(is_zero, std::numeric_limits<T>::quiet_NaN(), value * scale), static_cast<u32>(is_large | is_small)};
}

/// What a * b + c exceeds `sum`, its rounded value, by: the sign of it at least (Boldo and Muller, "Exact and
/// Approximated Error of the FMA").
f64 fma_error(f64 a, f64 b, f64 c, f64 sum) {
  const f64 product = a * b, product_error = fma(a, b, -product);
  const auto add_error = [](f64 x, f64 y, f64 total) {
    const f64 part = total - x;
    return (x - (total - part)) + (y - part);
  };
  const f64 low = c + product_error, low_error = add_error(c, product_error, low);
  const f64 high = product + low, high_error = add_error(product, low, high);
  return ((high - sum) + high_error) + low_error;
}

// A denormal quotient is rounded once, or division would not be exact.
f32 scaled_sum(f32 a, f32 b, f32 c, f32 sum, f32 scale, Mode) {
  const f32 scaled = sum * scale;
  const f64 wide = fma(f64{a}, f64{b}, f64{c}) * scale;
  return std::abs(scaled) <= Division<f32>::kSmallest ? static_cast<f32>(wide) : scaled;
}
/// There is no wider type: where the rounded sum lies between two denormals, the sum's own error decides.
f64 scaled_sum(f64 a, f64 b, f64 c, f64 sum, f64 scale, Mode mode) {
  using D = Division<f64>;
  const f64 scaled = sum * scale, rest = sum - scaled / scale, error = fma_error(a, b, c, sum);
  const bool is_tie = std::abs(rest) == D::kMin / scale / 2;
  const f64 largest = mode.round16_64() == 0 ? D::kSmallest : -1;
  const bool is_denormal = (std::abs(scaled) <= largest) & (scale == D::kDown) & is_tie;
  const bool is_more = is_denormal & (rest > 0) & (error > 0), is_less = is_denormal & (rest < 0) & (error < 0);
  return blend<f64>(is_more, scaled + D::kMin, blend<f64>(is_less, scaled - D::kMin, scaled));
}

template <class T>
T div_fmas(T a, T b, T c, LaneVcc vcc, Mode mode) {
  using D = Division<T>;
  const T scale = biased_exponent(c) > D::kBias ? D::kUp : D::kDown;
  const T sum = fma(a, b, c);
  return blend<T>(vcc.bit, scaled_sum(a, b, c, sum, scale, mode), sum);
}

/// The quotient, or what a division of special values gives.
template <class T>
T div_fixup(T quotient, T denominator, T numerator) {
  using D = Division<T>;
  const T infinity = std::numeric_limits<T>::infinity();
  const T sign = std::copysign(T(1), denominator) * std::copysign(T(1), numerator);
  const T up = std::abs(denominator), over = std::abs(numerator);
  const bool is_far = biased_exponent(numerator) - biased_exponent(denominator) < D::kUnderflow;
  T result = std::abs(quotient);
  // A division that overflows, by far if it has met infinity minus infinity. With its sign, as MODE may round.
  result = blend<T>(!(result <= D::kMax), D::kMax * (sign * T(4)) * sign, result);
  result = blend<T>(is_far, D::kMin * (sign * T(0.25)) * sign, result);
  result = blend<T>((up == infinity) | (over == 0), 0, result);
  result = blend<T>((up == 0) | (over == infinity), infinity, result);
  const bool is_nan = (up != up) | (over != over) | ((up == 0) & (over == 0)) | ((up == infinity) & (over == infinity));
  return blend<T>(is_nan, std::numeric_limits<T>::quiet_NaN(), std::copysign(result, sign));
}
WideHalf v_div_fixup_f16(WideHalf quotient, WideHalf denominator, WideHalf numerator) {
  const f64 infinity = std::numeric_limits<f64>::infinity();
  const f64 up = std::abs(denominator.value), over = std::abs(numerator.value);
  // Too large a quotient, or a NaN, is one that overflows as MODE rounds.
  f64 result = blend<f64>(!(std::abs(quotient.value) <= 65504.0), 0x1p100, std::abs(quotient.value));
  result = blend<f64>((up == infinity) | (over == 0), 0, result);
  result = blend<f64>((up == 0) | (over == infinity), infinity, result);
  const bool is_nan = (up != up) | (over != over) | ((up == 0) & (over == 0)) | ((up == infinity) & (over == infinity));
  const f64 sign = std::copysign(1.0, denominator.value) * std::copysign(1.0, numerator.value);
  return {blend<f64>(is_nan, std::numeric_limits<f64>::quiet_NaN(), std::copysign(result, sign))};
}

constexpr Body kBodies[] = {
#define BODIES(type, T, form)                                                                                      \
  {"v_add_" type, form<add<T>>}, {"v_mul_" type, form<mul<T>>}, {"v_fma_" type, form<fused<T>>},                   \
      {"v_trunc_" type, vector<trunc<T>>}, {"v_ceil_" type, vector<ceil<T>>}, {"v_floor_" type, vector<floor<T>>}, \
      {"v_rndne_" type, vector<rndne<T>>}, {                                                                       \
    "v_frexp_mant_" type, vector<frexp_mant<T>>                                                                    \
  }
    BODIES("f32", f32, light),
    BODIES("f64", f64, modifiable),
    BODIES("f16", Half, modifiable),
#undef BODIES
#define EXTREMA(type, T, form)                                                                     \
  {"v_min_" type, form<min<T>>}, {"v_max_" type, form<max<T>>}, {"v_min3_" type, vector<min3<T>>}, \
      {"v_max3_" type, vector<max3<T>>}, {                                                         \
    "v_med3_" type, vector<med3<T>>                                                                \
  }
    EXTREMA("f32", f32, light),
    EXTREMA("f16", HalfBits, modifiable),
    {"v_min_f64", modifiable<min<f64>>},
    {"v_max_f64", modifiable<max<f64>>},
#undef EXTREMA
    {"v_sub_f32", light<sub<f32>>},
    {"v_subrev_f32", light<subrev<f32>>},
    {"v_sub_f16", modifiable<sub<Half>>},
    {"v_subrev_f16", modifiable<subrev<Half>>},
    {"v_mul_legacy_f32", vector<v_mul_legacy_f32>},
    {"v_fma_legacy_f32", vector<v_fma_legacy_f32>},
    {"v_fmac_f32", light<fused<f32>>},
    {"v_fmamk_f32", light<fused<f32>>},
    {"v_fmaak_f32", light<fused<f32>>},
    {"v_fmac_f64", modifiable<fused<f64>>},
    {"v_fmac_f16", modifiable<fused<Half>>},
    {"v_fmamk_f16", modifiable<fused<Half>>},
    {"v_fmaak_f16", modifiable<fused<Half>>},
    {"v_fma_legacy_f16", modifiable<fused<Half>>},
    {"v_pk_add_f32", light<v_pk_add_f32>},
    {"v_pk_mul_f32", light<v_pk_mul_f32>},
    {"v_pk_fma_f32", light<v_pk_fma_f32>},
    {"v_pk_add_f16", modifiable<v_pk_add_f16>},
    {"v_pk_mul_f16", modifiable<v_pk_mul_f16>},
    {"v_pk_fma_f16", modifiable<v_pk_fma_f16>},
    {"v_pk_fmac_f16", modifiable<v_pk_fma_f16>},
    {"v_pk_min_f16", modifiable<v_pk_min_f16>},
    {"v_pk_max_f16", modifiable<v_pk_max_f16>},
    {"v_pack_b32_f16", vector<v_pack_b32_f16>},
    {"v_fma_mix_f32", vector<v_fma_mix_f32>},
    {"v_fma_mixlo_f16", vector<v_fma_mix_f16>},
    {"v_fma_mixhi_f16", vector<v_fma_mix_f16>},
    {"v_fract_f32", vector<v_fract_f32>},
    {"v_fract_f64", vector<v_fract_f64>},
    {"v_fract_f16", vector<v_fract_f16>},
    {"v_frexp_exp_i32_f32", vector<frexp_exp<f32>>},
    {"v_frexp_exp_i32_f64", vector<frexp_exp<f64>>},
    {"v_frexp_exp_i16_f16", vector<v_frexp_exp_i16_f16>},
    {"v_ldexp_f32", vector<v_ldexp_f32>},
    {"v_ldexp_f64", vector<v_ldexp_f64>},
    {"v_ldexp_f16", vector<v_ldexp_f16>},
    {"v_div_scale_f32", vector<div_scale<f32>>},
    {"v_div_scale_f64", vector<div_scale<f64>>},
    {"v_div_fmas_f32", vector<div_fmas<f32>>},
    {"v_div_fmas_f64", vector<div_fmas<f64>>},
    {"v_div_fixup_f32", vector<div_fixup<f32>>},
    {"v_div_fixup_f64", vector<div_fixup<f64>>},
    {"v_div_fixup_f16", vector<v_div_fixup_f16>},
    {"v_div_fixup_legacy_f16", vector<v_div_fixup_f16>},
};

}  // namespace

std::span<const Body> vector_float_bodies() { return kBodies; }

}  // namespace wave::emulator::WAVE_SIMD
