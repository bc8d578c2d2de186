// What kind of a number it is, and comparisons in which NaN takes part quietly.
#pragma once

#include "wave_device/math/parts.h"

#define WAVE_CLASSIFICATION(T)                                                                                   \
  __device__ __forceinline__ bool isnan(T x) { return x != x; }                                                  \
  __device__ __forceinline__ bool isinf(T x) { return fabs(x) == wave_device::Format<T>::kInfinity; }            \
  __device__ __forceinline__ bool isfinite(T x) { return wave_device::is_finite(x); }                            \
  __device__ __forceinline__ bool isnormal(T x) {                                                                \
    return wave_device::is_finite(x) && fabs(x) >= (sizeof(T) == 4 ? __FLT_MIN__ : static_cast<T>(__DBL_MIN__)); \
  }                                                                                                              \
  __device__ __forceinline__ bool signbit(T x) { return wave_device::is_negative(x); }                           \
  __device__ __forceinline__ bool isunordered(T x, T y) { return x != x || y != y; }                             \
  __device__ __forceinline__ bool isgreater(T x, T y) { return x > y; }                                          \
  __device__ __forceinline__ bool isgreaterequal(T x, T y) { return x >= y; }                                    \
  __device__ __forceinline__ bool isless(T x, T y) { return x < y; }                                             \
  __device__ __forceinline__ bool islessequal(T x, T y) { return x <= y; }                                       \
  __device__ __forceinline__ bool islessgreater(T x, T y) { return x < y || x > y; }

WAVE_CLASSIFICATION(float)
WAVE_CLASSIFICATION(double)

#undef WAVE_CLASSIFICATION
