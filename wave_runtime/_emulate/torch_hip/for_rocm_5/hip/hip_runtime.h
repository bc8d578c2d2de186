// HIP's own header, and what newer ones have besides: functions of the lanes that a mask names. In a program that is
// right the named lanes are those that are there, so that the mask of a shuffle says nothing.
#pragma once

#include_next <hip/hip_runtime.h>

#if defined(__clang__) && defined(__HIP__)

#define WAVE_F __device__ static inline

WAVE_F unsigned long long __activemask() { return __ballot(1); }

WAVE_F void __syncwarp(unsigned long long = ~0ull) {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront");
  __builtin_amdgcn_wave_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront");
}

#if defined(HIP_ENABLE_WARP_SYNC_BUILTINS)

template <class Mask>
WAVE_F unsigned long long wave_lanes(Mask mask) {
  static_assert(sizeof mask == 8,
                "the mask must be a 64-bit integer, as in HIP: a wave may have 64 lanes, and ~0ull names all");
  return warpSize == 32 ? mask & 0xFFFFFFFF : mask;
}

template <class Mask>
WAVE_F unsigned long long __ballot_sync(Mask mask, int predicate) {
  return __ballot(predicate) & wave_lanes(mask);
}

template <class Mask>
WAVE_F int __any_sync(Mask mask, int predicate) {
  return __ballot_sync(mask, predicate) != 0;
}

template <class Mask>
WAVE_F int __all_sync(Mask mask, int predicate) {
  return __ballot_sync(mask, predicate) == wave_lanes(mask);
}

#define WAVE_SHUFFLE(name, type)                                              \
  template <class Mask, class T>                                              \
  WAVE_F T name##_sync(Mask mask, T value, type lane, int width = warpSize) { \
    (void)wave_lanes(mask);                                                   \
    int words[(sizeof value + 3) / 4] = {};                                   \
    __builtin_memcpy(words, &value, sizeof value);                            \
    for (int& word : words) word = name(word, lane, width);                   \
    __builtin_memcpy(&value, words, sizeof value);                            \
    return value;                                                             \
  }
WAVE_SHUFFLE(__shfl, int)
WAVE_SHUFFLE(__shfl_up, unsigned int)
WAVE_SHUFFLE(__shfl_down, unsigned int)
WAVE_SHUFFLE(__shfl_xor, int)
#undef WAVE_SHUFFLE

// In each round the lanes that have the value of the first one that is left find each other.
template <class Mask, class T>
WAVE_F unsigned long long __match_any_sync(Mask mask, T value) {
  const unsigned long long lanes = wave_lanes(mask), own = 1ull << __lane_id();
  unsigned long long found = 0;
  for (unsigned long long left = __ballot(1); left != 0;) {
    const int first = __ffsll(left) - 1;
    const unsigned long long same = __ballot(__shfl_sync(mask, value, first) == value);
    if (same & own) found = same & lanes;
    left &= ~(same | 1ull << first);
  }
  return found;
}

template <class Mask, class T>
WAVE_F unsigned long long __match_all_sync(Mask mask, T value, int* predicate) {
  const int first = __ffsll(wave_lanes(mask)) - 1;
  *predicate = __all_sync(mask, __shfl_sync(mask, value, first) == value);
  return *predicate ? wave_lanes(mask) : 0;
}

#endif

#undef WAVE_F

#endif
