// Remainders, which are exact. Those of f32 are those of f64.
#pragma once

#include "wave_device/math/parts.h"

namespace wave_device {

/// x - quotient y, about half of |y| at most either way, and the quotient modulo 2^32, for finite x >= 0 and y > 0.
struct Division {
  double rest;
  unsigned quotient;
};
__device__ __forceinline__ Division divide(double x, double y) {
  const int exponent = integer_exponent_of(y);
  Division result = {x, 0};
  bool going = x > 0.0;
  while (going) {
    const int distance = integer_exponent_of(result.rest) - exponent;
    // At most 52 bits of the quotient at a time, so that it and the rest are exact.
    const int shift = distance > 52 ? distance - 52 : 0;
    const double divisor = ldexp(y, shift), part = rint(result.rest / divisor);
    result.rest = fma(-part, divisor, result.rest);
    const unsigned bits = static_cast<unsigned>(static_cast<unsigned long>(static_cast<long>(part)));
    result.quotient += shift < 32 ? bits << shift : 0;
    going = shift > 0 && result.rest != 0.0;
  }
  return result;
}
__device__ __forceinline__ bool can_divide(double x, double y) { return is_finite(x) && y == y && y != 0.0; }

/// What is left where x cannot be divided by y.
__device__ __forceinline__ double undivided(double x, double y) {
  if (x != x || y != y) return x + y;
  return is_finite(x) ? nan_of(y) : kNan;
}

/// The rest of the smallest magnitude, and the quotient for it: half goes to the even one.
__device__ __forceinline__ Division divide_to_nearest(double x, double y) {
  Division result = divide(x, y);
  const double rest = result.rest;
  if (fabs(rest) > y - fabs(rest)) {
    result.rest = rest - copysign(y, rest);
    result.quotient += rest > 0.0 ? 1u : ~0u;
  }
  return result;
}
__device__ __forceinline__ double remainder_and_quotient(double x, double y, int* quotient) {
  *quotient = 0;
  if (!can_divide(x, y)) return undivided(x, y);
  if (fabs(y) == kInfinity) return x;
  const Division result = divide_to_nearest(fabs(x), fabs(y));
  const int bits = static_cast<int>(result.quotient & 0x7fffffff);
  *quotient = is_negative(x) != is_negative(y) ? -bits : bits;
  const double rest = is_negative(x) ? -result.rest : result.rest;
  return rest == 0.0 ? copysign(0.0, x) : rest;
}

}  // namespace wave_device

__device__ __forceinline__ double fmod(double x, double y) {
  using namespace wave_device;
  if (!can_divide(x, y)) return undivided(x, y);
  if (fabs(x) < fabs(y)) return x;
  const double rest = divide(fabs(x), fabs(y)).rest;
  return copysign(rest < 0.0 ? rest + fabs(y) : rest, x);
}
__device__ __forceinline__ double remquo(double x, double y, int* quotient) {
  return wave_device::remainder_and_quotient(x, y, quotient);
}
__device__ __forceinline__ double remainder(double x, double y) {
  int quotient;
  return wave_device::remainder_and_quotient(x, y, &quotient);
}
__device__ __forceinline__ float fmodf(float x, float y) {
  return static_cast<float>(fmod(static_cast<double>(x), static_cast<double>(y)));
}
__device__ __forceinline__ float remquof(float x, float y, int* quotient) {
  return static_cast<float>(remquo(static_cast<double>(x), static_cast<double>(y), quotient));
}
__device__ __forceinline__ float remainderf(float x, float y) {
  return static_cast<float>(remainder(static_cast<double>(x), static_cast<double>(y)));
}
