// Powers of e, 2 and 10, and hyperbolic functions. Those of f32 are computed in f64 and rounded once.
#pragma once

#include "wave_device/math/parts.h"
#include "wave_device/math/polynomials.h"

namespace wave_device {

// The largest numbers whose powers, or hyperbolic functions, are finite. What is beyond becomes an infinity at once:
// else an instruction would make one deep within, of another number.
constexpr double kLargestForExp = 0x1.62e42fefa39efp+9, kLargestForExp2 = 0x1.fffffffffffffp+9,
                 kLargestForExp10 = 0x1.34413509f79fep+8, kLargestForCosh = 0x1.633ce8fb9f87dp+9;
constexpr float kLargestForExpf = 0x1.62e42ep+6f, kLargestForExp2f = 0x1.fffffep+6f, kLargestForExp10f = 0x1.344134p+5f,
                kLargestForCoshf = 0x1.65a9f8p+6f;

/// value times 2^exponent.
struct Scaled {
  Two value;
  int exponent;
};
__device__ __forceinline__ double value_of(Scaled a) { return ldexp(value_of(a.value), a.exponent); }

/// x less the nearest multiple of log(2), exponent times that, in `value`.
__device__ __forceinline__ Scaled reduced(Two x) {
  WAVE_EXACT
  const double k = rint(x.high * kPerLog2High);
  const Two rest = two_sum(fma(-k, kLog2High, x.high), -k * kLog2Low);
  return {two_sum(rest.high, rest.low + x.low), static_cast<int>(k)};
}
/// exp(r) - 1 for |r| <= log(2) / 2.
__device__ __forceinline__ Two expm1_near_zero(Two r) {
  WAVE_EXACT
  const Two square = two_product(r.high, r.high);
  const Two sum = ordered_sum(r.high, 0.5 * square.high);
  const double tail = fma(r.high * square.high, exp_tail(r.high), 0.5 * square.low);
  return ordered_sum(sum.high, sum.low + (tail + fma(r.low, r.high, r.low)));
}
__device__ __forceinline__ Two one_plus(Two a) {
  WAVE_EXACT
  const Two sum = ordered_sum(1.0, a.high);
  return ordered_sum(sum.high, sum.low + a.low);
}
/// exp(x) for |x| <= 1100.
__device__ __forceinline__ Scaled exp_of(Two x) {
  const Scaled r = reduced(x);
  return {one_plus(expm1_near_zero(r.value)), r.exponent};
}
/// exp(x) - 1 for |x| <= 700.
__device__ __forceinline__ Two expm1_of(double x) {
  const Scaled r = reduced({x, 0.0});
  const Two e = expm1_near_zero(r.value);
  const double power = ldexp(1.0, r.exponent);
  return two_sum(power, -1.0) + Two{power * e.high, power * e.low};
}

/// exp(x) - 1 for |x| <= 1000, with the digits of f32 and some.
__device__ __forceinline__ double expm1_f32(double x) {
  const double k = rint(x * kPerLog2High), r = fma(-k, kNaturalOf2High, x);
  const double e = fma(r * r, exp_tail_f32(r), r), power = ldexp(1.0, static_cast<int>(k));
  return fma(power, e, power - 1.0);
}
/// exp(r) 2^k for |r| <= log(2) / 2.
__device__ __forceinline__ float exp_f32(double r, double k) {
  return static_cast<float>(ldexp(1.0 + fma(r * r, exp_tail_f32(r), r), static_cast<int>(k)));
}

}  // namespace wave_device

