// Half precision: __half is the compiler's own type, with its arithmetic.
#pragma once

#include <hip/hip_runtime.h>

using __half = _Float16;
using half = _Float16;
using __half2 = wave_device::Vector<_Float16, 2>;
using half2 = __half2;

__device__ __forceinline__ __half __float2half(float x) { return static_cast<__half>(x); }
__device__ __forceinline__ __half __float2half_rn(float x) { return static_cast<__half>(x); }
__device__ __forceinline__ float __half2float(__half x) { return static_cast<float>(x); }
__device__ __forceinline__ __half __int2half_rn(int x) { return static_cast<__half>(x); }
__device__ __forceinline__ int __half2int_rz(__half x) { return static_cast<int>(x); }
__device__ __forceinline__ __half __ushort_as_half(unsigned short x) { return __builtin_bit_cast(__half, x); }
__device__ __forceinline__ unsigned short __half_as_ushort(__half x) { return __builtin_bit_cast(unsigned short, x); }

__device__ __forceinline__ __half __hadd(__half a, __half b) { return a + b; }
__device__ __forceinline__ __half __hsub(__half a, __half b) { return a - b; }
__device__ __forceinline__ __half __hmul(__half a, __half b) { return a * b; }
__device__ __forceinline__ __half __hdiv(__half a, __half b) { return a / b; }
__device__ __forceinline__ __half __hneg(__half a) { return -a; }
__device__ __forceinline__ __half __habs(__half a) { return __builtin_elementwise_abs(a); }
__device__ __forceinline__ __half __hfma(__half a, __half b, __half c) { return __builtin_elementwise_fma(a, b, c); }
__device__ __forceinline__ __half __hmax(__half a, __half b) { return __builtin_elementwise_max(a, b); }
__device__ __forceinline__ __half __hmin(__half a, __half b) { return __builtin_elementwise_min(a, b); }
__device__ __forceinline__ bool __hisnan(__half a) { return a != a; }
__device__ __forceinline__ int __hisinf(__half a) {
  return __habs(a) == static_cast<__half>(__builtin_inff()) ? (a > static_cast<__half>(0) ? 1 : -1) : 0;
}

#define WAVE_HALF_COMPARISON(name, op)                                             \
  __device__ __forceinline__ bool __h##name(__half a, __half b) { return a op b; } \
  __device__ __forceinline__ bool __hb##name##2(__half2 a, __half2 b) { return a.x op b.x && a.y op b.y; }
WAVE_HALF_COMPARISON(eq, ==)
WAVE_HALF_COMPARISON(ne, !=)
WAVE_HALF_COMPARISON(lt, <)
WAVE_HALF_COMPARISON(le, <=)
WAVE_HALF_COMPARISON(gt, >)
WAVE_HALF_COMPARISON(ge, >=)
#undef WAVE_HALF_COMPARISON

// Of one number and of two; those that hardware lacks are computed in f32 and rounded.
#define WAVE_HALF_FUNCTION(name, value)                                 \
  __device__ __forceinline__ __half h##name(__half a) { return value; } \
  __device__ __forceinline__ __half2 h2##name(__half2 v) { return {h##name(v.x), h##name(v.y)}; }
WAVE_HALF_FUNCTION(ceil, __builtin_elementwise_ceil(a))
WAVE_HALF_FUNCTION(floor, __builtin_elementwise_floor(a))
WAVE_HALF_FUNCTION(rint, __builtin_elementwise_rint(a))
WAVE_HALF_FUNCTION(trunc, __builtin_elementwise_trunc(a))
WAVE_HALF_FUNCTION(sqrt, __builtin_elementwise_sqrt(a))
WAVE_HALF_FUNCTION(rcp, static_cast<__half>(1) / a)
WAVE_HALF_FUNCTION(rsqrt, static_cast<__half>(rsqrtf(a)))
WAVE_HALF_FUNCTION(exp, static_cast<__half>(expf(a)))
WAVE_HALF_FUNCTION(exp2, static_cast<__half>(exp2f(a)))
WAVE_HALF_FUNCTION(exp10, static_cast<__half>(exp10f(a)))
WAVE_HALF_FUNCTION(log, static_cast<__half>(logf(a)))
WAVE_HALF_FUNCTION(log2, static_cast<__half>(log2f(a)))
WAVE_HALF_FUNCTION(log10, static_cast<__half>(log10f(a)))
WAVE_HALF_FUNCTION(sin, static_cast<__half>(sinf(a)))
WAVE_HALF_FUNCTION(cos, static_cast<__half>(cosf(a)))
#undef WAVE_HALF_FUNCTION

__device__ __forceinline__ __half2 __halves2half2(__half x, __half y) { return {x, y}; }
__device__ __forceinline__ __half2 make_half2(__half x, __half y) { return {x, y}; }
__device__ __forceinline__ __half2 __half2half2(__half x) { return {x, x}; }
__device__ __forceinline__ __half2 __float2half2_rn(float x) { return __half2half2(__float2half(x)); }
__device__ __forceinline__ __half2 __floats2half2_rn(float x, float y) { return {__float2half(x), __float2half(y)}; }
__device__ __forceinline__ float2 __half22float2(__half2 v) { return {__half2float(v.x), __half2float(v.y)}; }
__device__ __forceinline__ __half __low2half(__half2 v) { return v.x; }
__device__ __forceinline__ __half __high2half(__half2 v) { return v.y; }
__device__ __forceinline__ float __low2float(__half2 v) { return __half2float(v.x); }
__device__ __forceinline__ float __high2float(__half2 v) { return __half2float(v.y); }
__device__ __forceinline__ __half2 __hadd2(__half2 a, __half2 b) { return a + b; }
__device__ __forceinline__ __half2 __hsub2(__half2 a, __half2 b) { return a - b; }
__device__ __forceinline__ __half2 __hmul2(__half2 a, __half2 b) { return a * b; }
__device__ __forceinline__ __half2 __h2div(__half2 a, __half2 b) { return a / b; }
__device__ __forceinline__ __half2 __hneg2(__half2 a) { return {-a.x, -a.y}; }
__device__ __forceinline__ __half2 __habs2(__half2 a) { return {__habs(a.x), __habs(a.y)}; }
__device__ __forceinline__ __half2 __hmax2(__half2 a, __half2 b) { return {__hmax(a.x, b.x), __hmax(a.y, b.y)}; }
__device__ __forceinline__ __half2 __hmin2(__half2 a, __half2 b) { return {__hmin(a.x, b.x), __hmin(a.y, b.y)}; }
__device__ __forceinline__ __half2 __hfma2(__half2 a, __half2 b, __half2 c) {
  return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)};
}
