// Loads with a hint for the caches, which none of them needs.
#pragma once

#define WAVE_LOAD(name)                                 \
  template <class T>                                    \
  __device__ __forceinline__ T name(const T* address) { \
    return *address;                                    \
  }
WAVE_LOAD(__ldg)
WAVE_LOAD(__ldca)
WAVE_LOAD(__ldcg)
WAVE_LOAD(__ldcs)
#undef WAVE_LOAD
