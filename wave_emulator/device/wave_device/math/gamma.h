// The gamma function and its logarithm. Those of f32 are those of f64, rounded.
#pragma once

#include "wave_device/math/circular.h"
#include "wave_device/math/exponential.h"
#include "wave_device/math/logarithm.h"

namespace wave_device {

/// log(gamma(2 + u)) for |u| <= 1/2.
__device__ __forceinline__ Two log_gamma_near_two(double u) {
  return (Two{kGammaSlopeHigh, kGammaSlopeLow} + two_product(u, gamma_tail(u))) * u;
}
/// log(gamma(x)) for 10 <= x < 2^60: Stirling's formula.
__device__ __forceinline__ Two log_gamma_far(double x) {
  WAVE_EXACT
  const double inverse = 1.0 / x;
  const Two main = two_sum(x, -0.5) * log_of(x) + -x;
  return main + Two{kLogRootTwoPiHigh, kLogRootTwoPiLow} + inverse * stirling(inverse * inverse);
}
/// Gamma(x) / gamma(2 + u), u = x - rint(x), for |x| <= 10: a product, or one over a product.
struct Shift {
  Two product;
  bool is_inverse;
};
__device__ __forceinline__ Shift shift_to_two(double u, int n) {
  Two product = {1.0, 0.0};
  for (int i = 0; i < n; ++i) product = product * two_sum(2.0 + i, u);
  for (int i = -1; i >= n; --i) product = product * two_sum(2.0 + i, u);
  return {product, n < 0};
}
/// sin(pi x) for a number that is no integer.
__device__ __forceinline__ Two sine_of_half_turns(double x) { return sine_cosine_of(quarter_of_half_turns(x)).sine; }

}  // namespace wave_device

__device__ __forceinline__ double tgamma(double x) {
  WAVE_EXACT
  using namespace wave_device;
  if (x != x || x == kInfinity) return x;
  if (fabs(x) < 0x1p-54) return 1.0 / x;
  const double nearest = rint(x), u = x - nearest;
  if (x < 0.0 && u == 0.0) return nan_of(x);
  if (fabs(x) < 10.0) {
    const Scaled e = exp_of(log_gamma_near_two(u));
    const Shift shift = shift_to_two(u, static_cast<int>(nearest) - 2);
    return value_of(Scaled{shift.is_inverse ? e.value / shift.product : e.value * shift.product, e.exponent});
  }
  const double a = fmin(fabs(x), 200.0);
  const Two log = log_gamma_far(a);
  if (x > 0.0) return value_of(exp_of(log));
  // By reflection: -pi / (a sin(pi a) gamma(a)) for x = -a.
  const Scaled e = exp_of(-log);
  const Two below = sine_of_half_turns(-x) * a;
  return -value_of(Scaled{e.value * Two{kPiHigh, kPiLow} / below, e.exponent});
}
__device__ __forceinline__ double lgamma(double x) {
  WAVE_EXACT
  using namespace wave_device;
  const double a = fabs(x);
  if (!(a < kInfinity)) return x * x;
  const double nearest = rint(x), u = x - nearest;
  if (x <= 0.0 && u == 0.0) return infinity_of(x);
  if (a < 0x1p-54) return -log(a);
  if (a < 10.0) {
    const Two near = log_gamma_near_two(u);
    const int n = static_cast<int>(nearest) - 2;
    const Shift shift = shift_to_two(u, n);
    const Two log = log_of(shift.product.high < 0.0 ? -shift.product : shift.product);
    return n == 0 ? value_of(near) : value_of(shift.is_inverse ? near - log : near + log);
  }
  if (a >= 0x1p60) return x < 0.0 ? kInfinity : x * (log(x) - 1.0);
  const Two far = log_gamma_far(a);
  if (x > 0.0) return value_of(far);
  const Two sine = sine_of_half_turns(a);
  return value_of(log_of(Two{kPiHigh, kPiLow} / ((sine.high < 0.0 ? -sine : sine) * a)) - far);
}
__device__ __forceinline__ float tgammaf(float x) { return static_cast<float>(tgamma(static_cast<double>(x))); }
__device__ __forceinline__ float lgammaf(float x) { return static_cast<float>(lgamma(static_cast<double>(x))); }
