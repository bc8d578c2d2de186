// What HIP's headers ask of a compiler, and clang has no more. hipcc includes it before all else.
#pragma once

#if defined(__HIP__)

// Headers up to ROCm 6 look at this macro, which clang has had until version 21.
#if !defined(__AMDGCN_WAVEFRONT_SIZE)
#if defined(__HIP_DEVICE_COMPILE__) && !defined(__GFX9__)
#define __AMDGCN_WAVEFRONT_SIZE 32
#else
#define __AMDGCN_WAVEFRONT_SIZE 64
#endif
#endif

// ROCm 5's call these, which clang has had until version 18.
typedef _Float16 wave_two_halves __attribute__((ext_vector_type(2)));

__device__ inline _Float16 wave_reciprocal(_Float16 x) { return __builtin_amdgcn_rcph(x); }
__device__ inline wave_two_halves wave_reciprocals(wave_two_halves x) {
  return {wave_reciprocal(x.x), wave_reciprocal(x.y)};
}
#define __llvm_amdgcn_rcp_f16 wave_reciprocal
#define __llvm_amdgcn_rcp_2f16 wave_reciprocals

#endif
