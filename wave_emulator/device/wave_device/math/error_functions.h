// The error function and what follows from it: the normal distribution, and inverses.
#pragma once

#include "wave_device/math/exponential.h"
#include "wave_device/math/logarithm.h"

namespace wave_device {

/// erf(x) for |x| <= 1.
__device__ __forceinline__ Two erf_near(double x) { return ordered_sum(x, x * erf_tail(x * x)); }
/// exp(x^2) erfc(x) for x >= 0, half of (1 + 2 x) times that over 1/2 + x.
__device__ __forceinline__ Two scaled_erfc(double x) {
  WAVE_EXACT
  const double bounded = fmin(x, 0x1p60);
  const Two t = two_sum(bounded, -4.0) / two_sum(bounded, 4.0);
  // The last step of the polynomial, with what it rounds off, and what t has beyond a double.
  const double rest = erfc_scaled_rest(t.high);
  const Two value = Two{kErfcMiddleHigh, kErfcMiddleLow} + two_product(t.high, rest) + t.low * rest;
  return Two{0.5 * value.high, 0.5 * value.low} / (x < 0x1p60 ? two_sum(x, 0.5) : Two{x, 0.0});
}
/// erfc(x) for x >= 1/2, where x is a sum.
__device__ __forceinline__ Scaled erfc_far(Two x) {
  WAVE_EXACT
  const double bounded = fmin(x.high, 32.0);
  const Two square = two_product(bounded, bounded) + 2.0 * bounded * x.low;
  const Scaled e = exp_of(-square);
  return {e.value * scaled_erfc(bounded), e.exponent};
}
__device__ __forceinline__ double erfc_of(Two x) {
  WAVE_EXACT
  const double a = fabs(x.high);
  if (a < 0.5) return value_of((-erf_near(x.high) + 1.0) + -x.low);
  const Scaled far = erfc_far(x.high < 0.0 ? -x : x);
  if (x.high > 0.0) return value_of(far);
  return value_of(-Two{ldexp(far.value.high, far.exponent), ldexp(far.value.low, far.exponent)} + 2.0);
}

/// The inverse of erfc at y, where 0 < y <= 1/2: Halley's steps, the last of which has the error of erfc.
__device__ __forceinline__ double erfc_inverse_far(double y) {
  WAVE_EXACT
  const double square = -log(y * (2.0 - y)), root = plain_root(square);
  double x = square > 3.0 ? root * erfcinv_start(1.0 / root) : (1.0 - y) * erfinv_start(square);
  for (int i = 0; i < 2; ++i) {
    const Scaled e = exp_of(two_product(x, x));
    // y exp(x^2): neither factor is always within range, their product is.
    const double product = ldexp(y * 0x1p300 * value_of(e.value), e.exponent - 300);
    const double step = (product - value_of(scaled_erfc(x))) * 0.88622692545275801;
    x -= step / fma(x, step, 1.0);
  }
  return x;
}
/// The inverse of erf at 0 <= x <= 1/2.
__device__ __forceinline__ double erf_inverse_near(double x) {
  WAVE_EXACT
  const double y = x * erfinv_start(-log1p(-x * x));
  const Two erf = erf_near(y);
  const double step = ((erf.high - x) + erf.low) * 0.88622692545275801 * exp(y * y);
  return y - step / fma(y, step, 1.0);
}

}  // namespace wave_device

__device__ __forceinline__ double erf(double x) {
  using namespace wave_device;
  const double a = fabs(x);
  if (a < 1.0) return value_of(erf_near(x));
  const double y = a < 6.0 ? 1.0 - value_of(erfc_far({fmin(a, 6.0), 0.0})) : 1.0;
  return x != x ? x : copysign(y, x);
}
__device__ __forceinline__ double erfc(double x) { return x != x ? x : wave_device::erfc_of({x, 0.0}); }
__device__ __forceinline__ double erfcx(double x) {
  WAVE_EXACT
  using namespace wave_device;
  if (x < -27.0) return infinity_of(x);
  const double near = value_of(scaled_erfc(fabs(x)));
  if (!(x < 0.0)) return x == kInfinity ? 0.0 : x != x ? x : near;
  return 2.0 * value_of(exp_of(two_product(x, x))) - near;
}
__device__ __forceinline__ double erfinv(double x) {
  using namespace wave_device;
  const double a = fabs(x);
  if (!(a < 1.0)) return a == 1.0 ? copysign(infinity_of(x), x) : a > 1.0 ? nan_of(x) : kNan;
  return copysign(a <= 0.5 ? erf_inverse_near(a) : erfc_inverse_far(1.0 - a), x);
}
__device__ __forceinline__ double erfcinv(double y) {
  using namespace wave_device;
  if (!(y > 0.0 && y < 2.0)) return y == 0.0 ? infinity_of(y) : y == 2.0 ? -infinity_of(y) : y == y ? nan_of(y) : kNan;
  if (y >= 0.5 && y <= 1.5) return copysign(erf_inverse_near(fabs(1.0 - y)), 1.0 - y);
  const double x = erfc_inverse_far(y < 1.0 ? y : 2.0 - y);
  return y < 1.0 ? x : -x;
}
__device__ __forceinline__ double normcdf(double x) {
  using namespace wave_device;
  const Two scaled = Two{kRootHalfHigh, kRootHalfLow} * -within(x, 64.0);
  return x != x ? x : 0.5 * erfc_of(scaled);
}
__device__ __forceinline__ double normcdfinv(double y) {
  if (y <= 0.0) return wave_device::at_or_below(0.0, y);
  if (y >= 1.0) return y == 1.0 ? wave_device::infinity_of(y) : wave_device::nan_of(y);
  return -1.4142135623730951 * erfcinv(2.0 * y);
}

__device__ __forceinline__ float erff(float x) {
  WAVE_EXACT
  using namespace wave_device;
  const double y = x, a = fmin(fabs(y), 4.0);
  const double near = copysign(a * erf_tail_f32(a * a), y), far = erf_far_f32(a - 2.5);
  return x != x ? x : static_cast<float>(a < 1.0 ? near : a < 4.0 ? copysign(far, y) : copysign(1.0, y));
}
__device__ __forceinline__ float erfcf(float x) { return static_cast<float>(erfc(static_cast<double>(x))); }
__device__ __forceinline__ float erfcxf(float x) { return static_cast<float>(erfcx(static_cast<double>(x))); }
__device__ __forceinline__ float erfinvf(float x) { return static_cast<float>(erfinv(static_cast<double>(x))); }
__device__ __forceinline__ float erfcinvf(float y) { return static_cast<float>(erfcinv(static_cast<double>(y))); }
__device__ __forceinline__ float normcdff(float x) { return static_cast<float>(normcdf(static_cast<double>(x))); }
__device__ __forceinline__ float normcdfinvf(float y) { return static_cast<float>(normcdfinv(static_cast<double>(y))); }
