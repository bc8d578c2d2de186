// Powers, roots, and lengths of vectors. Those of f32 are computed in f64 and rounded once.
#pragma once

#include "wave_device/math/exponential.h"
#include "wave_device/math/logarithm.h"

namespace wave_device {

/// x to the power of y, from what it would be for |x|, both positive and finite: the table of C99's annex F.9.4.4.
__device__ __forceinline__ double checked_power(double x, double y, double value) {
  if (y == 0.0 || x == 1.0) return 1.0;
  if (x != x || y != y) return x + y;
  const double a = fabs(x);
  const bool integer = trunc(y) == y, odd = integer && trunc(0.5 * y) * 2.0 != y;
  if (fabs(y) == kInfinity) return a == 1.0 ? 1.0 : (a > 1.0) == (y > 0.0) ? kInfinity : 0.0;
  if (a == 0.0)
    value = y < 0.0 ? infinity_of(x) : 0.0;
  else if (a == kInfinity)
    value = y < 0.0 ? 0.0 : kInfinity;
  else if (x < 0.0 && !integer)
    return nan_of(x);
  return odd ? copysign(value, x) : value;
}
/// x^y of f32, before it is rounded.
__device__ __forceinline__ float pow_f32(double x, double y) {
  const Binary<double> parts = around_one(fabs(x));
  const double log2 = fma(log_near_one_f32(parts.fraction), kPerLog2High, static_cast<double>(parts.exponent));
  const double power = within(y * log2, 1000.0), k = rint(power);
  return static_cast<float>(checked_power(x, y, exp_f32((power - k) * kNaturalOf2High, k)));
}

/// 1 / cbrt(f) for 1 <= f < 8, nearly: a line, and Newton's steps, each of which doubles the digits.
__device__ __forceinline__ double inverse_cube_root_near(double f) {
  double y = fma(f, fma(f, 0.0162, -0.2137), 1.165);
  for (int i = 0; i < 4; ++i) y = fma(y * (1.0 / 3.0), fma(-f * y, y * y, 1.0), y);
  return y;
}
/// A finite number, not 0: fraction times 2^(3 exponent), with a magnitude in [1, 8).
__device__ __forceinline__ Binary<double> in_cubes(double x) {
  const Binary<double> parts = binary_of(fabs(x));
  // Division by 3, rounded down, of numbers above -3000.
  const int third = static_cast<int>(static_cast<unsigned>(parts.exponent + 3000) / 3u) - 1000;
  return {ldexp(parts.fraction, parts.exponent - 3 * third), third};
}

/// A sum of squares, times 2^(-2 exponent) so that nothing is lost; an infinity wins over NaN, as hypot wants.
struct Squares {
  Two sum;
  int exponent;
  double special;
};
template <int N>
__device__ __forceinline__ Squares squares_of(const double (&x)[N]) {
  WAVE_EXACT
  double largest = 0.0, special = 0.0;
  for (double each : x) {
    largest = fmax(largest, fabs(each));
    special = special == kInfinity || fabs(each) == kInfinity ? kInfinity : each != each ? each : special;
  }
  const int exponent = largest == 0.0 ? 0 : integer_exponent_of(largest);
  Two sum = {0.0, 0.0};
  for (double each : x) {
    const double small = ldexp(each, -exponent);
    sum = sum + two_product(small, small);
  }
  return {sum, exponent, special};
}
__device__ __forceinline__ double length_of(const Squares& squares) {
  if (squares.special != 0.0) return squares.special;
  return squares.sum.high == 0.0 ? 0.0 : value_of(Scaled{root_of(squares.sum), squares.exponent});
}
__device__ __forceinline__ double plain_inverse_root(double x) {
  return x == 0.0 ? infinity_of(x) : 1.0 / plain_root(x);
}
__device__ __forceinline__ double inverse_length_of(const Squares& squares) {
  if (squares.special != 0.0) return squares.special == kInfinity ? 0.0 : squares.special;
  if (squares.sum.high == 0.0) return infinity_of(squares.sum.high);
  return value_of(Scaled{inverse_root_of(squares.sum), -squares.exponent});
}

/// The same of any number of coordinates.
__device__ __forceinline__ Squares squares_of(int count, const double* x) {
  WAVE_EXACT
  double largest = 0.0, special = 0.0;
  for (int i = 0; i < count; ++i) {
    largest = fmax(largest, fabs(x[i]));
    special = special == kInfinity || fabs(x[i]) == kInfinity ? kInfinity : x[i] != x[i] ? x[i] : special;
  }
  const int exponent = largest == 0.0 ? 0 : integer_exponent_of(largest);
  Two sum = {0.0, 0.0};
  for (int i = 0; i < count; ++i) {
    const double small = ldexp(x[i], -exponent);
    sum = sum + two_product(small, small);
  }
  return {sum, exponent, special};
}

/// The sum of the squares of f32: in f64 nothing overflows; an infinity wins over NaN.
template <class... T>
__device__ __forceinline__ double squares_f32(T... x) {
  double sum = 0.0;
  bool infinite = false;
  ((sum = fma(static_cast<double>(x), static_cast<double>(x), sum), infinite |= fabsf(x) == __builtin_inff()), ...);
  return infinite ? kInfinity : sum;
}
__device__ __forceinline__ double squares_f32_of(int count, const float* x) {
  double sum = 0.0;
  bool infinite = false;
  for (int i = 0; i < count; ++i) {
    sum = fma(static_cast<double>(x[i]), static_cast<double>(x[i]), sum);
    infinite |= fabsf(x[i]) == __builtin_inff();
  }
  return infinite ? kInfinity : sum;
}

}  // namespace wave_device

