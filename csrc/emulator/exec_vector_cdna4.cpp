// Vector instructions that CDNA4 brought (its ISA document, "VOP3 Instructions"), but for conversions of 32 values at a
// time, which are in exec_convert_scaled.cpp.
#include <limits>
#include <type_traits>
#include <utility>

#include "emulator/bodies.h"
#include "emulator/vector.h"

#define WAVE_SOURCE "emulator/exec_vector_cdna4.cpp"
#include "emulator/each_simd_level.h"
#include "emulator/extremum.inl"
#include "emulator/vector.inl"

namespace wave::emulator::WAVE_SIMD {

namespace {

/// The truth table, which stands for OP_SEL here, has a result for each combination of a bit of A (the highest of the
/// index), B and C.
template <class T>
T bitop3(T a, T b, T c, OpSel table) {
  u32 result = 0;
  for (u32 index = 0; index < 8; ++index) {
    const u32 chosen = 0u - (table.bits >> index & 1);
    result |= chosen & (index & 4 ? a : ~u32{a}) & (index & 2 ? b : ~u32{b}) & (index & 1 ? c : ~u32{c});
  }
  return static_cast<T>(result);
}

u32 v_prng_b32(u32 a) { return next_random(a); }

/// Two integers, shifted right and saturated to a byte each.
template <class T>
u32 v_ashr_pk(i32 a, i32 b, u32 shift) {
  constexpr i32 kLow = std::numeric_limits<T>::min(), kHigh = std::numeric_limits<T>::max();
  const auto byte = [&](i32 value) {
    const i32 shifted = value >> (shift & 31);
    return static_cast<u32>(shifted < kLow ? kLow : shifted > kHigh ? kHigh : shifted) & 0xffu;
  };
  return byte(a) | byte(b) << 8;
}

template <HalfBits (*kBody)(HalfBits, HalfBits)>
Pair16<HalfBits> packed3(Pair16<HalfBits> a, Pair16<HalfBits> b, Pair16<HalfBits> c) {
  return {kBody(kBody(a.low, b.low), c.low), kBody(kBody(a.high, b.high), c.high)};
}

f32 v_cvt_f32_bf16(u16 a) { return bf16_to_f32(a); }
Pair16<Half> v_cvt_pk_f16_f32(f32 a, f32 b) { return {{a}, {b}}; }
Pair16<u16> v_cvt_pk_bf16_f32(f32 a, f32 b) {
  return {static_cast<u16>(f32_to_bf16(a)), static_cast<u16>(f32_to_bf16(b))};
}
/// Stochastic: the high bits of the second operand are added below the last place, and the rest is cut off.
u16 v_cvt_sr_f16_f32(f32 a, u32 seed, Mode mode) {
  return static_cast<u16>(OcpFloat<5, 10, TopCodes::InfinitiesAndNans>::from_f64_stochastic(a, seed, mode.fp16_ovfl()));
}
u16 v_cvt_sr_bf16_f32(f32 a, u32 seed) {
  const u32 bits = __builtin_bit_cast(u32, a), magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<u16>(bits >> 16 | 0x40u);
  return static_cast<u16>((magnitude == 0x7f800000u ? bits : bits + (seed >> 16)) >> 16);
}

// Conversions with a scale: 2^(e - 127) of the exponent of an f32. To a small float the value is divided by it first,
// and rounded once, whatever MODE says; from one it is multiplied.
u32 exponent(Float32Bits scale) { return scale.bits >> 23 & 0xff; }
f64 scaled_down(f32 value, Float32Bits scale) { return value / scale_of(exponent(scale)); }
f32 scaled_up(f32 value, Float32Bits scale) { return static_cast<f32>(value * scale_of(exponent(scale))); }

template <class Small>
u32 pack(f64 low, f64 high, Mode mode) {
  return Small::from_f64(low, mode.fp16_ovfl()) | Small::from_f64(high, mode.fp16_ovfl()) << Small::kBits;
}
template <class Small>
u32 v_cvt_scale_pk_f32(f32 a, f32 b, Float32Bits scale, Mode mode) {
  return pack<Small>(scaled_down(a, scale), scaled_down(b, scale), mode);
}
template <class Small>
u32 v_cvt_scale_pk_f16(Pair16<Half> a, Float32Bits scale, Mode mode) {
  return pack<Small>(a.low.value / scale_of(exponent(scale)), a.high.value / scale_of(exponent(scale)), mode);
}
template <class Small>
u32 v_cvt_scale_pk_bf16(Pair16<u16> a, Float32Bits scale, Mode mode) {
  return pack<Small>(scaled_down(bf16_to_f32(a.low), scale), scaled_down(bf16_to_f32(a.high), scale), mode);
}

template <class Small>
u32 v_cvt_scale_sr_f32(f32 a, u32 seed, Float32Bits scale, Mode mode) {
  return Small::from_f64_stochastic(scaled_down(a, scale), seed, mode.fp16_ovfl());
}
template <class Small>
u32 v_cvt_scale_sr_f16(Half a, u32 seed, Float32Bits scale, Mode mode) {
  return Small::from_f64_stochastic(a.value / scale_of(exponent(scale)), seed, mode.fp16_ovfl());
}
template <class Small>
u32 v_cvt_scale_sr_bf16(u16 a, u32 seed, Float32Bits scale, Mode mode) {
  return v_cvt_scale_sr_f32<Small>(bf16_to_f32(a), seed, scale, mode);
}

/// Two values of FP4: the second is rounded with the next random number (ISA document, "Small Floats: conversions").
u32 pack_stochastic_fp4(f64 low, f64 high, u32 seed) {
  return OcpFp4::from_f64_stochastic(low, seed, true) | OcpFp4::from_f64_stochastic(high, next_random(seed), true)
                                                            << OcpFp4::kBits;
}
u32 v_cvt_scale_sr_pk_fp4_f32(Float32x2 a, u32 seed, Float32Bits scale) {
  return pack_stochastic_fp4(scaled_down(a.low, scale), scaled_down(a.high, scale), seed);
}
u32 v_cvt_scale_sr_pk_fp4_f16(Pair16<Half> a, u32 seed, Float32Bits scale) {
  return pack_stochastic_fp4(a.low.value / scale_of(exponent(scale)), a.high.value / scale_of(exponent(scale)), seed);
}
u32 v_cvt_scale_sr_pk_fp4_bf16(Pair16<u16> a, u32 seed, Float32Bits scale) {
  return pack_stochastic_fp4(scaled_down(bf16_to_f32(a.low), scale), scaled_down(bf16_to_f32(a.high), scale), seed);
}

/// The value at `index` of those in a register.
template <class Small>
f32 value_at(u32 packed, u32 index) {
  return Small::to_f32(packed >> Small::kBits * index & ((1u << Small::kBits) - 1));
}

// OP_SEL says which byte of the source has the values: of two of FP8 which half.
template <class Small>
Float32x2 v_cvt_scale_pk_f32_small(u32 a, Float32Bits scale, OpSel select) {
  const u32 first = Small::kBits == 4 ? 2 * (select.bits & 3) : 2 * (select.bits & 1);
  return {scaled_up(value_at<Small>(a, first), scale), scaled_up(value_at<Small>(a, first + 1), scale)};
}
template <class Small>
Pair16<Half> v_cvt_scale_pk_f16_small(u32 a, Float32Bits scale, OpSel select) {
  const Float32x2 values = v_cvt_scale_pk_f32_small<Small>(a, scale, select);
  return {{values.low}, {values.high}};
}
template <class Small>
Pair16<u16> v_cvt_scale_pk_bf16_small(u32 a, Float32Bits scale, OpSel select) {
  const Float32x2 values = v_cvt_scale_pk_f32_small<Small>(a, scale, select);
  return v_cvt_pk_bf16_f32(values.low, values.high);
}
template <class Small>
f32 v_cvt_scale_f32_small(u32 a, Float32Bits scale, OpSel select) {
  return scaled_up(value_at<Small>(a, select.bits & 3), scale);
}
template <class Small>
Half v_cvt_scale_f16_small(u32 a, Float32Bits scale, OpSel select) {
  return {v_cvt_scale_f32_small<Small>(a, scale, select)};
}

constexpr Body kBodies[] = {
    {"v_bitop3_b16", vector<bitop3<u16>>},
    {"v_bitop3_b32", vector<bitop3<u32>>},
    {"v_prng_b32", vector<v_prng_b32>},
    {"v_ashr_pk_i8_i32", vector<v_ashr_pk<i8>>},
    {"v_ashr_pk_u8_i32", vector<v_ashr_pk<u8>>},
    {"v_pk_minimum3_f16", vector<packed3<minimum<HalfBits>>>},
    {"v_pk_maximum3_f16", vector<packed3<maximum<HalfBits>>>},
    {"v_cvt_f32_bf16", vector<v_cvt_f32_bf16>},
    {"v_cvt_pk_f16_f32", vector<v_cvt_pk_f16_f32>},
    {"v_cvt_pk_bf16_f32", vector<v_cvt_pk_bf16_f32>},
    {"v_cvt_sr_f16_f32", vector<v_cvt_sr_f16_f32>},
    {"v_cvt_sr_bf16_f32", vector<v_cvt_sr_bf16_f32>},
#define PACKED(name, Small)                                                       \
  {"v_cvt_scalef32_pk_" name "_f32", vector<v_cvt_scale_pk_f32<Small>>},          \
      {"v_cvt_scalef32_pk_" name "_f16", vector<v_cvt_scale_pk_f16<Small>>},      \
      {"v_cvt_scalef32_pk_" name "_bf16", vector<v_cvt_scale_pk_bf16<Small>>},    \
      {"v_cvt_scalef32_pk_f32_" name, vector<v_cvt_scale_pk_f32_small<Small>>},   \
      {"v_cvt_scalef32_pk_f16_" name, vector<v_cvt_scale_pk_f16_small<Small>>}, { \
    "v_cvt_scalef32_pk_bf16_" name, vector<v_cvt_scale_pk_bf16_small<Small>>      \
  }
    PACKED("fp8", OcpFp8),
    PACKED("bf8", OcpBf8),
    PACKED("fp4", OcpFp4),
#undef PACKED
#define SINGLE(name, Small)                                                    \
  {"v_cvt_scalef32_f32_" name, vector<v_cvt_scale_f32_small<Small>>},          \
      {"v_cvt_scalef32_f16_" name, vector<v_cvt_scale_f16_small<Small>>},      \
      {"v_cvt_scalef32_sr_" name "_f32", vector<v_cvt_scale_sr_f32<Small>>},   \
      {"v_cvt_scalef32_sr_" name "_f16", vector<v_cvt_scale_sr_f16<Small>>}, { \
    "v_cvt_scalef32_sr_" name "_bf16", vector<v_cvt_scale_sr_bf16<Small>>      \
  }
    SINGLE("fp8", OcpFp8),
    SINGLE("bf8", OcpBf8),
#undef SINGLE
    {"v_cvt_scalef32_sr_pk_fp4_f32", vector<v_cvt_scale_sr_pk_fp4_f32>},
    {"v_cvt_scalef32_sr_pk_fp4_f16", vector<v_cvt_scale_sr_pk_fp4_f16>},
    {"v_cvt_scalef32_sr_pk_fp4_bf16", vector<v_cvt_scale_sr_pk_fp4_bf16>},
};

}  // namespace

std::span<const Body> vector_cdna4_bodies() { return kBodies; }

}  // namespace wave::emulator::WAVE_SIMD
