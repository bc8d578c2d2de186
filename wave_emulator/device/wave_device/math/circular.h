// Sine, cosine and tangent, of any argument. Those of f32 are computed in f64 and rounded once.
#pragma once

#include "wave_device/math/parts.h"
#include "wave_device/math/polynomials.h"

namespace wave_device {

/// An angle as a number of right angles, modulo 4, and the rest, at most pi / 4 either way.
struct Quarter {
  unsigned quadrant;
  Two rest;
};

__device__ __forceinline__ Two half_pi_times(Two turns) { return turns * Two{kHalfPiHigh, kHalfPiLow}; }

/// Of x >= 2^28, by Payne's and Hanek's method: those bits of 2 / pi that make neither whole turns nor too little.
__device__ __forceinline__ Quarter quarter_far(double x) {
  using Wide = unsigned __int128;
  const unsigned long bits = bits_of(x);
  const int exponent = static_cast<int>(bits >> 52) - 1023 - 52;
  const unsigned long fraction = (bits & 0xfffffffffffff) | 0x10000000000000;
  // The first bit wanted has the weight 2 when multiplied by the fraction's last.
  const int first = exponent + 62, word = first / 64, shift = first % 64;
  unsigned long window[3];
  for (int i = 0; i < 3; ++i) {
    const Wide both = static_cast<Wide>(kTwoOverPi[word + i]) << 64 | kTwoOverPi[word + i + 1];
    window[i] = static_cast<unsigned long>(both << shift >> 64);
  }
  const Wide product = (static_cast<Wide>(fraction * window[0]) << 64) + static_cast<Wide>(fraction) * window[1] +
                       (static_cast<Wide>(fraction) * window[2] >> 64);
  const bool up = (product >> 125 & 1) != 0;
  Wide rest = up ? -(product << 2) : product << 2;
  // The rest is never below 2^-62: no double is so near to a multiple of pi / 2.
  const int zeros = __builtin_clzll(static_cast<unsigned long>(rest >> 64) | 1);
  rest <<= zeros;
  const double high = static_cast<double>(static_cast<unsigned long>(rest >> 75));
  const double low = static_cast<double>(static_cast<unsigned long>(rest >> 22 & 0x1fffffffffffff));
  const Two turns = {ldexp(high, -53 - zeros), ldexp(low, -106 - zeros)};
  return {static_cast<unsigned>(product >> 126) + up, half_pi_times(up ? -turns : turns)};
}
/// Of 0 <= x < 2^28: x times three doubles of 2 / pi.
__device__ __forceinline__ Quarter quarter_near(double x) {
  WAVE_EXACT
  const Two first = two_product(x, kPerHalfPiHigh), second = two_product(x, kPerHalfPiMiddle);
  const double k = rint(first.high);
  const Two sum = two_sum(first.low, second.high);
  const Two turns = two_sum(first.high - k, sum.high) + (sum.low + fma(x, kPerHalfPiLow, second.low));
  return {static_cast<unsigned>(k), k == 0.0 ? Two{x, 0.0} : half_pi_times(turns)};
}
__device__ __forceinline__ Quarter quarter_of(double x) { return x < 0x1p28 ? quarter_near(x) : quarter_far(x); }

/// With the digits of f32 and some.
__device__ __forceinline__ Quarter quarter_f32(double x) {
  if (x >= 0x1p28) return quarter_far(x);
  const double k = rint(x * kPerHalfPiHigh);
  return {static_cast<unsigned>(k), {fma(-k, kHalfPiLow, fma(-k, kHalfPiHigh, x)), 0.0}};
}
/// Of pi x, for x >= 0: at most 2^52, or its remainder by 2.
__device__ __forceinline__ Quarter quarter_of_half_turns(double x) {
  const double turns = 2.0 * (x < 0x1p52 ? x : x < 0x1p53 ? x - 0x1p52 : 0.0), k = rint(turns);
  return {static_cast<unsigned>(static_cast<unsigned long>(k)), half_pi_times({turns - k, 0.0})};
}

__device__ __forceinline__ Two sine_near(Two r) {
  WAVE_EXACT
  const double square = r.high * r.high;
  const double tail = fma(r.high * square, sin_tail(square), fma(-0.5 * square, r.low, r.low));
  return ordered_sum(r.high, tail);
}
__device__ __forceinline__ Two cosine_near(Two r) {
  WAVE_EXACT
  const Two square = two_product(r.high, r.high), first = ordered_sum(1.0, -0.5 * square.high);
  const double tail = fma(square.high * square.high, cos_tail(square.high), -fma(0.5, square.low, r.high * r.low));
  return ordered_sum(first.high, first.low + tail);
}
__device__ __forceinline__ double sine_near_f32(double r) {
  const double square = r * r;
  return fma(r * square, sin_tail_f32(square), r);
}
__device__ __forceinline__ double cosine_near_f32(double r) {
  const double square = r * r;
  return fma(square * square, cos_tail_f32(square), fma(-0.5, square, 1.0));
}

struct SineCosine {
  Two sine, cosine;
};
__device__ __forceinline__ Two negated_if(bool condition, Two a) { return condition ? -a : a; }
/// Of the angle itself.
__device__ __forceinline__ SineCosine turned(unsigned quadrant, Two sine, Two cosine) {
  const bool odd = (quadrant & 1) != 0;
  return {negated_if((quadrant & 2) != 0, odd ? cosine : sine),
          negated_if(((quadrant + 1) & 2) != 0, odd ? sine : cosine)};
}
__device__ __forceinline__ SineCosine sine_cosine_of(Quarter quarter) {
  return turned(quarter.quadrant, sine_near(quarter.rest), cosine_near(quarter.rest));
}
__device__ __forceinline__ SineCosine sine_cosine_f32(Quarter quarter) {
  const double rest = quarter.rest.high;
  return turned(quarter.quadrant, {sine_near_f32(rest), 0.0}, {cosine_near_f32(rest), 0.0});
}
/// A value at |x| as an odd function's at x; NaN for infinities and NaN.
template <class T>
__device__ __forceinline__ T odd_in(T x, double value) {
  const T result = static_cast<T>(value);
  return is_finite(x) ? (is_negative(x) ? -result : result) : x - x;
}
template <class T>
__device__ __forceinline__ T even_in(T x, double value) {
  return is_finite(x) ? static_cast<T>(value) : x - x;
}

}  // namespace wave_device

