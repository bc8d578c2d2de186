// Conversions from the small float formats to f32 and back. FP8 and BF8 are the FNUZ kinds of gfx942: no infinities,
// no -0, whose code 0x80 is the only NaN (ISA document, "Data Types").
#pragma once

#include "emulator/wave.h"

namespace wave::emulator {

[[gnu::always_inline]] inline f32 f16_to_f32(u32 half) {
  const u32 sign = (half & 0x8000u) << 16, exponent = half >> 10 & 31, mantissa = half & 0x3ffu;
  const f32 denormal = static_cast<f32>(static_cast<i32>(mantissa)) * 0x1p-24f;
  const u32 normal = (exponent == 31 ? 255u : exponent + 112u) << 23 | mantissa << 13;
  return __builtin_bit_cast(f32, sign | (exponent == 0 ? __builtin_bit_cast(u32, denormal) : normal));
}

[[gnu::always_inline]] inline f32 bf16_to_f32(u32 bits) { return __builtin_bit_cast(f32, bits << 16); }

/// Rounded as the host's rounding mode says; where `saturates`, a finite number that is too large becomes the largest
/// f16 whatever that mode (MODE.FP16_OVFL). Without branches, so that loops over lanes are vectorised. Sums, products
/// and fused multiply-adds of f16 in f64 need no second rounding.
[[gnu::always_inline]] inline u16 f64_to_f16(f64 value, bool saturates = false) {
  const u64 bits = __builtin_bit_cast(u64, value);
  const u64 sign = bits & 0x8000000000000000u, magnitude = bits ^ sign;
  // The last place of the result is 2^(e - 10), for exponents e from -14 on: adding and subtracting 1.5 * 2^(e + 42),
  // of the value's sign so that "towards zero" stays so, rounds there.
  const u64 exponent = magnitude >> 52;
  const u64 at_least = exponent > 1023 - 14 ? exponent : 1023 - 14;
  const f64 rounder = __builtin_bit_cast(f64, (at_least + 42) << 52 | 0x8000000000000u | sign);
  const f64 rounded = __builtin_bit_cast(f64, __builtin_bit_cast(u64, value + rounder - rounder) & ~(u64{1} << 63));
  // What is too large becomes infinity or the largest finite value, as the same rounding does in f64.
  const f64 overflow = saturates ? value : value * 0x1p1010;
  const bool is_infinite = (__builtin_bit_cast(u64, overflow) & ~(u64{1} << 63)) == 0x7ff0000000000000u;

  const u32 normal = static_cast<u32>(__builtin_bit_cast(u64, rounded) >> 42) - (1008u << 10);
  const u32 denormal = static_cast<u32>(static_cast<i32>(rounded < 0x1p-14 ? rounded * 0x1p24 : 0.0));
  u32 result = rounded < 0x1p-14 ? denormal : normal;
  if (rounded >= 65536.0) result = is_infinite ? 0x7c00u : 0x7bffu;
  if (magnitude > 0x7ff0000000000000u) result = 0x7e00u | static_cast<u32>(magnitude >> 42 & 0x3ffu);
  return static_cast<u16>(result | static_cast<u32>(sign >> 48));
}

[[gnu::always_inline]] inline u32 f32_to_bf16(f32 value) {
  const u32 bits = __builtin_bit_cast(u32, value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return bits >> 16 | 0x40u;
  return (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
}

/// An f32 with its mantissa truncated to 10 bits, as XF32 matrices take them. A NaN stays one.
[[gnu::always_inline]] inline f32 f32_to_xf32(u32 bits) {
  const bool nan = (bits & 0x7fffffffu) > 0x7f800000u;
  return __builtin_bit_cast(f32, nan ? bits : bits & ~0x1fffu);
}

/// A float of one byte: 1 sign bit, 7 - kMantissa exponent bits.
template <int kMantissa, int kBias>
struct Float8 {
  static constexpr int kExponentBias = kBias;

  [[gnu::always_inline]] static f32 to_f32(u32 byte) {
    const u32 magnitude = byte & 0x7fu;
    const f32 denormal = static_cast<f32>(static_cast<i32>(magnitude)) * power(1 - kBias - kMantissa);
    const u32 normal = (magnitude << kDropped) + ((127u - kBias) << 23);
    const u32 value = magnitude >> kMantissa == 0 ? __builtin_bit_cast(u32, denormal) : normal;
    return __builtin_bit_cast(f32, byte == kNan ? 0x7fc00000u : value | (byte & 0x80u) << 24);
  }

  /// To nearest even. What is too large becomes the largest value if `saturate`, else NaN; so do infinities.
  [[gnu::always_inline]] static u32 from_f32(f32 value, bool saturate) {
    const u32 bits = __builtin_bit_cast(u32, value), magnitude = limited(bits);
    // Adding and subtracting 2^(e + 23 - kMantissa) rounds to the last place of numbers with exponent e.
    const u32 exponent = magnitude >> 23, at_least = exponent > kLeastExponent ? exponent : kLeastExponent;
    const f32 rounder = __builtin_bit_cast(f32, (at_least + kDropped) << 23);
    const f32 rounded = __builtin_bit_cast(f32, magnitude) + rounder - rounder;
    const u32 normal = (__builtin_bit_cast(u32, rounded) >> kDropped) - kNormalOffset;
    const bool is_normal = __builtin_bit_cast(u32, rounded) >= kLeastExponent << 23;
    const f32 denormal = is_normal ? 0.0f : rounded * power(kBias - 1 + kMantissa);
    return finished(is_normal ? normal : static_cast<u32>(static_cast<i32>(denormal)), bits, saturate);
  }

  /// Likewise, but stochastic: the high bits of `seed` are added below the last place, and then the rest is cut off.
  [[gnu::always_inline]] static u32 from_f32_stochastic(f32 value, u32 seed, bool saturate) {
    const u32 bits = __builtin_bit_cast(u32, value), magnitude = limited(bits), noise = seed >> (32 - kDropped);
    const bool is_normal = magnitude >= kLeastExponent << 23;
    const f32 fixed = is_normal ? 0.0f : __builtin_bit_cast(f32, magnitude) * power(kBias - 1 + 23);
    const u32 normal = ((magnitude + noise) >> kDropped) - kNormalOffset;
    const u32 denormal = (static_cast<u32>(static_cast<i32>(fixed)) + noise) >> kDropped;
    return finished(is_normal ? normal : denormal, bits, saturate);
  }

 private:
  static constexpr u32 kNan = 0x80;
  static constexpr u32 kDropped = 23 - kMantissa;     ///< bits of f32's mantissa
  static constexpr u32 kLeastExponent = 128 - kBias;  ///< of normal numbers, as f32 has it
  static constexpr u32 kNormalOffset = (127u - kBias) << kMantissa;

  static constexpr f32 power(int exponent) { return __builtin_bit_cast(f32, static_cast<u32>(127 + exponent) << 23); }

  /// The magnitude, or 2^17 where it is larger, which is too large for both formats.
  static constexpr u32 limited(u32 bits) {
    const u32 magnitude = bits & 0x7fffffffu;
    return magnitude < 0x48000000u ? magnitude : 0x48000000u;
  }

  [[gnu::always_inline]] static u32 finished(u32 magnitude, u32 bits, bool saturate) {
    const bool finite = (bits & 0x7fffffffu) < 0x7f800000u;
    const u32 sign = bits >> 24 & 0x80u;
    const u32 code = magnitude == 0 ? 0 : magnitude | sign;  // there is no -0
    return magnitude <= 0x7f ? code : saturate && finite ? 0x7f | sign : kNan;
  }
};

using Fp8 = Float8<3, 8>;
using Bf8 = Float8<2, 16>;

}  // namespace wave::emulator
