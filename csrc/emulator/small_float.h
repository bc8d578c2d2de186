// Conversions from the small float formats to f32 and back. Fp8 and Bf8 are the FNUZ kinds of gfx942: no infinities, no
// -0, whose code 0x80 is the only NaN (ISA document, "Data Types"). gfx950 has OCP's: OcpFp8 and so on.
#pragma once

#include <type_traits>

#include "emulator/wave.h"

namespace wave::emulator {

/// `choose ? a : b` by masks: of several in a row compilers make branches, and no vectors.
template <class T>
[[gnu::always_inline]] inline T blend(bool choose, T a, T b) {
  using Bits = std::conditional_t<sizeof(T) == 8, u64, std::conditional_t<sizeof(T) == 4, u32, u16>>;
  const Bits mask = static_cast<Bits>(0 - u64{choose});
  return __builtin_bit_cast(
      T, static_cast<Bits>((__builtin_bit_cast(Bits, a) & mask) | (__builtin_bit_cast(Bits, b) & ~mask)));
}

inline constexpr int kF32MinExponent = -126;  ///< of a normal number

/// Of an exponent of normal numbers.
template <class Integer>
[[gnu::always_inline]] inline f64 power_of_two(Integer exponent) {
  return __builtin_bit_cast(f64, static_cast<u64>(exponent + 1023) << 52);
}

[[gnu::always_inline]] inline f32 f16_to_f32(u32 half) {
  const u32 sign = (half & 0x8000u) << 16, exponent = half >> 10 & 31, mantissa = half & 0x3ffu;
  const f32 denormal = static_cast<f32>(static_cast<i32>(mantissa)) * 0x1p-24f;
  const u32 normal = (exponent == 31 ? 255u : exponent + 112u) << 23 | mantissa << 13;
  return __builtin_bit_cast(f32, sign | (exponent == 0 ? __builtin_bit_cast(u32, denormal) : normal));
}

[[gnu::always_inline]] inline f32 bf16_to_f32(u32 bits) { return __builtin_bit_cast(f32, bits << 16); }

/// Rounded as the host's rounding mode says; where `saturates`, a finite number that is too large becomes the largest
/// f16 whatever that mode (MODE.FP16_OVFL). Without branches, so that loops over lanes are vectorised.
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

/// The same of an f32, of which a vector of the host has twice as many.
[[gnu::always_inline]] inline u16 f32_to_f16(f32 value, bool saturates = false) {
  const u32 bits = __builtin_bit_cast(u32, value);
  const u32 sign = bits & 0x80000000u, magnitude = bits ^ sign;
  const u32 exponent = magnitude >> 23;
  const u32 at_least = exponent > 127 - 14 ? exponent : 127 - 14;
  const u32 limited = at_least < 127 + 16 ? at_least : 127 + 16;  // f32 has no 1.5 * 2^(e + 13) for all e
  const f32 rounder = __builtin_bit_cast(f32, (limited + 13) << 23 | 0x400000u | sign);
  const f32 rounded = __builtin_bit_cast(f32, __builtin_bit_cast(u32, value + rounder - rounder) & 0x7fffffffu);
  const f32 overflow = saturates ? value : value * 0x1p120f;
  const bool is_infinite = (__builtin_bit_cast(u32, overflow) & 0x7fffffffu) == 0x7f800000u;

  const u32 normal = (__builtin_bit_cast(u32, rounded) >> 13) - (112u << 10);
  const u32 denormal = static_cast<u32>(static_cast<i32>(rounded < 0x1p-14f ? rounded * 0x1p24f : 0.0f));
  u32 result = rounded < 0x1p-14f ? denormal : normal;
  if (rounded >= 65536.0f) result = is_infinite ? 0x7c00u : 0x7bffu;
  if (magnitude > 0x7f800000u) result = 0x7e00u | (magnitude >> 13 & 0x3ffu);
  return static_cast<u16>(result | sign >> 16);
}

/// Towards zero to what f16 holds, as f32, whatever the host's rounding mode is: what is too large becomes the largest.
[[gnu::always_inline]] inline f32 cut_to_f16(f32 value) {
  const u32 bits = __builtin_bit_cast(u32, value), sign = bits & 0x80000000u, magnitude = bits ^ sign;
  const bool is_small = magnitude < 0x38800000u, is_large = magnitude >= 0x47800000u,
             is_finite = magnitude < 0x7f800000u;
  const f32 multiple = blend(is_small, __builtin_bit_cast(f32, magnitude), 0.0f) * 0x1p24f;  // of the least denormal
  const u32 denormal = __builtin_bit_cast(u32, static_cast<f32>(static_cast<i32>(multiple)) * 0x1p-24f);
  const u32 normal = blend(is_finite, blend(is_large, 0x477fe000u, magnitude & ~0x1fffu), magnitude);
  return __builtin_bit_cast(f32, blend(is_small, denormal, normal) | sign);
}

[[gnu::always_inline]] inline u32 f32_to_bf16(f32 value) {
  const u32 bits = __builtin_bit_cast(u32, value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return bits >> 16 | 0x40u;
  return (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
}

/// An f32 with its mantissa truncated to 10 bits, as XF32 matrices take them. A NaN that has no other bits becomes an
/// infinity, as users of MI300 report (triton-lang/triton #11783).
[[gnu::always_inline]] inline f32 f32_to_xf32(u32 bits) { return __builtin_bit_cast(f32, bits & ~0x1fffu); }

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

/// What the codes of the largest exponent are in a format of OCP's.
enum class TopCodes { Numbers, OneNan, InfinitiesAndNans };

/// A float of a sign, kExponent and kMantissa bits whose bias is IEEE's: the formats of OCP's "8-bit Floating Point
/// Specification" and "Microscaling Formats (MX) Specification" 1.0. Without branches on memory, so that tables can be
/// made of it.
template <int kExponent, int kMantissa, TopCodes kTop>
struct OcpFloat {
  static constexpr int kBits = 1 + kExponent + kMantissa, kBias = (1 << (kExponent - 1)) - 1;
  static constexpr u32 kSign = 1u << (kBits - 1), kMagnitude = kSign - 1;
  /// The codes of the largest number, of a NaN, and of infinity, without their sign.
  static constexpr u32 kMax = kTop == TopCodes::Numbers  ? kMagnitude
                              : kTop == TopCodes::OneNan ? kMagnitude - 1
                                                         : kMagnitude - (1u << kMantissa);
  static constexpr u32 kNan = kMagnitude;
  static constexpr u32 kOverflow = kTop == TopCodes::InfinitiesAndNans ? kMax + 1 : kNan;

  static constexpr f32 to_f32(u32 code) {
    const u32 magnitude = code & kMagnitude, exponent = magnitude >> kMantissa;
    const u32 mantissa = magnitude & ((1u << kMantissa) - 1), sign = (code & kSign) << (32 - kBits);
    if (kTop != TopCodes::Numbers && magnitude > kMax) {
      const bool is_infinity = kTop == TopCodes::InfinitiesAndNans && magnitude == kOverflow;
      return __builtin_bit_cast(f32, sign | (is_infinity ? 0x7f800000u : 0x7fc00000u));
    }
    const u32 significand = exponent == 0 ? mantissa : mantissa | 1u << kMantissa;
    const int power = static_cast<int>(exponent == 0 ? 1 : exponent) - kBias - kMantissa;
    const f32 scale = __builtin_bit_cast(f32, static_cast<u32>(127 + power) << 23);
    const f32 value = static_cast<f32>(static_cast<i32>(significand)) * scale;
    return __builtin_bit_cast(f32, __builtin_bit_cast(u32, value) | sign);
  }

  /// To nearest even. What is too large becomes the largest number if `saturates`, or where there is nothing else, and
  /// so do infinities; else infinity or, in a format without, a NaN. A NaN becomes the largest number where there is
  /// none.
  static u32 from_f64(f64 value, bool saturates) {
    return from_scaled(value, saturates, [](u64 fixed) {
      constexpr u64 kHalf = u64{1} << (kFraction - 1);
      const u64 whole = fixed >> kFraction, rest = fixed & (2 * kHalf - 1);
      return whole + (rest > kHalf || (rest == kHalf && (whole & 1) != 0));
    });
  }
  /// The same of an f32 in formats with a NaN, where the host rounds to nearest. Without branches.
  [[gnu::always_inline]] static u32 from_f32(f32 value, bool saturates) {
    static_assert(kTop != TopCodes::Numbers);
    constexpr u32 kDropped = 23 - kMantissa, kLeast = 128 - kBias, kTooLarge = (127 + kBias + 2) << 23;
    const u32 bits = __builtin_bit_cast(u32, value), magnitude = bits & 0x7fffffffu;
    const u32 limited = magnitude < kTooLarge ? magnitude : kTooLarge;
    // Adding and subtracting 2^(e + 23 - kMantissa) rounds to the last place of numbers with exponent e.
    const u32 exponent = limited >> 23, at_least = exponent > kLeast ? exponent : kLeast;
    const f32 rounder = __builtin_bit_cast(f32, (at_least + kDropped) << 23);
    const f32 rounded = __builtin_bit_cast(f32, limited) + rounder - rounder;
    const bool is_normal = __builtin_bit_cast(u32, rounded) >= kLeast << 23;
    const f32 units = is_normal ? 0.0f : rounded * __builtin_bit_cast(f32, (127u + kBias - 1 + kMantissa) << 23);
    const u32 normal = (__builtin_bit_cast(u32, rounded) >> kDropped) - ((127u - kBias) << kMantissa);
    const u32 code = is_normal ? normal : static_cast<u32>(static_cast<i32>(units));
    const u32 finite = code <= kMax ? code : saturates ? kMax : kOverflow;
    return (magnitude > 0x7f800000u ? kNan : finite) | bits >> 31 << (kBits - 1);
  }
  /// Likewise, but stochastic: the high bits of `seed` are added below the last place, of those that an f32 has, and
  /// then the rest is cut off.
  static u32 from_f64_stochastic(f64 value, u32 seed, bool saturates) {
    return from_scaled(value, saturates, [seed](u64 fixed) {
      constexpr int kDropped = 23 - kMantissa;
      return ((fixed >> (kFraction - kDropped)) + (seed >> (32 - kDropped))) >> kDropped;
    });
  }

 private:
  static constexpr int kFraction = 52 - kMantissa;  ///< bits of f64's mantissa beyond the format's

  /// `round` makes of a number of units of 2^-kFraction of the last place a number of units of the last place.
  template <class Round>
  static u32 from_scaled(f64 value, bool saturates, Round round) {
    const u64 bits = __builtin_bit_cast(u64, value), magnitude = bits & ~(u64{1} << 63);
    const u32 sign = static_cast<u32>(bits >> 63) << (kBits - 1);
    const bool is_finite = magnitude < 0x7ff0000000000000u, is_nan = magnitude > 0x7ff0000000000000u;
    const bool keeps_finite = kTop == TopCodes::Numbers || saturates;
    if (is_nan) return sign | (kTop == TopCodes::Numbers ? kMax : kNan);
    if (!is_finite) return sign | (keeps_finite ? kMax : kOverflow);
    constexpr int kLeast = 1 - kBias;
    const int own = static_cast<int>(magnitude >> 52) - 1023, exponent = own < kLeast ? kLeast : own;
    if (exponent > kBias + 2) return sign | (keeps_finite ? kMax : kOverflow);
    const u64 significand = (magnitude & ((u64{1} << 52) - 1)) | (magnitude >> 52 != 0 ? u64{1} << 52 : 0);
    const int down = exponent - own;  // the bits that a denormal loses are but a hint that it is inexact
    const u64 fixed = down == 0 ? significand : down > 60 ? significand != 0 : sticky_shift(significand, down);
    const u64 code = (static_cast<u64>(exponent - kLeast) << kMantissa) + round(fixed);
    return sign | (code <= kMax ? static_cast<u32>(code) : keeps_finite ? kMax : kOverflow);
  }
  static u64 sticky_shift(u64 value, int bits) {
    return value >> bits | ((value & ((u64{1} << bits) - 1)) != 0 ? 1u : 0u);
  }
};

using OcpFp8 = OcpFloat<4, 3, TopCodes::OneNan>;
using OcpBf8 = OcpFloat<5, 2, TopCodes::InfinitiesAndNans>;
using OcpFp6 = OcpFloat<2, 3, TopCodes::Numbers>;
using OcpBf6 = OcpFloat<3, 2, TopCodes::Numbers>;
using OcpFp4 = OcpFloat<2, 1, TopCodes::Numbers>;

/// A zero of its sign instead of a denormal.
inline f32 without_denormal(f32 value) {
  const u32 bits = __builtin_bit_cast(u32, value);
  return __builtin_bit_cast(f32, bits & ((bits & 0x7f800000u) == 0 ? 0x80000000u : ~0u));
}

/// What V_PRNG_B32 makes of a number: one step of a linear feedback shift register.
constexpr u32 next_random(u32 number) { return number << 1 ^ ((0u - (number >> 31)) & 197u); }

/// 2^(e - 127) of the exponent of an f32, which an E8M0 is; NaN for the largest.
inline f64 scale_of(u32 exponent) {
  return exponent == 255 ? __builtin_nan("") : __builtin_bit_cast(f64, u64{exponent + 1023 - 127} << 52);
}

}  // namespace wave::emulator
