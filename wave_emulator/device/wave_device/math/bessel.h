// Bessel functions. Those of f32 are those of f64, rounded.
#pragma once

#include "wave_device/math/circular.h"
#include "wave_device/math/exponential.h"
#include "wave_device/math/logarithm.h"

namespace wave_device {

/// J0, J1, Y0 and Y1 at one argument.
struct Bessel {
  double j0, j1, y0, y1;
};

/// For 0 < x < 25: Miller's backward recurrence, its normalization, and Neumann's series (Abramowitz and Stegun 9.1.27,
/// 9.1.46, 9.1.88, 9.1.89).
__device__ __forceinline__ Bessel bessel_near(double x) {
  // With what the division rounds off: each step would add the same error.
  const double two_over_x = 2.0 / x, rest_of_it = fma(-two_over_x, x, 2.0) / x;
  // Even; the first value beyond is below 2^-60 of the sum.
  int k = x < 1.0 ? 18 : 40 + 2 * static_cast<int>(0.5 * x);
  double above = 0.0, value = 1.0, norm = 0.0, for_y0 = 0.0, for_y1 = 0.0;
  double sign = k % 4 == 0 ? 1.0 : -1.0;
  for (; k > 0; k -= 2) {
    // Here `value` is J_k, and `below` J_(k-1).
    const double below = fma(k * two_over_x, value, fma(k * rest_of_it, value, -above)), half = 0.5 * k;
    norm = fma(2.0, value, norm);
    for_y0 = fma(sign / half, value, for_y0);
    if (k > 2) for_y1 = fma(-sign * (k - 1.0) / ((half - 1.0) * half), below, for_y1);
    above = below;
    value = fma((k - 1.0) * two_over_x, below, fma((k - 1.0) * rest_of_it, below, -value));
    sign = -sign;
  }
  const double scale = 1.0 / (norm + value), j0 = value * scale, j1 = above * scale;
  const double two_over_pi = 0.63661977236758138, log = ::log(0.5 * x) + 0.57721566490153287;
  const double y0 = two_over_pi * fma(log, j0, -2.0 * for_y0 * scale);
  const double y1 = two_over_pi * (fma(log - 1.0, j1, -for_y1 * scale) - j0 / x);
  return {j0, j1, y0, y1};
}
/// For x >= 25: Hankel's expansion.
__device__ __forceinline__ Bessel bessel_far(double x) {
  const SineCosine at = sine_cosine_of(quarter_of(x));
  const double sum = value_of(at.sine + at.cosine), difference = value_of(at.sine - at.cosine);
  const double inverse = 1.0 / x, z = inverse * inverse, factor = 1.0 / plain_root(x * kPiHigh);
  const double p0 = hankel_p0(z), q0 = inverse * hankel_q0(z), p1 = hankel_p1(z), q1 = inverse * hankel_q1(z);
  return {factor * fma(p0, sum, -q0 * difference), factor * fma(p1, difference, q1 * sum),
          factor * fma(p0, difference, q0 * sum), -factor * fma(p1, sum, -q1 * difference)};
}
__device__ __forceinline__ Bessel bessel_of(double x) {
  if (x < 0x1p-30) {
    const double log = ::log(x) - 0.11593151565841245, two_over_pi = 0.63661977236758138;
    return {1.0, 0.5 * x, two_over_pi * log, -two_over_pi / x};
  }
  if (x == kInfinity) return {0.0, 0.0, 0.0, 0.0};
  return x < 25.0 ? bessel_near(x) : bessel_far(fmin(x, 0x1p1021));
}

/// J_n(x) for n >= 2 and x > 0.
__device__ __forceinline__ double bessel_j(int n, double x) {
  const Bessel start = bessel_of(x);
  if (x == kInfinity) return 0.0;
  const double two_over_x = 2.0 / x;
  if (n < x) {
    double below = start.j0, value = start.j1;
    for (int k = 1; k < n; ++k) {
      const double above = fma(k * two_over_x, value, -below);
      below = value, value = above;
    }
    return value;
  }
  // It is below (e x / 2 n)^n.
  if (n * (log(fmax(0.5 * x / n, 0x1p-1074)) + 1.0) < -760.0) return 0.0;
  int k = n + 20 + static_cast<int>(plain_root(60.0 * n));
  double above = 0.0, value = 1.0, wanted = 0.0;
  for (; k > 0; --k) {
    if (k == n) wanted = value;
    const double below = fma(k * two_over_x, value, -above);
    above = value, value = below;
    if (fabs(value) > 0x1p500) above *= 0x1p-500, value *= 0x1p-500, wanted *= 0x1p-500;
  }
  return fabs(start.j0) > fabs(start.j1) ? wanted / value * start.j0 : wanted / above * start.j1;
}
__device__ __forceinline__ double bessel_y(int n, double x) {
  const Bessel start = bessel_of(x);
  if (x == kInfinity) return 0.0;
  double below = start.y0, value = start.y1;
  for (int k = 1; k < n && value != -kInfinity; ++k) {
    const double above = fma(k * (2.0 / x), value, -below);
    below = value, value = above;
  }
  return value;
}
/// The modified function of order 0 or 1, of x >= 0: its power series, or its asymptotic one.
__device__ __forceinline__ double bessel_i(int order, double x) {
  if (x < 30.0) {
    const Two square = two_product(0.5 * x, 0.5 * x);
    Two term = {1.0, 0.0}, sum = {0.0, 0.0};
    for (int k = 1; term.high > 0x1p-60 * sum.high; ++k) {
      sum = sum + term;
      term = term * square / Two{static_cast<double>(k * (k + order)), 0.0};
    }
    return order == 0 ? value_of(sum) : value_of(sum * (0.5 * x));
  }
  const double bounded = fmin(x, 1000.0), eighth = 0.125 / bounded;
  Two sum = {0.0, 0.0};
  double term = 1.0;
  for (int k = 1; fabs(term) > 0x1p-60; ++k) {
    sum = sum + term;
    term *= static_cast<double>((2 * k - 1) * (2 * k - 1) - 4 * order) * eighth / k;
  }
  Scaled e = exp_of({bounded, 0.0});
  e.value = e.value * sum * (1.0 / plain_root(2.0 * kPiHigh * bounded));
  return value_of(e);
}
__device__ __forceinline__ double odd_order(int n, double value) { return (n & 1) != 0 ? -value : value; }

}  // namespace wave_device

