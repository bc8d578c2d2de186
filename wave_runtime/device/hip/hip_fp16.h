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
__device__ __forceinline__ bool __heq(__half a, __half b) { return a == b; }
__device__ __forceinline__ bool __hlt(__half a, __half b) { return a < b; }
__device__ __forceinline__ bool __hgt(__half a, __half b) { return a > b; }
__device__ __forceinline__ bool __hisnan(__half a) { return a != a; }
__device__ __forceinline__ __half hsqrt(__half a) { return __builtin_elementwise_sqrt(a); }
__device__ __forceinline__ __half hexp(__half a) { return static_cast<__half>(expf(a)); }
__device__ __forceinline__ __half hlog(__half a) { return static_cast<__half>(logf(a)); }
__device__ __forceinline__ __half hrcp(__half a) { return static_cast<__half>(1) / a; }

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
__device__ __forceinline__ __half2 __hfma2(__half2 a, __half2 b, __half2 c) {
  return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)};
}
