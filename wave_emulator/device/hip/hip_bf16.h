// bfloat16: stored in 16 bits, computed in f32 and rounded to nearest even.
#pragma once

#include <hip/hip_runtime.h>

struct __hip_bfloat16 {
  unsigned short bits;

  __hip_bfloat16() = default;
  __device__ __forceinline__ __hip_bfloat16(float x) {
    const unsigned word = __float_as_uint(x);
    const unsigned rounded = word + 0x7fff + (word >> 16 & 1);
    bits = static_cast<unsigned short>((x != x ? word | 0x400000 : rounded) >> 16);
  }
  __device__ __forceinline__ operator float() const { return __uint_as_float(static_cast<unsigned>(bits) << 16); }
};

#define WAVE_BF16_ASSIGNMENT(op) \
  __device__ __forceinline__ __hip_bfloat16& operator op##=(__hip_bfloat16 & a, float b) { return a = a op b; }
WAVE_BF16_ASSIGNMENT(+)
WAVE_BF16_ASSIGNMENT(-)
WAVE_BF16_ASSIGNMENT(*)
WAVE_BF16_ASSIGNMENT(/)
#undef WAVE_BF16_ASSIGNMENT

using hip_bfloat16 = __hip_bfloat16;
using __hip_bfloat162 = wave_device::Vector<__hip_bfloat16, 2>;

__device__ __forceinline__ __hip_bfloat16 __float2bfloat16(float x) { return x; }
__device__ __forceinline__ float __bfloat162float(__hip_bfloat16 x) { return x; }
__device__ __forceinline__ __hip_bfloat16 __ushort_as_bfloat16(unsigned short x) {
  return __builtin_bit_cast(__hip_bfloat16, x);
}
__device__ __forceinline__ unsigned short __bfloat16_as_ushort(__hip_bfloat16 x) { return x.bits; }
__device__ __forceinline__ __hip_bfloat162 __floats2bfloat162_rn(float x, float y) { return {x, y}; }
__device__ __forceinline__ float2 __bfloat1622float2(__hip_bfloat162 v) { return {v.x, v.y}; }
