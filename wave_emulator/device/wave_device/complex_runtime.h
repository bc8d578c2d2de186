// What the compiler calls for products and quotients of complex numbers, std::complex among them: by the rules of
// annex G of C, under which what is infinite stays so, even where a component is a NaN.
#pragma once

#include "wave_device/math.h"

namespace wave_device {

template <class T>
struct Complex {
  T real, imaginary;
};

/// An infinite number as 1, a finite one and a NaN as 0, with its sign.
template <class T>
__device__ __forceinline__ T boxed(T x) {
  return copysign(static_cast<T>(isinf(x)), x);
}
/// A NaN as 0 with its sign.
template <class T>
__device__ __forceinline__ T without_nan(T x) {
  return isnan(x) ? copysign(T(0), x) : x;
}

template <class T>
__device__ __forceinline__ Complex<T> product_of(T a, T b, T c, T d) {
  const T ac = a * c, bd = b * d, ad = a * d, bc = b * c;
  const Complex<T> result = {ac - bd, ad + bc};
  if (!isnan(result.real) || !isnan(result.imaginary)) return result;
  const bool first = isinf(a) || isinf(b), second = isinf(c) || isinf(d);
  if (!first && !second && !isinf(ac) && !isinf(bd) && !isinf(ad) && !isinf(bc)) return result;
  if (first) a = boxed(a), b = boxed(b);
  if (second) c = boxed(c), d = boxed(d);
  a = without_nan(a), b = without_nan(b), c = without_nan(c), d = without_nan(d);
  constexpr T kInfinity = Format<T>::kInfinity;
  return {kInfinity * (a * c - b * d), kInfinity * (a * d + b * c)};
}

template <class T>
__device__ __forceinline__ Complex<T> quotient_of(T a, T b, T c, T d) {
  constexpr T kInfinity = Format<T>::kInfinity;
  const T exponent = logb(fmax(fabs(c), fabs(d)));
  const int shift = isfinite(exponent) ? -static_cast<int>(exponent) : 0;
  const T x = scalbn(c, shift), y = scalbn(d, shift), square = x * x + y * y;
  const Complex<T> result = {scalbn((a * x + b * y) / square, shift), scalbn((b * x - a * y) / square, shift)};
  if (!isnan(result.real) || !isnan(result.imaginary)) return result;
  if (square == 0 && (!isnan(a) || !isnan(b))) {
    const T infinity = copysign(kInfinity, c);
    return {infinity * a, infinity * b};
  }
  if ((isinf(a) || isinf(b)) && isfinite(c) && isfinite(d)) {
    a = boxed(a), b = boxed(b);
    return {kInfinity * (a * x + b * y), kInfinity * (b * x - a * y)};
  }
  if (exponent == kInfinity && isfinite(a) && isfinite(b)) {
    c = boxed(c), d = boxed(d);
    return {T(0) * (a * c + b * d), T(0) * (b * c - a * d)};
  }
  return result;
}

}  // namespace wave_device

#define WAVE_COMPLEX(name, T, function)                                             \
  extern "C" __device__ inline _Complex T name(T a, T b, T c, T d) noexcept(true) { \
    const wave_device::Complex<T> result = wave_device::function(a, b, c, d);       \
    return __builtin_complex(result.real, result.imaginary);                        \
  }
WAVE_COMPLEX(__mulsc3, float, product_of)
WAVE_COMPLEX(__muldc3, double, product_of)
WAVE_COMPLEX(__divsc3, float, quotient_of)
WAVE_COMPLEX(__divdc3, double, quotient_of)
#undef WAVE_COMPLEX
