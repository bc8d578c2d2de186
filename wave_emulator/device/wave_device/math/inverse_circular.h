// Arc sine, arc cosine and arc tangent. Those of f32 are computed in f64 and rounded once.
#pragma once

#include "wave_device/math/parts.h"
#include "wave_device/math/polynomials.h"

namespace wave_device {

/// The angle of a point's direction, from its coordinates' magnitudes and signs; the sign of y is left to the caller.
__device__ __forceinline__ Two angle_of(double y, double x, bool x_is_negative) {
  WAVE_EXACT
  const bool steep = y > x;
  double low = steep ? x : y, high = steep ? y : x;
  low = high == kInfinity ? (low == kInfinity ? 1.0 : 0.0) : low;
  high = high == kInfinity || high == 0.0 ? 1.0 : high;
  // What the quotient rounds off must not be too small for a double.
  const int scale = high > 0x1p1000 ? -100 : low < 0x1p-900 && high < 0x1p900 ? 100 : 0;
  low = ldexp(low, scale), high = ldexp(high, scale);
  const bool far = low > 0.41421356237309503 * high;
  const Two above = far ? two_sum(low, -high) : Two{low, 0.0}, below = far ? two_sum(low, high) : Two{high, 0.0};
  const Two t = above / below;
  const double square = t.high * t.high;
  Two angle = ordered_sum(t.high, fma(t.high * square, atan_tail(square), t.low));
  if (far) angle = Two{0.5 * kHalfPiHigh, 0.5 * kHalfPiLow} + angle;
  if (steep) angle = Two{kHalfPiHigh, kHalfPiLow} - angle;
  if (x_is_negative) angle = Two{kPiHigh, kPiLow} - angle;
  return angle;
}
/// The same with the digits of f32 and some.
__device__ __forceinline__ double angle_f32(double y, double x, bool x_is_negative) {
  const bool steep = y > x;
  double low = steep ? x : y, high = steep ? y : x;
  low = high == kInfinity ? (low == kInfinity ? 1.0 : 0.0) : low;
  high = high == kInfinity || high == 0.0 ? 1.0 : high;
  const bool far = low > 0.41421356237309503 * high;
  const double t = (far ? low - high : low) / (far ? low + high : high), square = t * t;
  double angle = fma(t * square, atan_tail_f32(square), t);
  angle = far ? 0.5 * kHalfPiHigh + angle : angle;
  angle = steep ? kHalfPiHigh - angle : angle;
  return x_is_negative ? kPiHigh - angle : angle;
}

/// asin(a) for 0 <= a <= 1/2; above, `rest` of asin(a) = pi / 2 - 2 rest.
struct ArcSine {
  Two value;
  bool near;
};
__device__ __forceinline__ ArcSine arc_sine_of(double a) {
  WAVE_EXACT
  const bool near = a <= 0.5;
  const double square = near ? a * a : fma(-0.5, a, 0.5);
  const Two root = near || square == 0.0 ? Two{near ? a : 0.0, 0.0} : root_of({square, 0.0});
  return {ordered_sum(root.high, fma(root.high * square, asin_tail(square), root.low)), near};
}
struct ArcSineF32 {
  double value;
  bool near;
};
__device__ __forceinline__ ArcSineF32 arc_sine_f32(double a) {
  const bool near = a <= 0.5;
  const double square = near ? a * a : fma(-0.5, a, 0.5), root = near ? a : plain_root(square);
  return {fma(root * square, asin_tail_f32(square), root), near};
}

}  // namespace wave_device

__device__ __forceinline__ double atan2(double y, double x) {
  using namespace wave_device;
  const double angle = value_of(angle_of(fabs(y), fabs(x), is_negative(x)));
  return x != x || y != y ? x + y : copysign(angle, y);
}
__device__ __forceinline__ double atan(double x) {
  const double angle = wave_device::value_of(wave_device::angle_of(fabs(x), 1.0, false));
  return x != x ? x : copysign(angle, x);
}
__device__ __forceinline__ double asin(double x) {
  using namespace wave_device;
  if (fabs(x) > 1.0) x = nan_of(x);
  const ArcSine arc = arc_sine_of(fabs(x));
  const double angle = value_of(arc.near ? arc.value : Two{kHalfPiHigh, kHalfPiLow} - arc.value * 2.0);
  return fabs(x) <= 1.0 ? copysign(angle, x) : kNan;
}
__device__ __forceinline__ double acos(double x) {
  using namespace wave_device;
  if (fabs(x) > 1.0) x = nan_of(x);
  const ArcSine arc = arc_sine_of(fabs(x));
  const Two half_pi = {kHalfPiHigh, kHalfPiLow}, pi = {kPiHigh, kPiLow};
  const Two near = is_negative(x) ? half_pi + arc.value : half_pi - arc.value;
  const Two far = is_negative(x) ? pi - arc.value * 2.0 : arc.value * 2.0;
  return fabs(x) <= 1.0 ? value_of(arc.near ? near : far) : kNan;
}

__device__ __forceinline__ float atan2f(float y, float x) {
  const double angle = wave_device::angle_f32(fabsf(y), fabsf(x), wave_device::is_negative(x));
  return x != x || y != y ? x + y : copysignf(static_cast<float>(angle), y);
}
__device__ __forceinline__ float atanf(float x) {
  const double angle = wave_device::angle_f32(fabsf(x), 1.0, false);
  return x != x ? x : copysignf(static_cast<float>(angle), x);
}
__device__ __forceinline__ float asinf(float x) {
  using namespace wave_device;
  if (fabsf(x) > 1.0f) x = nan_of(x);
  const ArcSineF32 arc = arc_sine_f32(fabsf(x));
  const double angle = arc.near ? arc.value : fma(-2.0, arc.value, kHalfPiHigh);
  return fabsf(x) <= 1.0f ? copysignf(static_cast<float>(angle), x) : __builtin_nanf("");
}
__device__ __forceinline__ float acosf(float x) {
  using namespace wave_device;
  if (fabsf(x) > 1.0f) x = nan_of(x);
  const ArcSineF32 arc = arc_sine_f32(fabsf(x));
  const double signed_value = is_negative(x) ? -arc.value : arc.value;
  const double far = is_negative(x) ? fma(-2.0, arc.value, kPiHigh) : 2.0 * arc.value;
  return fabsf(x) <= 1.0f ? static_cast<float>(arc.near ? kHalfPiHigh - signed_value : far) : __builtin_nanf("");
}