__device__ __forceinline__ double j0(double x) { return x != x ? x : wave_device::bessel_of(fabs(x)).j0; }
__device__ __forceinline__ double j1(double x) {
  const double y = wave_device::bessel_of(fabs(x)).j1;
  return x != x ? x : x < 0.0 ? -y : x == 0.0 ? x : y;
}
__device__ __forceinline__ double jn(int n, double x) {
  const int order = n < 0 ? -n : n;
  const double sign = (n < 0) != (x < 0.0) ? wave_device::odd_order(order, 1.0) : 1.0;
  if (order < 2 || x != x) return order == 0 || x != x ? j0(x) : n < 0 ? -j1(x) : j1(x);
  return sign * (x == 0.0 ? 0.0 : wave_device::bessel_j(order, fabs(x)));
}
__device__ __forceinline__ double y0(double x) {
  if (x <= 0.0) return wave_device::at_or_below(0.0, x);
  return x > 0.0 ? wave_device::bessel_of(x).y0 : wave_device::kNan;
}
__device__ __forceinline__ double y1(double x) {
  if (x <= 0.0) return wave_device::at_or_below(0.0, x);
  return x > 0.0 ? wave_device::bessel_of(x).y1 : wave_device::kNan;
}
__device__ __forceinline__ double yn(int n, double x) {
  using namespace wave_device;
  const int order = n < 0 ? -n : n;
  const double y = order == 0 ? y0(x) : order == 1 ? y1(x) : x > 0.0 ? bessel_y(order, x) : y0(x);
  return n < 0 ? odd_order(order, y) : y;
}
__device__ __forceinline__ double cyl_bessel_i0(double x) { return x != x ? x : wave_device::bessel_i(0, fabs(x)); }
__device__ __forceinline__ double cyl_bessel_i1(double x) {
  return x != x ? x : copysign(wave_device::bessel_i(1, fabs(x)), x);
}

__device__ __forceinline__ float j0f(float x) { return static_cast<float>(j0(static_cast<double>(x))); }
__device__ __forceinline__ float j1f(float x) { return static_cast<float>(j1(static_cast<double>(x))); }
__device__ __forceinline__ float jnf(int n, float x) { return static_cast<float>(jn(n, static_cast<double>(x))); }
__device__ __forceinline__ float y0f(float x) { return static_cast<float>(y0(static_cast<double>(x))); }
__device__ __forceinline__ float y1f(float x) { return static_cast<float>(y1(static_cast<double>(x))); }
__device__ __forceinline__ float ynf(int n, float x) { return static_cast<float>(yn(n, static_cast<double>(x))); }
__device__ __forceinline__ float cyl_bessel_i0f(float x) {
  return static_cast<float>(cyl_bessel_i0(static_cast<double>(x)));
}
__device__ __forceinline__ float cyl_bessel_i1f(float x) {
  return static_cast<float>(cyl_bessel_i1(static_cast<double>(x)));
}
