// Sums of two doubles, with twice the digits; no arithmetic here may be contracted or reordered.
#pragma once

/// At the beginning of a function: its operations are rounded as they are written, whatever the options.
#define WAVE_EXACT _Pragma("clang fp contract(off) reassociate(off) reciprocal(off)")

namespace wave_device {

/// high + low, where low is at most about half a unit in the last place of high.
struct Two {
  double high, low;
};

/// a + b, exactly.
__device__ __forceinline__ Two two_sum(double a, double b) {
  WAVE_EXACT
  const double sum = a + b, of_b = sum - a;
  return {sum, (a - (sum - of_b)) + (b - of_b)};
}
/// a + b, exactly, where |a| >= |b| or a is 0.
__device__ __forceinline__ Two ordered_sum(double a, double b) {
  WAVE_EXACT
  const double sum = a + b;
  return {sum, b - (sum - a)};
}
/// a b, exactly, unless it is too small.
__device__ __forceinline__ Two two_product(double a, double b) {
  WAVE_EXACT
  const double product = a * b;
  return {product, __builtin_fma(a, b, -product)};
}

__device__ __forceinline__ double value_of(Two a) { return a.high + a.low; }
__device__ __forceinline__ Two operator-(Two a) { return {-a.high, -a.low}; }
__device__ __forceinline__ Two operator+(Two a, Two b) {
  WAVE_EXACT
  const Two sum = two_sum(a.high, b.high);
  return ordered_sum(sum.high, sum.low + (a.low + b.low));
}
__device__ __forceinline__ Two operator+(Two a, double b) {
  WAVE_EXACT
  const Two sum = two_sum(a.high, b);
  return ordered_sum(sum.high, sum.low + a.low);
}
__device__ __forceinline__ Two operator-(Two a, Two b) { return a + -b; }
__device__ __forceinline__ Two operator*(Two a, Two b) {
  WAVE_EXACT
  const Two product = two_product(a.high, b.high);
  return ordered_sum(product.high, __builtin_fma(a.high, b.low, __builtin_fma(a.low, b.high, product.low)));
}
__device__ __forceinline__ Two operator*(Two a, double b) {
  WAVE_EXACT
  const Two product = two_product(a.high, b);
  return ordered_sum(product.high, __builtin_fma(a.low, b, product.low));
}
__device__ __forceinline__ Two operator/(Two a, Two b) {
  WAVE_EXACT
  const double inverse = 1.0 / b.high, quotient = a.high * inverse;
  const double rest = __builtin_fma(-quotient, b.low, __builtin_fma(-quotient, b.high, a.high) + a.low);
  return ordered_sum(quotient, rest * inverse);
}
/// The square root of a positive number.
__device__ __forceinline__ Two root_of(Two a) {
  WAVE_EXACT
  const double root = __builtin_elementwise_sqrt(a.high);
  return ordered_sum(root, (__builtin_fma(-root, root, a.high) + a.low) / (2.0 * root));
}
/// One over the square root of a positive number.
__device__ __forceinline__ Two inverse_root_of(Two a) {
  WAVE_EXACT
  const double inverse = 1.0 / __builtin_elementwise_sqrt(a.high);
  const Two square = a * two_product(inverse, inverse);
  return ordered_sum(inverse, 0.5 * inverse * ((1.0 - square.high) - square.low));
}

}  // namespace wave_device
