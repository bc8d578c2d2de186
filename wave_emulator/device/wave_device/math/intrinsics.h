// Intrinsic functions: what hardware computes in few instructions, and conversions.
#pragma once

#include "wave_device/math/overloads.h"

// Approximations: v_exp_f32, v_log_f32, v_sin_f32 and v_cos_f32, whose results are machine's own.
__device__ __forceinline__ float __expf(float x) { return __builtin_amdgcn_exp2f(x * 1.4426950408889634f); }
__device__ __forceinline__ float __exp10f(float x) { return __builtin_amdgcn_exp2f(x * 3.3219280948873623f); }
__device__ __forceinline__ float __logf(float x) { return __builtin_amdgcn_logf(x) * 0.6931471805599453f; }
__device__ __forceinline__ float __log2f(float x) { return __builtin_amdgcn_logf(x); }
__device__ __forceinline__ float __log10f(float x) { return __builtin_amdgcn_logf(x) * 0.30102999566398120f; }
__device__ __forceinline__ float __sinf(float x) { return __builtin_amdgcn_sinf(x * 0.15915494309189535f); }
__device__ __forceinline__ float __cosf(float x) { return __builtin_amdgcn_cosf(x * 0.15915494309189535f); }
__device__ __forceinline__ float __tanf(float x) { return __sinf(x) * __builtin_amdgcn_rcpf(__cosf(x)); }
__device__ __forceinline__ void __sincosf(float x, float* sine, float* cosine) {
  *sine = __sinf(x), *cosine = __cosf(x);
}
__device__ __forceinline__ float __powf(float x, float y) {
  return __builtin_amdgcn_exp2f(y * __builtin_amdgcn_logf(x));
}
__device__ __forceinline__ float __fdividef(float x, float y) { return x * __builtin_amdgcn_rcpf(y); }

// Rounded once. The other directions of rounding are left out: a compiler assumes the nearest.
#define WAVE_ROUNDED(T, add, sub, mul, div, rcp, root, multiply_add)      \
  __device__ __forceinline__ T add(T x, T y) { WAVE_EXACT return x + y; } \
  __device__ __forceinline__ T sub(T x, T y) { WAVE_EXACT return x - y; } \
  __device__ __forceinline__ T mul(T x, T y) { WAVE_EXACT return x * y; } \
  __device__ __forceinline__ T div(T x, T y) { WAVE_EXACT return x / y; } \
  __device__ __forceinline__ T rcp(T x) { WAVE_EXACT return T(1) / x; }   \
  __device__ __forceinline__ T root(T x) { return sqrt(x); }              \
  __device__ __forceinline__ T multiply_add(T x, T y, T z) { return fma(x, y, z); }

WAVE_ROUNDED(float, __fadd_rn, __fsub_rn, __fmul_rn, __fdiv_rn, __frcp_rn, __fsqrt_rn, __fmaf_rn)
WAVE_ROUNDED(double, __dadd_rn, __dsub_rn, __dmul_rn, __ddiv_rn, __drcp_rn, __dsqrt_rn, __fma_rn)

#undef WAVE_ROUNDED

__device__ __forceinline__ float __frsqrt_rn(float x) { return rsqrtf(x); }
__device__ __forceinline__ float __saturatef(float x) { return fminf(fmaxf(x, 0.0f), 1.0f); }
__device__ __forceinline__ float saturatef(float x) { return __saturatef(x); }

// Conversions to integers, by the direction of rounding: to the nearest, to 0, down, up.
#define WAVE_TO_INTEGER(from, From, to, To)                                                        \
  __device__ __forceinline__ To __##from##2##to##_rn(From x) { return static_cast<To>(rint(x)); }  \
  __device__ __forceinline__ To __##from##2##to##_rz(From x) { return static_cast<To>(x); }        \
  __device__ __forceinline__ To __##from##2##to##_rd(From x) { return static_cast<To>(floor(x)); } \
  __device__ __forceinline__ To __##from##2##to##_ru(From x) { return static_cast<To>(ceil(x)); }

