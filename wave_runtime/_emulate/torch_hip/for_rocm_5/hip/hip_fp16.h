// HIP's own header, and what newer ones have besides.
#pragma once

#include_next <hip/hip_fp16.h>

#if defined(__clang__) && defined(__HIP__)

#if HIP_VERSION_MINOR < 7
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

// Since ROCm 6.4.
__device__ static inline __half2 unsafeAtomicAdd(__half2* address, __half2 value) {
  auto* const word = reinterpret_cast<unsigned int*>(address);
  unsigned int found = __hip_atomic_load(word, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  for (;;) {
    __half2 before;
    __builtin_memcpy(&before, &found, sizeof before);
    const __half2 sum = __hadd2(before, value);
    unsigned int bits;
    __builtin_memcpy(&bits, &sum, sizeof bits);
    if (__hip_atomic_compare_exchange_strong(word, &found, bits, __ATOMIC_RELAXED, __ATOMIC_RELAXED,
                                             __HIP_MEMORY_SCOPE_AGENT)) {
      return before;
    }
  }
}

#endif
