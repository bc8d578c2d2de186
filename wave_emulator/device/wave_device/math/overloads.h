// The list of the functions, under their names in C++: of float, of integers (as doubles), and of mixed types.
#pragma once

#include "wave_device/math/bessel.h"
#include "wave_device/math/circular.h"
#include "wave_device/math/error_functions.h"
#include "wave_device/math/exponential.h"
#include "wave_device/math/gamma.h"
#include "wave_device/math/inverse_circular.h"
#include "wave_device/math/logarithm.h"
#include "wave_device/math/parts.h"
#include "wave_device/math/power.h"
#include "wave_device/math/remainder.h"

// clang-format off
// Of one argument: F(name). These have float and double forms alike...
#define WAVE_HARDWARE_FUNCTIONS(F) F(ceil) F(fabs) F(floor) F(nearbyint) F(rint) F(round) F(sqrt) F(trunc)
// ... and these are named with f after them for float.
#define WAVE_FUNCTIONS(F)                                                                                         \
  F(acos) F(acosh) F(asin) F(asinh) F(atan) F(atanh) F(cbrt) F(cos) F(cosh) F(cospi) F(cyl_bessel_i0)             \
  F(cyl_bessel_i1) F(erf) F(erfc) F(erfcinv) F(erfcx) F(erfinv) F(exp) F(exp10) F(exp2) F(expm1) F(j0) F(j1)      \
  F(lgamma) F(log) F(log10) F(log1p) F(log2) F(logb) F(normcdf) F(normcdfinv) F(rcbrt) F(rsqrt) F(sin) F(sinh)    \
  F(sinpi) F(tan) F(tanh) F(tgamma) F(y0) F(y1)
// Those that give an integer: F(result, name).
#define WAVE_INTEGER_FUNCTIONS(F) \
  F(int, ilogb) F(long, lrint) F(long, lround) F(long long, llrint) F(long long, llround)
// Of two arguments, as above.
#define WAVE_HARDWARE_FUNCTIONS_2(F) F(copysign) F(fmax) F(fmin)
#define WAVE_FUNCTIONS_2(F) F(atan2) F(fdim) F(fmod) F(hypot) F(nextafter) F(pow) F(remainder) F(rhypot)
// clang-format on

namespace wave_device {

template <bool kCondition, class T>
struct If {};
template <class T>
struct If<true, T> {
  using type = T;
};
template <class T, class Result>
using IfIntegral = typename If<__is_integral(T), Result>::type;
/// Arithmetic types, not both float and not both double.
template <class T, class U>
using IfMixed =
    typename If<__is_arithmetic(T) && __is_arithmetic(U) && (!__is_same(T, U) || __is_integral(T)), double>::type;

}  // namespace wave_device

#define WAVE_FLOAT(name) \
  __device__ __forceinline__ float name(float x) { return name##f(x); }
#define WAVE_INTEGRAL(name)                                                 \
  template <class T>                                                        \
  __device__ __forceinline__ wave_device::IfIntegral<T, double> name(T x) { \
    return name(static_cast<double>(x));                                    \
  }
#define WAVE_INTEGER(Result, name)                                          \
  __device__ __forceinline__ Result name(float x) { return name##f(x); }    \
  template <class T>                                                        \
  __device__ __forceinline__ wave_device::IfIntegral<T, Result> name(T x) { \
    return name(static_cast<double>(x));                                    \
  }
#define WAVE_FLOAT_2(name) \
  __device__ __forceinline__ float name(float x, float y) { return name##f(x, y); }
#define WAVE_MIXED(name)                                                 \
  template <class T, class U>                                            \
  __device__ __forceinline__ wave_device::IfMixed<T, U> name(T x, U y) { \
    return name(static_cast<double>(x), static_cast<double>(y));         \
  }

WAVE_FUNCTIONS(WAVE_FLOAT)
WAVE_FUNCTIONS(WAVE_INTEGRAL)
WAVE_HARDWARE_FUNCTIONS(WAVE_INTEGRAL)
WAVE_INTEGER_FUNCTIONS(WAVE_INTEGER)
WAVE_FUNCTIONS_2(WAVE_FLOAT_2)
WAVE_FUNCTIONS_2(WAVE_MIXED)
WAVE_HARDWARE_FUNCTIONS_2(WAVE_MIXED)

#undef WAVE_FLOAT
#undef WAVE_INTEGRAL
#undef WAVE_INTEGER
#undef WAVE_FLOAT_2
#undef WAVE_MIXED

__device__ __forceinline__ float frexp(float x, int* exponent) { return frexpf(x, exponent); }
__device__ __forceinline__ float ldexp(float x, int n) { return ldexpf(x, n); }
__device__ __forceinline__ float modf(float x, float* integer) { return modff(x, integer); }
__device__ __forceinline__ float remquo(float x, float y, int* quotient) { return remquof(x, y, quotient); }
__device__ __forceinline__ float scalbln(float x, long n) { return scalblnf(x, n); }
__device__ __forceinline__ float scalbn(float x, int n) { return scalbnf(x, n); }
__device__ __forceinline__ void sincos(float x, float* sine, float* cosine) { sincosf(x, sine, cosine); }
__device__ __forceinline__ void sincospi(float x, float* sine, float* cosine) { sincospif(x, sine, cosine); }
__device__ __forceinline__ float norm(int count, const float* x) { return normf(count, x); }
__device__ __forceinline__ float rnorm(int count, const float* x) { return rnormf(count, x); }
__device__ __forceinline__ float jn(int n, float x) { return jnf(n, x); }
__device__ __forceinline__ float yn(int n, float x) { return ynf(n, x); }
__device__ __forceinline__ float powi(float x, int n) { return powif(x, n); }
// As HIP has it; C++ alone would have a double of the first.
__device__ __forceinline__ float pow(float x, int n) { return powif(x, n); }
__device__ __forceinline__ double pow(double x, int n) { return powi(x, n); }
__device__ __forceinline__ float abs(float x) { return fabsf(x); }
__device__ __forceinline__ double abs(double x) { return fabs(x); }
__device__ __forceinline__ float min(float x, float y) { return fminf(x, y); }
__device__ __forceinline__ float max(float x, float y) { return fmaxf(x, y); }
__device__ __forceinline__ double min(double x, double y) { return fmin(x, y); }
__device__ __forceinline__ double max(double x, double y) { return fmax(x, y); }
__device__ __forceinline__ double min(float x, double y) { return fmin(static_cast<double>(x), y); }
__device__ __forceinline__ double max(float x, double y) { return fmax(static_cast<double>(x), y); }
__device__ __forceinline__ double min(double x, float y) { return fmin(x, static_cast<double>(y)); }
__device__ __forceinline__ double max(double x, float y) { return fmax(x, static_cast<double>(y)); }
__device__ __forceinline__ float fdividef(float x, float y) { return x / y; }
