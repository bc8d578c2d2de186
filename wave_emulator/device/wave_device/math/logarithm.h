// Logarithms, and the inverse hyperbolic functions. Those of f32 are computed in f64 and rounded once.
#pragma once

#include "wave_device/math/parts.h"
#include "wave_device/math/polynomials.h"

namespace wave_device {

/// A positive finite number: fraction times 2^exponent, sqrt(1/2) <= fraction < sqrt(2).
__device__ __forceinline__ Binary<double> around_one(double x) {
  const bool small = x < 0x1p-1022;
  const unsigned long bits = bits_of(x * (small ? 0x1p54 : 1.0));
  const long exponent = static_cast<long>(bits - bits_of(kRootHalfHigh)) >> 52;
  return {of_bits<double>(bits - (static_cast<unsigned long>(exponent) << 52)),
          static_cast<int>(exponent) - (small ? 54 : 0)};
}
/// log(m) for sqrt(1/2) <= m < sqrt(2).
__device__ __forceinline__ Two log_near_one(double m) {
  WAVE_EXACT
  const Two s = Two{m - 1.0, 0.0} / two_sum(m, 1.0);
  const Two square = s * s;
  const Two two_thirds = {0x1.5555555555555p-1, 0x1.5555555555555p-55};
  const Two cubic = square * (two_thirds + square.high * log_tail(square.high));
  return s * 2.0 + s * cubic;
}
/// log(x) for a positive finite number.
__device__ __forceinline__ Two log_of(double x) {
  WAVE_EXACT
  const Binary<double> parts = around_one(x);
  const Two rest = log_near_one(parts.fraction);
  const Two sum = two_sum(parts.exponent * kLog2High, rest.high);
  return ordered_sum(sum.high, sum.low + fma(parts.exponent, kLog2Low, rest.low));
}
__device__ __forceinline__ Two log_of(Two x) { return log_of(x.high) + x.low / x.high; }

/// log(m) for sqrt(1/2) <= m < sqrt(2), with the digits of f32 and many more.
__device__ __forceinline__ double log_near_one_f32(double m) {
  const double s = (m - 1.0) / (m + 1.0), z = s * s;
  return fma(s * z, log_tail_f32(z), 2.0 * s);
}
__device__ __forceinline__ double log_f32(double x) {
  const Binary<double> parts = around_one(x);
  return fma(parts.exponent, kNaturalOf2High, log_near_one_f32(parts.fraction));
}

/// A logarithm's value, or what it is where x is not a positive finite number.
__device__ __forceinline__ double checked_log(double x, double value) {
  if (x <= 0.0) x = at_or_below(0.0, x);
  return value_above(0.0, x, value);
}
/// asinh(a) for a >= 2^-28.
__device__ __forceinline__ double asinh_of(double a) {
  WAVE_EXACT
  const Two square = two_product(a, a);
  return a < 0x1p28 ? value_of(log_of(root_of(square + 1.0) + a))
                    : value_of(log_of(a) + Two{kNaturalOf2High, kNaturalOf2Low});
}

}  // namespace wave_device

__device__ __forceinline__ double log(double x) {
  return wave_device::checked_log(x, wave_device::value_of(wave_device::log_of(x)));
}
__device__ __forceinline__ double log2(double x) {
  using namespace wave_device;
  const Binary<double> parts = around_one(x);
  const Two rest = log_near_one(parts.fraction) * Two{kPerLog2High, kPerLog2Low};
  return checked_log(x, value_of(rest + static_cast<double>(parts.exponent)));
}
__device__ __forceinline__ double log10(double x) {
  using namespace wave_device;
  return checked_log(x, value_of(log_of(x) * Two{kPerLog10High, kPerLog10Low}));
}
__device__ __forceinline__ double log1p(double x) {
  using namespace wave_device;
  if (x <= -1.0) x = at_or_below(-1.0, x);
  const double y = value_of(log_of(two_sum(1.0, x)));
  return fabs(x) < 0x1p-54 ? x : value_above(-1.0, x, y);
}
__device__ __forceinline__ double asinh(double x) {
  const double a = fabs(x);
  const double y = a < 0x1p-28 ? fma(a * a, a * (-1.0 / 6.0), a) : wave_device::asinh_of(a);
  return a < wave_device::kInfinity ? copysign(y, x) : x;
}
__device__ __forceinline__ double acosh(double x) {
  WAVE_EXACT
  using namespace wave_device;
  if (x < 1.0) x = nan_of(x);
  if (!(x > 1.0 && x < kInfinity)) return x == 1.0 ? 0.0 : x > 1.0 ? x : kNan;
  if (x >= 0x1p28) return value_of(log_of(x) + Two{kNaturalOf2High, kNaturalOf2Low});
  return value_of(log_of(root_of(two_product(x, x) + -1.0) + x));
}
__device__ __forceinline__ double atanh(double x) {
  using namespace wave_device;
  const double a = fabs(x);
  if (!(a < 1.0)) return a == 1.0 ? copysign(infinity_of(x), x) : a > 1.0 ? nan_of(x) : kNan;
  const double y = 0.5 * value_of(log_of(two_sum(1.0, a) / two_sum(1.0, -a)));
  return copysign(a < 0x1p-28 ? fma(a * a, a * (1.0 / 3.0), a) : y, x);
}

__device__ __forceinline__ float logf(float x) {
  return static_cast<float>(wave_device::checked_log(x, wave_device::log_f32(x)));
}
__device__ __forceinline__ float log2f(float x) {
  using namespace wave_device;
  const Binary<double> parts = around_one(x);
  const double y = fma(log_near_one_f32(parts.fraction), kPerLog2High, static_cast<double>(parts.exponent));
  return static_cast<float>(checked_log(x, y));
}
__device__ __forceinline__ float log10f(float x) {
  return static_cast<float>(wave_device::checked_log(x, wave_device::log_f32(x) * wave_device::kPerLog10High));
}
__device__ __forceinline__ float log1pf(float x) {
  using namespace wave_device;
  if (x <= -1.0f) x = at_or_below(-1.0f, x);
  const double y = x, value = log_f32(1.0 + y);
  return fabsf(x) < 0x1p-20f ? static_cast<float>(fma(-0.5 * y, y, y))
                             : value_above(-1.0f, x, static_cast<float>(value));
}
__device__ __forceinline__ float asinhf(float x) {
  using namespace wave_device;
  const double a = fabs(static_cast<double>(x)), square = a * a;
  const double y =
      a < 0x1p-10 ? fma(square, a * (-1.0 / 6.0), a) : checked_log(a, log_f32(a + plain_root(square + 1.0)));
  return x != x ? x : copysignf(static_cast<float>(y), x);
}
__device__ __forceinline__ float acoshf(float x) {
  using namespace wave_device;
  if (x < 1.0f) x = nan_of(x);
  const double a = x;
  return static_cast<float>(checked_log(a, log_f32(a + plain_root(fma(a, a, -1.0)))));
}
__device__ __forceinline__ float atanhf(float x) {
  using namespace wave_device;
  const double a = fabs(static_cast<double>(x));
  if (!(a < 1.0)) return a == 1.0 ? copysignf(infinity_of(x), x) : a > 1.0 ? nan_of(x) : __builtin_nanf("");
  const double y = a < 0x1p-10 ? fma(a * a, a * (1.0 / 3.0), a) : 0.5 * log_f32((1.0 + a) / (1.0 - a));
  return copysignf(static_cast<float>(y), x);
}