__device__ __forceinline__ double pow(double x, double y) {
  using namespace wave_device;
  const Two log = log_of(fabs(x)), product = two_product(y, log.high);
  const double high = within(product.high, 1100.0);
  const double low = high == product.high ? fma(y, log.low, product.low) : 0.0;
  return checked_power(x, y, value_of(exp_of({high, low})));
}
__device__ __forceinline__ double powi(double x, int n) { return pow(x, static_cast<double>(n)); }
__device__ __forceinline__ float powf(float x, float y) { return wave_device::pow_f32(x, y); }
__device__ __forceinline__ float powif(float x, int n) { return wave_device::pow_f32(x, n); }

__device__ __forceinline__ double rsqrt(double x) {
  if (x < 0.0) x = -wave_device::nan_of(x);
  const double root_of_scale = x < 0x1p-900 ? 0x1p100 : x > 0x1p900 ? 0x1p-100 : 1.0;
  const double bounded = x * root_of_scale * root_of_scale;
  const double y = wave_device::value_of(wave_device::inverse_root_of({bounded, 0.0})) * root_of_scale;
  return x > 0.0 && x < wave_device::kInfinity ? y : 1.0 / wave_device::plain_root(x);
}
__device__ __forceinline__ float rsqrtf(float x) { return static_cast<float>(1.0 / sqrt(static_cast<double>(x))); }

__device__ __forceinline__ double cbrt(double x) {
  WAVE_EXACT
  using namespace wave_device;
  const Binary<double> parts = in_cubes(x);
  const double y = inverse_cube_root_near(parts.fraction), root = parts.fraction * y * y;
  const Two error = two_product(root, root) * root + -parts.fraction;
  const double result = ldexp(fma(-error.high, y * y * (1.0 / 3.0), root), parts.exponent);
  return x == 0.0 || !is_finite(x) ? x : copysign(result, x);
}
__device__ __forceinline__ double rcbrt(double x) {
  WAVE_EXACT
  using namespace wave_device;
  const Binary<double> parts = in_cubes(x);
  const double y = inverse_cube_root_near(parts.fraction);
  const Two error = two_product(y, y) * y * parts.fraction + -1.0;
  const double result = ldexp(fma(-error.high, y * (1.0 / 3.0), y), -parts.exponent);
  return x == 0.0 || !is_finite(x) ? 1.0 / x : copysign(result, x);
}
__device__ __forceinline__ float cbrtf(float x) {
  using namespace wave_device;
  const Binary<double> parts = in_cubes(x);
  const double y = inverse_cube_root_near(parts.fraction);
  const double result = ldexp(parts.fraction * y * y, parts.exponent);
  return x == 0.0f || !is_finite(x) ? x : copysignf(static_cast<float>(result), x);
}
__device__ __forceinline__ float rcbrtf(float x) {
  using namespace wave_device;
  const Binary<double> parts = in_cubes(x);
  const double result = ldexp(inverse_cube_root_near(parts.fraction), -parts.exponent);
  return x == 0.0f || !is_finite(x) ? 1.0f / x : copysignf(static_cast<float>(result), x);
}

#define WAVE_LENGTH(name, inverse_name, parameters, f32_parameters, ...)                               \
  __device__ __forceinline__ double name parameters {                                                  \
    return wave_device::length_of(wave_device::squares_of({__VA_ARGS__}));                             \
  }                                                                                                    \
  __device__ __forceinline__ double inverse_name parameters {                                          \
    return wave_device::inverse_length_of(wave_device::squares_of({__VA_ARGS__}));                     \
  }                                                                                                    \
  __device__ __forceinline__ float name##f f32_parameters {                                            \
    return static_cast<float>(wave_device::plain_root(wave_device::squares_f32(__VA_ARGS__)));         \
  }                                                                                                    \
  __device__ __forceinline__ float inverse_name##f f32_parameters {                                    \
    return static_cast<float>(wave_device::plain_inverse_root(wave_device::squares_f32(__VA_ARGS__))); \
  }

WAVE_LENGTH(hypot, rhypot, (double x, double y), (float x, float y), x, y)
WAVE_LENGTH(norm3d, rnorm3d, (double x, double y, double z), (float x, float y, float z), x, y, z)
WAVE_LENGTH(norm4d, rnorm4d, (double x, double y, double z, double w), (float x, float y, float z, float w), x, y, z, w)

#undef WAVE_LENGTH

__device__ __forceinline__ double norm(int count, const double* x) {
  return wave_device::length_of(wave_device::squares_of(count, x));
}
__device__ __forceinline__ double rnorm(int count, const double* x) {
  return wave_device::inverse_length_of(wave_device::squares_of(count, x));
}
__device__ __forceinline__ float normf(int count, const float* x) {
  return static_cast<float>(wave_device::plain_root(wave_device::squares_f32_of(count, x)));
}
__device__ __forceinline__ float rnormf(int count, const float* x) {
  return static_cast<float>(1.0 / wave_device::plain_root(wave_device::squares_f32_of(count, x)));
}
