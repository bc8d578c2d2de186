// Vector arithmetic that GFX11 and GFX12 added (RDNA3 and RDNA4 ISA documents).
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include "emulator/bodies.h"
#include "emulator/rdna_sums.h"
#include "emulator/vector.h"

#define WAVE_SOURCE "emulator/exec_vector_gfx11.cpp"
#include "emulator/each_simd_level.h"
#include "emulator/extremum.inl"
#include "emulator/vector.inl"

namespace wave::emulator::WAVE_SIMD {

namespace {

// Two minima or maxima in one: clamps.
template <class T>
T minmax(T a, T b, T c, Mode mode) {
  return max(min(a, b, mode), c, mode);
}
template <class T>
T maxmin(T a, T b, T c, Mode mode) {
  return min(max(a, b, mode), c, mode);
}
template <class T>
T minimum3(T a, T b, T c) {
  return minimum(minimum(a, b), c);
}
template <class T>
T maximum3(T a, T b, T c) {
  return maximum(maximum(a, b), c);
}
template <class T>
T minimummaximum(T a, T b, T c) {
  return maximum(minimum(a, b), c);
}
template <class T>
T maximumminimum(T a, T b, T c) {
  return minimum(maximum(a, b), c);
}
using PackedHalfBits = Pair16<HalfBits>;
PackedHalfBits v_pk_minimum_f16(PackedHalfBits a, PackedHalfBits b) {
  return {minimum(a.low, b.low), minimum(a.high, b.high)};
}
PackedHalfBits v_pk_maximum_f16(PackedHalfBits a, PackedHalfBits b) {
  return {maximum(a.low, b.low), maximum(a.high, b.high)};
}

/// A product that is the lowest number where the second factor is that, or less, or the third source is not positive.
f32 v_mullit_f32(f32 a, f32 b, f32 c) {
  constexpr f32 kLowest = std::numeric_limits<f32>::lowest();
  return b > kLowest && c > 0 ? a * b : kLowest;
}

// Halves of registers as integers.
u16 v_and_b16(u16 a, u16 b) { return a & b; }
u16 v_or_b16(u16 a, u16 b) { return a | b; }
u16 v_xor_b16(u16 a, u16 b) { return a ^ b; }
u16 v_not_b16(u16 a) { return static_cast<u16>(~a); }
u16 v_mov_b16(u16 a) { return a; }
Float16Bits v_cndmask_b16(Float16Bits a, Float16Bits b, bool choose) { return choose ? b : a; }
i32 v_cvt_i32_i16(i16 a) { return a; }
u32 v_cvt_u32_u16(u16 a) { return a; }

/// Towards zero, and to the nearest value that there is; a NaN becomes zero.
template <class T>
T to_integer(f32 value) {
  constexpr f32 kLow = std::numeric_limits<T>::min(), kHigh = std::numeric_limits<T>::max();
  const f32 limited = value < kLow ? kLow : value > kHigh ? kHigh : value;
  return static_cast<T>(static_cast<i32>(limited == limited ? limited : 0.0f));
}
template <class T>
Pair16<T> v_cvt_pk(f32 a, f32 b) {
  return {to_integer<T>(a), to_integer<T>(b)};
}

// Dot products. Of those that are fused multiply-adds in the order of the document's sums it is unverified where
// hardware rounds.
WideHalf v_dot2_f16_f16(Pair16<WideHalf> a, Pair16<WideHalf> b, WideHalf c) {
  const WideHalf first = {f16_to_f32(f64_to_f16(a.low.value * b.low.value + c.value, false))};
  return {a.high.value * b.high.value + first.value};
}
f32 bf16_dot(Pair16<u16> a, Pair16<u16> b, f32 c) {
  const f32 first = __builtin_fmaf(bf16_to_f32(a.low), bf16_to_f32(b.low), c);
  return __builtin_fmaf(bf16_to_f32(a.high), bf16_to_f32(b.high), first);
}
f32 v_dot2_f32_bf16(Pair16<u16> a, Pair16<u16> b, f32 c) { return bf16_dot(a, b, c); }
u16 v_dot2_bf16_bf16(Pair16<u16> a, Pair16<u16> b, u16 c) {
  return static_cast<u16>(f32_to_bf16(bf16_dot(a, b, bf16_to_f32(c))));
}

// Those whose sums are known (rdna_sums.h).

f32 dot(Pair16<HalfBits> a, Pair16<HalfBits> b, f32 c, bool saturates) {
  const f32 left[] = {f16_to_f32(a.low.bits), f16_to_f32(a.high.bits)};
  const f32 right[] = {f16_to_f32(b.low.bits), f16_to_f32(b.high.bits)};
  return add_like_rdna({true, -14, -14, SumType::F16}, left, right, 2, c, saturates);
}
f32 dot(Pair16<u16> a, Pair16<u16> b, f32 c) {
  const f32 left[] = {bf16_to_f32(a.low), bf16_to_f32(a.high)}, right[] = {bf16_to_f32(b.low), bf16_to_f32(b.high)};
  return add_like_rdna({true, -126, -126, SumType::Bf16}, left, right, 2, c, false);
}

/// Of a zero it is less than of anything else.
i64 exponent_of(f64 value) { return static_cast<i64>(__builtin_bit_cast(u64, value) >> 52 & 0x7ff) - 1023; }
u64 sign_of(f64 value) { return __builtin_bit_cast(u64, value) >> 63; }
i64 larger(i64 a, i64 b) { return a > b ? a : b; }

/// add_like_rdna() of kCount products and c in f32, without branches: all its terms are numbers that f64 holds, cut off
/// at a power of two. kLeastA and kLeastB are the least normal exponents of the factors' types.
template <bool kIsRdna4, int kLeastA, int kLeastB, bool kIsFloat8, int kCount>
u32 sum_like_rdna(const f32 (&a)[kCount], const f32 (&b)[kCount], f32 c) {
  constexpr int kLeast = -126, kGroup = kIsFloat8 ? kCount : 2;
  constexpr i64 kNone = -900;  // of a zero, and still the exponent of an f64, as are those of all differences
  f64 products[kCount], all = 0;
  i64 grids[kCount], grid_of_products = kNone, top = kNone;
  bool has_nan = false;
  for (int i = 0; i < kCount; ++i) {
    const bool flushes_factors = !kIsRdna4 && kLeastA == kLeast;
    const f64 x = flushes_factors ? without_denormal(a[i]) : a[i], y = flushes_factors ? without_denormal(b[i]) : b[i];
    products[i] = x * y;
    all += products[i];
    has_nan |= (x != x) | (y != y);
    const i64 grid = larger(exponent_of(x), kLeastA) + larger(exponent_of(y), kLeastB) - 24;
    grids[i] = products[i] == 0 ? kNone : grid;
    grid_of_products = larger(grid_of_products, grids[i]);
    top = larger(top, exponent_of(products[i]));
  }
  const f64 addend = kIsRdna4 ? c : without_denormal(c);
  const i64 top_of_c = exponent_of(addend);
  f64 total;
  i64 grid;
  if constexpr (kIsRdna4) {
    grid = larger(grid_of_products, larger(top_of_c, kLeast) - 26);
    const f64 units = addend * power_of_two(-grid);
    total = blend<f64>((std::abs(units) < 1) & (grid > kLeast), 0, __builtin_floor(units));
    for (int first = 0; first < kCount; first += kGroup) {
      i64 own = kNone;
      for (int i = first; i < first + kGroup; ++i) own = larger(own, grids[i]);
      f64 sum = 0;
      for (int i = first; i < first + kGroup; ++i) sum += __builtin_floor(products[i] * power_of_two(-own));
      total += __builtin_floor(sum * power_of_two(larger(own - grid, kNone)));
    }
  } else {
    grid = larger(grid_of_products, larger(top, top_of_c) - 26);
    const f64 scale = power_of_two(-grid);
    total = __builtin_trunc(std::abs(addend) * scale);
    for (int i = 0; i < kCount; ++i) {
      const f64 units = __builtin_trunc(std::abs(products[i]) * scale);
      total += blend<f64>(sign_of(products[i]) == sign_of(addend), units, -units - 1);
    }
    const bool is_nothing = (top == kNone) & (addend == 0);
    total = blend<f64>(is_nothing, 0, blend<f64>(sign_of(addend) != 0, -total, total));
  }
  const f64 value = total * power_of_two(grid);
  // RDNA3 makes a zero of what is denormal when it has been rounded to as many bits as normal numbers have.
  const f64 smallest = kIsRdna4 ? 0 : 0x1p-126 * (1 - 0x1p-25);
  const f32 rounded = static_cast<f32>(blend<f64>(std::abs(value) < smallest, 0, value));
  u32 bits = blend(rounded == 0, 0u, __builtin_bit_cast(u32, rounded));

  // Infinities, then NaNs, those that count most last (rdna_sums.cpp, special()).
  constexpr u32 kNanOfFactors = nan_of_factors(SumType::F32), kQuiet = 0x400000;
  constexpr u32 kInvalid = kIsFloat8 ? kNanOfFactors : kNanOfInvalid;
  constexpr f64 kInfinity = std::numeric_limits<f64>::infinity();
  const f64 with_c = all + addend;
  bits = blend(std::abs(with_c) == kInfinity, with_c < 0 ? 0xff800000u : 0x7f800000u, bits);
  bits = blend(with_c != with_c, kInvalid, bits);
  bits = blend(c != c, __builtin_bit_cast(u32, c) | kQuiet, bits);
  bits = blend(all != all, kInvalid, bits);
  return blend(has_nan, kNanOfFactors, bits);
}

template <bool kIsRdna4>
Float32Bits v_dot2_f32_f16_rdna(Pair16<Half> a, Pair16<Half> b, Float32Bits c) {
  const f32 left[] = {a.low, a.high}, right[] = {b.low, b.high};
  return {sum_like_rdna<kIsRdna4, -14, -14, false>(left, right, __builtin_bit_cast(f32, c.bits))};
}
template <bool kIsRdna4>
Float32Bits v_dot2_f32_bf16_rdna(Pair16<u16> a, Pair16<u16> b, Float32Bits c) {
  const f32 left[] = {bf16_to_f32(a.low), bf16_to_f32(a.high)}, right[] = {bf16_to_f32(b.low), bf16_to_f32(b.high)};
  return {sum_like_rdna<kIsRdna4, -126, -126, false>(left, right, __builtin_bit_cast(f32, c.bits))};
}
HalfBits v_dot2_f16_f16_gfx12(Pair16<HalfBits> a, Pair16<HalfBits> b, HalfBits c, Mode mode) {
  return {f64_to_f16(dot(a, b, f16_to_f32(c.bits), mode.fp16_ovfl()))};
}
u16 v_dot2_bf16_bf16_gfx12(Pair16<u16> a, Pair16<u16> b, u16 c) {
  return static_cast<u16>(f32_to_bf16(dot(a, b, bf16_to_f32(c))));
}
template <class A, class B>
Float32Bits float8_dot(u32 a, u32 b, Float32Bits c) {
  f32 left[4], right[4];
  for (int i = 0; i < 4; ++i) left[i] = A::to_f32(a >> 8 * i & 0xff), right[i] = B::to_f32(b >> 8 * i & 0xff);
  return {sum_like_rdna<true, 1 - A::kBias, 1 - B::kBias, true>(left, right, __builtin_bit_cast(f32, c.bits))};
}

// Of integers, whose factors have signs or not each for itself.
template <int kBits, bool kSigned>
i64 element(u32 packed, int at) {
  const u32 up = packed << (32 - kBits - at);
  return kSigned ? i64{static_cast<i32>(up) >> (32 - kBits)} : i64{up >> (32 - kBits)};
}
template <int kBits, bool kFirstSigned, bool kSecondSigned>
i64 mixed_sum(u32 a, u32 b, i32 c) {
  i64 sum = c;
  for (int at = 0; at < 32; at += kBits)
    sum += element<kBits, kFirstSigned>(a, at) * element<kBits, kSecondSigned>(b, at);
  return sum;
}
template <int kBits, bool kFirstSigned, bool kSecondSigned>
u32 mixed_dot(u32 a, u32 b, i32 c) {
  return static_cast<u32>(mixed_sum<kBits, kFirstSigned, kSecondSigned>(a, b, c));
}
template <int kBits, bool kFirstSigned, bool kSecondSigned>
i32 mixed_dot_clamp(u32 a, u32 b, i32 c) {
  return saturated<i32>(mixed_sum<kBits, kFirstSigned, kSecondSigned>(a, b, c));
}

constexpr Body kBodies[] = {
#define EXTREMA(type, T)                                                                    \
  {"v_minmax_" type, vector<minmax<T>>}, {"v_maxmin_" type, vector<maxmin<T>>},             \
      {"v_minimum_" type, vector<minimum<T>>}, {"v_maximum_" type, vector<maximum<T>>},     \
      {"v_minimum3_" type, vector<minimum3<T>>}, {"v_maximum3_" type, vector<maximum3<T>>}, \
      {"v_minimummaximum_" type, vector<minimummaximum<T>>}, {                              \
    "v_maximumminimum_" type, vector<maximumminimum<T>>                                     \
  }
    EXTREMA("f32", f32),
    EXTREMA("f16", HalfBits),
#undef EXTREMA
    {"v_minimum_f64", vector<minimum<f64>>},
    {"v_maximum_f64", vector<maximum<f64>>},
    {"v_pk_minimum_f16", vector<v_pk_minimum_f16>},
    {"v_pk_maximum_f16", vector<v_pk_maximum_f16>},
    {"v_mullit_f32", vector<v_mullit_f32>},
    {"v_and_b16", vector<v_and_b16>},
    {"v_or_b16", vector<v_or_b16>},
    {"v_xor_b16", vector<v_xor_b16>},
    {"v_not_b16", vector<v_not_b16>},
    {"v_mov_b16", vector<v_mov_b16>},
    {"v_cndmask_b16", vector<v_cndmask_b16>},
    {"v_cvt_i32_i16", vector<v_cvt_i32_i16>},
    {"v_cvt_u32_u16", vector<v_cvt_u32_u16>},
    {"v_cvt_pk_i16_f32", vector<v_cvt_pk<i16>>},
    {"v_cvt_pk_u16_f32", vector<v_cvt_pk<u16>>},
    {"v_dot2_f16_f16", vector<v_dot2_f16_f16>},
    {"v_dot2_f32_bf16", vector<v_dot2_f32_bf16>},
    {"v_dot2_bf16_bf16", vector<v_dot2_bf16_bf16>},
    {"v_dot2_f32_f16_gfx11", vector<v_dot2_f32_f16_rdna<false>>},
    {"v_dot2_f32_f16_gfx12", vector<v_dot2_f32_f16_rdna<true>>},
    {"v_dot2_f32_bf16_gfx11", vector<v_dot2_f32_bf16_rdna<false>>},
    {"v_dot2_f32_bf16_gfx12", vector<v_dot2_f32_bf16_rdna<true>>},
    {"v_dot2_f16_f16_gfx12", vector<v_dot2_f16_f16_gfx12>},
    {"v_dot2_bf16_bf16_gfx12", vector<v_dot2_bf16_bf16_gfx12>},
    {"v_dot4_f32_fp8_fp8", vector<float8_dot<OcpFp8, OcpFp8>>},
    {"v_dot4_f32_fp8_bf8", vector<float8_dot<OcpFp8, OcpBf8>>},
    {"v_dot4_f32_bf8_fp8", vector<float8_dot<OcpBf8, OcpFp8>>},
    {"v_dot4_f32_bf8_bf8", vector<float8_dot<OcpBf8, OcpBf8>>},
#define DOTS(name, bits)                                                               \
  {name, vector<mixed_dot<bits, false, false>>, Variant::SignsNone},                   \
      {name, vector<mixed_dot<bits, true, false>>, Variant::SignsFirst},               \
      {name, vector<mixed_dot<bits, false, true>>, Variant::SignsSecond},              \
      {name, vector<mixed_dot<bits, true, true>>, Variant::SignsBoth},                 \
      {name, vector<mixed_dot_clamp<bits, false, false>>, Variant::SignsNoneClamp},    \
      {name, vector<mixed_dot_clamp<bits, true, false>>, Variant::SignsFirstClamp},    \
      {name, vector<mixed_dot_clamp<bits, false, true>>, Variant::SignsSecondClamp}, { \
    name, vector<mixed_dot_clamp<bits, true, true>>, Variant::SignsBothClamp           \
  }
    DOTS("v_dot4_i32_iu8", 8),
    DOTS("v_dot8_i32_iu4", 4),
#undef DOTS
};

}  // namespace

std::span<const Body> vector_gfx11_bodies() { return kBodies; }

}  // namespace wave::emulator::WAVE_SIMD