__device__ __forceinline__ double exp(double x) {
  using namespace wave_device;
  if (x > kLargestForExp) x = infinity_of(x);
  const double y = value_of(exp_of({within(-1100.0, x, kLargestForExp), 0.0}));
  return x <= kLargestForExp ? y : x;
}
__device__ __forceinline__ double exp2(double x) {
  WAVE_EXACT
  using namespace wave_device;
  if (x > kLargestForExp2) x = infinity_of(x);
  const double bounded = within(-1100.0, x, kLargestForExp2), k = rint(bounded);
  const Two r = Two{kNaturalOf2High, kNaturalOf2Low} * (bounded - k);
  const double y = value_of(Scaled{one_plus(expm1_near_zero(r)), static_cast<int>(k)});
  return x <= kLargestForExp2 ? y : x;
}
__device__ __forceinline__ double exp10(double x) {
  WAVE_EXACT
  using namespace wave_device;
  if (x > kLargestForExp10) x = infinity_of(x);
  const double bounded = within(-400.0, x, kLargestForExp10), k = rint(bounded * 3.3219280948873623);
  const Two r = two_sum(fma(-k, kLog10Of2High, bounded), -k * kLog10Of2Low) * Two{kLog10High, kLog10Low};
  const double y = value_of(Scaled{one_plus(expm1_near_zero(r)), static_cast<int>(k)});
  return x <= kLargestForExp10 ? y : x;
}
__device__ __forceinline__ double expm1(double x) {
  const double y = wave_device::value_of(wave_device::expm1_of(wave_device::within(x, 700.0)));
  return x != x || x == 0.0 ? x : x > 700.0 ? exp(x) : y;
}
__device__ __forceinline__ double sinh(double x) {
  WAVE_EXACT
  using namespace wave_device;
  if (fabs(x) > kLargestForCosh) x = copysign(infinity_of(x), x);
  const double a = fabs(x), limited = fmin(a, kLargestForCosh);
  const Two e = expm1_of(fmin(a, 22.0)), half = e + e / (e + 1.0);
  Scaled far = exp_of({limited, 0.0});
  --far.exponent;
  const double y = a < 22.0 ? 0.5 * value_of(half) : value_of(far);
  return a >= 0x1p-28 && a <= kLargestForCosh ? copysign(y, x) : x;
}
__device__ __forceinline__ double cosh(double x) {
  WAVE_EXACT
  using namespace wave_device;
  if (fabs(x) > kLargestForCosh) x = infinity_of(x);
  const double a = fabs(x);
  Scaled e = exp_of({fmin(a, kLargestForCosh), 0.0});
  --e.exponent;
  const double far = value_of(e);
  const Two half = {ldexp(e.value.high, e.exponent), ldexp(e.value.low, e.exponent)};
  const double y = a < 22.0 ? value_of(half + Two{0.25, 0.0} / half) : far;
  return a <= kLargestForCosh ? y : x;
}
__device__ __forceinline__ double tanh(double x) {
  using namespace wave_device;
  const double a = fabs(x);
  const Two e = expm1_of(2.0 * fmin(a, 22.0));
  const double y = value_of(e / (e + 2.0));
  return x != x || a < 0x1p-28 ? x : copysign(y, x);
}

__device__ __forceinline__ float expf(float x) {
  using namespace wave_device;
  if (x > kLargestForExpf) x = infinity_of(x);
  const double y = within(-1000.0, x, kLargestForExpf), k = rint(y * kPerLog2High);
  const float result = exp_f32(fma(-k, kNaturalOf2High, y), k);
  return x <= kLargestForExpf ? result : x;
}
__device__ __forceinline__ float exp2f(float x) {
  using namespace wave_device;
  if (x > kLargestForExp2f) x = infinity_of(x);
  const double y = within(-1000.0, x, kLargestForExp2f), k = rint(y);
  const float result = exp_f32((y - k) * kNaturalOf2High, k);
  return x <= kLargestForExp2f ? result : x;
}
__device__ __forceinline__ float exp10f(float x) {
  using namespace wave_device;
  if (x > kLargestForExp10f) x = infinity_of(x);
  const double y = within(-300.0, x, kLargestForExp10f), k = rint(y * 3.3219280948873623);
  const float result = exp_f32(fma(-k, kLog10Of2High + kLog10Of2Low, y) * kLog10High, k);
  return x <= kLargestForExp10f ? result : x;
}
__device__ __forceinline__ float expm1f(float x) {
  using namespace wave_device;
  if (x > kLargestForExpf) x = infinity_of(x);
  const float y = static_cast<float>(expm1_f32(within(-700.0, x, kLargestForExpf)));
  return x <= kLargestForExpf && x != 0.0f ? y : x;
}
__device__ __forceinline__ float sinhf(float x) {
  using namespace wave_device;
  if (fabsf(x) > kLargestForCoshf) x = copysignf(infinity_of(x), x);
  const double e = expm1_f32(fmin(fabs(static_cast<double>(x)), static_cast<double>(kLargestForCoshf)));
  return fabsf(x) <= kLargestForCoshf ? copysignf(static_cast<float>(0.5 * (e + e / (e + 1.0))), x) : x;
}
__device__ __forceinline__ float coshf(float x) {
  using namespace wave_device;
  if (fabsf(x) > kLargestForCoshf) x = infinity_of(x);
  const double e = expm1_f32(fmin(fabs(static_cast<double>(x)), static_cast<double>(kLargestForCoshf))) + 1.0;
  return fabsf(x) <= kLargestForCoshf ? static_cast<float>(0.5 * (e + 1.0 / e)) : x;
}
__device__ __forceinline__ float tanhf(float x) {
  const double e = wave_device::expm1_f32(fmin(fabs(2.0 * static_cast<double>(x)), 100.0));
  return x != x ? x : copysignf(static_cast<float>(e / (e + 2.0)), x);
}
