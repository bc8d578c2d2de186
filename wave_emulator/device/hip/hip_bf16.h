// bfloat16: stored in 16 bits, computed in f32 and rounded to nearest even.
#pragma once

#include <hip/hip_runtime.h>

#include "wave_device/set_macros_aside.h"

struct __hip_bfloat16_raw {
  unsigned short x;
};

struct __hip_bfloat16 {
  unsigned short bits;

  __hip_bfloat16() = default;
  __device__ __forceinline__ __hip_bfloat16(__hip_bfloat16_raw raw) : bits(raw.x) {}
  __device__ __forceinline__ __hip_bfloat16(float x) {
    const unsigned word = __float_as_uint(x);
    const unsigned rounded = word + 0x7fff + (word >> 16 & 1);
    bits = static_cast<unsigned short>((x != x ? word | 0x400000 : rounded) >> 16);
  }
  __device__ __forceinline__ operator float() const { return __uint_as_float(static_cast<unsigned>(bits) << 16); }
  __device__ __forceinline__ operator __hip_bfloat16_raw() const { return {bits}; }
};

#define WAVE_BF16_ASSIGNMENT(op) \
  __device__ __forceinline__ __hip_bfloat16& operator op##=(__hip_bfloat16 & a, float b) { return a = a op b; }
WAVE_BF16_ASSIGNMENT(+)
WAVE_BF16_ASSIGNMENT(-)
WAVE_BF16_ASSIGNMENT(*)
WAVE_BF16_ASSIGNMENT(/)
#undef WAVE_BF16_ASSIGNMENT

using __hip_bfloat162 = wave_device::Vector<__hip_bfloat16, 2>;

struct alignas(4) __hip_bfloat162_raw {
  unsigned short x, y;

  __hip_bfloat162_raw() = default;
  __device__ __forceinline__ constexpr __hip_bfloat162_raw(unsigned short x, unsigned short y) : x(x), y(y) {}
  __device__ __forceinline__ __hip_bfloat162_raw(__hip_bfloat162 pair) : x(pair.x.bits), y(pair.y.bits) {}
  __device__ __forceinline__ operator __hip_bfloat162() const { return __builtin_bit_cast(__hip_bfloat162, *this); }
};

namespace wave_device {

__device__ __forceinline__ __hip_bfloat16 fused(__hip_bfloat16 a, __hip_bfloat16 b, __hip_bfloat16 c) {
  return fmaf(a, b, c);
}
__device__ __forceinline__ __hip_bfloat16 larger(__hip_bfloat16 a, __hip_bfloat16 b) { return fmaxf(a, b); }
__device__ __forceinline__ __hip_bfloat16 smaller(__hip_bfloat16 a, __hip_bfloat16 b) { return fminf(a, b); }
__device__ __forceinline__ __hip_bfloat16 root(__hip_bfloat16 a) { return sqrtf(a); }

}  // namespace wave_device

#define WAVE_NUMBER __hip_bfloat16
#define WAVE_PAIR __hip_bfloat162
#define WAVE_UNORDERED_OF_BOTH(name) name##u
#include "wave_device/numbers_of_16_bits.h"
#undef WAVE_NUMBER
#undef WAVE_PAIR
#undef WAVE_UNORDERED_OF_BOTH

__device__ __forceinline__ __hip_bfloat16 __ushort_as_bfloat16(unsigned short x) {
  return __builtin_bit_cast(__hip_bfloat16, x);
}
__device__ __forceinline__ __hip_bfloat16 __short_as_bfloat16(short x) { return __builtin_bit_cast(__hip_bfloat16, x); }
__device__ __forceinline__ unsigned short __bfloat16_as_ushort(__hip_bfloat16 x) { return x.bits; }
__device__ __forceinline__ short __bfloat16_as_short(__hip_bfloat16 x) { return static_cast<short>(x.bits); }

#define HIPRT_ONE_BF16 __ushort_as_bfloat16(0x3f80)
#define HIPRT_ZERO_BF16 __ushort_as_bfloat16(0)
#define HIPRT_NEG_ZERO_BF16 __ushort_as_bfloat16(0x8000)
#define HIPRT_INF_BF16 __ushort_as_bfloat16(0x7f80)
#define HIPRT_NAN_BF16 __ushort_as_bfloat16(0x7fff)
#define HIPRT_MAX_NORMAL_BF16 __ushort_as_bfloat16(0x7f7f)
#define HIPRT_MIN_DENORM_BF16 __ushort_as_bfloat16(1)

__device__ __forceinline__ __hip_bfloat16 __float2bfloat16(float x) { return x; }
__device__ __forceinline__ __hip_bfloat16 __double2bfloat16(double x) { return static_cast<float>(x); }
__device__ __forceinline__ float __bfloat162float(__hip_bfloat16 x) { return x; }

__device__ __forceinline__ __hip_bfloat162 __halves2bfloat162(__hip_bfloat16 x, __hip_bfloat16 y) { return {x, y}; }
__device__ __forceinline__ __hip_bfloat162 __bfloat162bfloat162(__hip_bfloat16 x) { return {x, x}; }
__device__ __forceinline__ __hip_bfloat162 __floats2bfloat162_rn(float x, float y) { return {x, y}; }
__device__ __forceinline__ __hip_bfloat162 __float22bfloat162_rn(float2 v) { return {v.x, v.y}; }
__device__ __forceinline__ float2 __bfloat1622float2(__hip_bfloat162 v) { return {v.x, v.y}; }
__device__ __forceinline__ __hip_bfloat16 __low2bfloat16(__hip_bfloat162 v) { return v.x; }
__device__ __forceinline__ __hip_bfloat16 __high2bfloat16(__hip_bfloat162 v) { return v.y; }
__device__ __forceinline__ __hip_bfloat162 __low2bfloat162(__hip_bfloat162 v) { return {v.x, v.x}; }
__device__ __forceinline__ __hip_bfloat162 __high2bfloat162(__hip_bfloat162 v) { return {v.y, v.y}; }
__device__ __forceinline__ __hip_bfloat162 __lows2bfloat162(__hip_bfloat162 a, __hip_bfloat162 b) { return {a.x, b.x}; }
__device__ __forceinline__ __hip_bfloat162 __highs2bfloat162(__hip_bfloat162 a, __hip_bfloat162 b) {
  return {a.y, b.y};
}

#include "wave_device/bring_macros_back.h"
