// The 8-bit floats of gfx942 (FNUZ: no infinities, one NaN, no negative zero), by its conversion instructions.
#pragma once

#include <hip/hip_runtime.h>

#define WAVE_FP8(name, to, from)                                                                                     \
  struct name {                                                                                                      \
    unsigned char __x;                                                                                               \
    name() = default;                                                                                                \
    __device__ __forceinline__ explicit name(float x) : __x(static_cast<unsigned char>(to(x, x, 0, false) & 255)) {} \
    __device__ __forceinline__ operator float() const { return from(__x, 0); }                                       \
  };
WAVE_FP8(__hip_fp8_e4m3_fnuz, __builtin_amdgcn_cvt_pk_fp8_f32, __builtin_amdgcn_cvt_f32_fp8)
WAVE_FP8(__hip_fp8_e5m2_fnuz, __builtin_amdgcn_cvt_pk_bf8_f32, __builtin_amdgcn_cvt_f32_bf8)
#undef WAVE_FP8
