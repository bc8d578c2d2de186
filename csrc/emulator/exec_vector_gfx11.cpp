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

template <bool kIsRdna4, SumType kType>
f32 dot(Pair16<HalfBits> a, Pair16<HalfBits> b, f32 c, bool saturates) {
  const f32 left[] = {f16_to_f32(a.low.bits), f16_to_f32(a.high.bits)};
  const f32 right[] = {f16_to_f32(b.low.bits), f16_to_f32(b.high.bits)};
  return add_like_rdna({kIsRdna4, -14, -14, kType}, left, right, 2, c, saturates);
}
template <bool kIsRdna4, SumType kType>
f32 dot(Pair16<u16> a, Pair16<u16> b, f32 c, bool saturates) {
  const f32 left[] = {bf16_to_f32(a.low), bf16_to_f32(a.high)}, right[] = {bf16_to_f32(b.low), bf16_to_f32(b.high)};
  return add_like_rdna({kIsRdna4, -126, -126, kType}, left, right, 2, c, saturates);
}
/// v_dot2_f32_f16 and, of u16, v_dot2_f32_bf16.
template <bool kIsRdna4, class T>
Float32Bits v_dot2_f32(Pair16<T> a, Pair16<T> b, Float32Bits c) {
  return {__builtin_bit_cast(u32, dot<kIsRdna4, SumType::F32>(a, b, __builtin_bit_cast(f32, c.bits), false))};
}
HalfBits v_dot2_f16_f16_gfx12(Pair16<HalfBits> a, Pair16<HalfBits> b, HalfBits c, Mode mode) {
  return {f64_to_f16(dot<true, SumType::F16>(a, b, f16_to_f32(c.bits), mode.fp16_ovfl()))};
}
u16 v_dot2_bf16_bf16_gfx12(Pair16<u16> a, Pair16<u16> b, u16 c) {
  return static_cast<u16>(f32_to_bf16(dot<true, SumType::Bf16>(a, b, bf16_to_f32(c), false)));
}
template <class A, class B>
Float32Bits float8_dot(u32 a, u32 b, Float32Bits c) {
  f32 left[4], right[4];
  for (int i = 0; i < 4; ++i) left[i] = A::to_f32(a >> 8 * i & 0xff), right[i] = B::to_f32(b >> 8 * i & 0xff);
  constexpr RdnaSum kSum = {true, 1 - A::kBias, 1 - B::kBias, SumType::F32, true};
  return {__builtin_bit_cast(u32, add_like_rdna(kSum, left, right, 4, __builtin_bit_cast(f32, c.bits), false))};
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
    {"v_dot2_f32_f16_gfx11", vector<v_dot2_f32<false, HalfBits>>},
    {"v_dot2_f32_f16_gfx12", vector<v_dot2_f32<true, HalfBits>>},
    {"v_dot2_f32_bf16_gfx11", vector<v_dot2_f32<false, u16>>},
    {"v_dot2_f32_bf16_gfx12", vector<v_dot2_f32<true, u16>>},
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