WAVE_TO_INTEGER(float, float, int, int)
WAVE_TO_INTEGER(float, float, uint, unsigned)
WAVE_TO_INTEGER(float, float, ll, long long)
WAVE_TO_INTEGER(float, float, ull, unsigned long long)
WAVE_TO_INTEGER(double, double, int, int)
WAVE_TO_INTEGER(double, double, uint, unsigned)
WAVE_TO_INTEGER(double, double, ll, long long)
WAVE_TO_INTEGER(double, double, ull, unsigned long long)

#undef WAVE_TO_INTEGER

namespace wave_device {

/// -1, 0 or 1: how a number compares with another that may have more bits, of those that conversions are from.
__device__ __forceinline__ int order(double a, double b) { return (a > b) - (a < b); }
template <class Integer>
__device__ __forceinline__ int order(double a, Integer b) {
  if constexpr (sizeof(Integer) == 4) return order(a, static_cast<double>(b));
  // What lies behind the largest integer; a number of an integer's size that is none has no conversion back.
  if (a >= (static_cast<Integer>(-1) < 0 ? 0x1p63 : 0x1p64)) return 1;
  const Integer whole = static_cast<Integer>(a);
  return (whole > b) - (whole < b);
}
/// The next number towards an infinity.
template <class T>
__device__ __forceinline__ T next_to(T x, bool up) {
  using Bits = typename Format<T>::Bits;
  if (x == 0) return with_sign(of_bits<T>(1), up ? T(1) : T(-1));
  return of_bits<T>(bits_of(x) + (up == (x > 0) ? Bits{1} : ~Bits{0}));
}
template <class To, class From>
__device__ __forceinline__ To rounded_down(From x) {
  const To near = static_cast<To>(x);
  return order(near, x) > 0 ? next_to(near, false) : near;
}
template <class To, class From>
__device__ __forceinline__ To rounded_up(From x) {
  const To near = static_cast<To>(x);
  return order(near, x) < 0 ? next_to(near, true) : near;
}

}  // namespace wave_device

// Conversions to floats, of integers and of doubles.
#define WAVE_TO_FLOAT(from, From, to)                                                                     \
  __device__ __forceinline__ to __##from##2##to##_rn(From x) { return static_cast<to>(x); }               \
  __device__ __forceinline__ to __##from##2##to##_rd(From x) { return wave_device::rounded_down<to>(x); } \
  __device__ __forceinline__ to __##from##2##to##_ru(From x) { return wave_device::rounded_up<to>(x); }   \
  __device__ __forceinline__ to __##from##2##to##_rz(From x) {                                            \
    return x < 0 ? wave_device::rounded_up<to>(x) : wave_device::rounded_down<to>(x);                     \
  }
WAVE_TO_FLOAT(int, int, float)
WAVE_TO_FLOAT(uint, unsigned, float)
WAVE_TO_FLOAT(ll, long long, float)
WAVE_TO_FLOAT(ull, unsigned long long, float)
WAVE_TO_FLOAT(ll, long long, double)
WAVE_TO_FLOAT(ull, unsigned long long, double)
WAVE_TO_FLOAT(double, double, float)
#undef WAVE_TO_FLOAT

__device__ __forceinline__ double __int2double_rn(int x) { return x; }
__device__ __forceinline__ double __uint2double_rn(unsigned x) { return x; }
__device__ __forceinline__ int __double2hiint(double x) { return static_cast<int>(wave_device::bits_of(x) >> 32); }
__device__ __forceinline__ int __double2loint(double x) { return static_cast<int>(wave_device::bits_of(x)); }
__device__ __forceinline__ double __hiloint2double(int high, int low) {
  const unsigned long bits = static_cast<unsigned long>(static_cast<unsigned>(high)) << 32 | static_cast<unsigned>(low);
  return wave_device::of_bits<double>(bits);
}