__device__ __forceinline__ void sincos(double x, double* sine, double* cosine) {
  using namespace wave_device;
  const SineCosine both = sine_cosine_of(quarter_of(fabs(x)));
  *sine = odd_in(x, value_of(both.sine)), *cosine = even_in(x, value_of(both.cosine));
}
__device__ __forceinline__ double sin(double x) {
  using namespace wave_device;
  return odd_in(x, value_of(sine_cosine_of(quarter_of(fabs(x))).sine));
}
__device__ __forceinline__ double cos(double x) {
  using namespace wave_device;
  return even_in(x, value_of(sine_cosine_of(quarter_of(fabs(x))).cosine));
}
__device__ __forceinline__ double tan(double x) {
  using namespace wave_device;
  const Quarter quarter = quarter_of(fabs(x));
  const Two sine = sine_near(quarter.rest), cosine = cosine_near(quarter.rest);
  const bool odd = (quarter.quadrant & 1) != 0;
  const double quotient = value_of((odd ? -cosine : sine) / (odd ? sine : cosine));
  return odd_in(x, fabs(x) < 0x1p-28 ? fabs(x) : quotient);
}
__device__ __forceinline__ void sincospi(double x, double* sine, double* cosine) {
  using namespace wave_device;
  const SineCosine both = sine_cosine_of(quarter_of_half_turns(fabs(x)));
  // Zeros have the sign of x, and that of the cosine is positive.
  const double value = value_of(both.sine);
  *sine = odd_in(x, value == 0.0 ? 0.0 : value), *cosine = even_in(x, value_of(both.cosine) + 0.0);
}
__device__ __forceinline__ double sinpi(double x) {
  double sine, cosine;
  sincospi(x, &sine, &cosine);
  return sine;
}
__device__ __forceinline__ double cospi(double x) {
  double sine, cosine;
  sincospi(x, &sine, &cosine);
  return cosine;
}

__device__ __forceinline__ void sincosf(float x, float* sine, float* cosine) {
  using namespace wave_device;
  const SineCosine both = sine_cosine_f32(quarter_f32(fabsf(x)));
  *sine = odd_in(x, both.sine.high), *cosine = even_in(x, both.cosine.high);
}
__device__ __forceinline__ float sinf(float x) {
  float sine, cosine;
  sincosf(x, &sine, &cosine);
  return sine;
}
__device__ __forceinline__ float cosf(float x) {
  float sine, cosine;
  sincosf(x, &sine, &cosine);
  return cosine;
}
__device__ __forceinline__ float tanf(float x) {
  using namespace wave_device;
  const SineCosine both = sine_cosine_f32(quarter_f32(fabsf(x)));
  return odd_in(x, both.sine.high / both.cosine.high);
}
__device__ __forceinline__ void sincospif(float x, float* sine, float* cosine) {
  using namespace wave_device;
  const SineCosine both = sine_cosine_f32(quarter_of_half_turns(fabsf(x)));
  *sine = odd_in(x, both.sine.high == 0.0 ? 0.0 : both.sine.high), *cosine = even_in(x, both.cosine.high + 0.0);
}
__device__ __forceinline__ float sinpif(float x) {
  float sine, cosine;
  sincospif(x, &sine, &cosine);
  return sine;
}
__device__ __forceinline__ float cospif(float x) {
  float sine, cosine;
  sincospif(x, &sine, &cosine);
  return cosine;
}
