// Bits and integers.
#pragma once

__device__ __forceinline__ int __clz(int x) { return x == 0 ? 32 : __builtin_clz(x); }
__device__ __forceinline__ int __clzll(long long x) { return x == 0 ? 64 : __builtin_clzll(x); }
__device__ __forceinline__ int __ffs(unsigned x) { return __builtin_ffs(x); }
__device__ __forceinline__ int __ffsll(unsigned long long x) { return __builtin_ffsll(x); }
__device__ __forceinline__ int __popc(unsigned x) { return __builtin_popcount(x); }
__device__ __forceinline__ int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
__device__ __forceinline__ unsigned __brev(unsigned x) { return __builtin_bitreverse32(x); }
__device__ __forceinline__ unsigned long long __brevll(unsigned long long x) { return __builtin_bitreverse64(x); }
__device__ __forceinline__ int __mulhi(int a, int b) { return static_cast<int>((static_cast<long long>(a) * b) >> 32); }
__device__ __forceinline__ unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>((static_cast<unsigned long long>(a) * b) >> 32);
}
__device__ __forceinline__ unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return static_cast<unsigned long long>((static_cast<unsigned __int128>(a) * b) >> 64);
}
__device__ __forceinline__ int __mul24(int a, int b) { return (a << 8 >> 8) * (b << 8 >> 8); }
__device__ __forceinline__ unsigned __umul24(unsigned a, unsigned b) { return (a & 0xffffff) * (b & 0xffffff); }

#define WAVE_MIN_MAX(T)                                                      \
  __device__ __forceinline__ constexpr T min(T a, T b) { return b < a ? b : a; } \
  __device__ __forceinline__ constexpr T max(T a, T b) { return a < b ? b : a; }

WAVE_MIN_MAX(int)
WAVE_MIN_MAX(unsigned)
WAVE_MIN_MAX(long)
WAVE_MIN_MAX(unsigned long)
WAVE_MIN_MAX(long long)
WAVE_MIN_MAX(unsigned long long)
// Mixed signs compare as unsigned numbers, as in HIP.
__device__ __forceinline__ constexpr unsigned min(int a, unsigned b) { return min(static_cast<unsigned>(a), b); }
__device__ __forceinline__ constexpr unsigned min(unsigned a, int b) { return min(a, static_cast<unsigned>(b)); }
__device__ __forceinline__ constexpr unsigned max(int a, unsigned b) { return max(static_cast<unsigned>(a), b); }
__device__ __forceinline__ constexpr unsigned max(unsigned a, int b) { return max(a, static_cast<unsigned>(b)); }

#undef WAVE_MIN_MAX

__device__ __forceinline__ constexpr int abs(int x) { return x < 0 ? -x : x; }
__device__ __forceinline__ constexpr long abs(long x) { return x < 0 ? -x : x; }
__device__ __forceinline__ constexpr long long abs(long long x) { return x < 0 ? -x : x; }

__device__ __forceinline__ float __int_as_float(int x) { return __builtin_bit_cast(float, x); }
__device__ __forceinline__ float __uint_as_float(unsigned x) { return __builtin_bit_cast(float, x); }
__device__ __forceinline__ int __float_as_int(float x) { return __builtin_bit_cast(int, x); }
__device__ __forceinline__ unsigned __float_as_uint(float x) { return __builtin_bit_cast(unsigned, x); }
__device__ __forceinline__ double __longlong_as_double(long long x) { return __builtin_bit_cast(double, x); }
__device__ __forceinline__ long long __double_as_longlong(double x) { return __builtin_bit_cast(long long, x); }
