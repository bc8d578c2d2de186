// HIP's own header, and what newer ones have besides.
#pragma once

#include_next <hip/hip_fp16.h>

#if defined(__clang__) && defined(__HIP__)

__device__ static inline __half __hmax(const __half a, const __half b) {
  return __float2half(__builtin_fmaxf(__half2float(a), __half2float(b)));
}
__device__ static inline __half __hmin(const __half a, const __half b) {
  return __float2half(__builtin_fminf(__half2float(a), __half2float(b)));
}
__device__ static inline __half __hmax_nan(const __half a, const __half b) {
  return __hisnan(a) ? a : __hisnan(b) ? b : __hmax(a, b);
}
__device__ static inline __half __hmin_nan(const __half a, const __half b) {
  return __hisnan(a) ? a : __hisnan(b) ? b : __hmin(a, b);
}

#endif
