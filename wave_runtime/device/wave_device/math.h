// Math without device libraries: what the compiler expands itself, and approximations in f32 where it expands nothing.
// Errors are in units in the last place of f32, unless they are called absolute. Of f64 there is what hardware computes.
#pragma once

#define WAVE_MATH_1(name, builtin)                                                               \
  __device__ __forceinline__ float name##f(float x) { return builtin(x); }                       \
  __device__ __forceinline__ float name(float x) { return builtin(x); }                          \
  __device__ __forceinline__ double name(double x) { return builtin(x); }
#define WAVE_MATH_2(name, builtin)                                                               \
  __device__ __forceinline__ float name##f(float x, float y) { return builtin(x, y); }           \
  __device__ __forceinline__ float name(float x, float y) { return builtin(x, y); }              \
  __device__ __forceinline__ double name(double x, double y) { return builtin(x, y); }

WAVE_MATH_1(sqrt, __builtin_elementwise_sqrt)
WAVE_MATH_1(fabs, __builtin_elementwise_abs)
WAVE_MATH_1(floor, __builtin_elementwise_floor)
WAVE_MATH_1(ceil, __builtin_elementwise_ceil)
WAVE_MATH_1(trunc, __builtin_elementwise_trunc)
WAVE_MATH_1(round, __builtin_elementwise_round)
WAVE_MATH_1(rint, __builtin_elementwise_rint)
WAVE_MATH_1(nearbyint, __builtin_elementwise_nearbyint)
WAVE_MATH_2(copysign, __builtin_elementwise_copysign)
WAVE_MATH_2(fmin, __builtin_elementwise_min)
WAVE_MATH_2(fmax, __builtin_elementwise_max)

#undef WAVE_MATH_1
#undef WAVE_MATH_2

__device__ __forceinline__ float fmaf(float x, float y, float z) { return __builtin_elementwise_fma(x, y, z); }
__device__ __forceinline__ float fma(float x, float y, float z) { return __builtin_elementwise_fma(x, y, z); }
__device__ __forceinline__ double fma(double x, double y, double z) { return __builtin_elementwise_fma(x, y, z); }
__device__ __forceinline__ float min(float x, float y) { return fminf(x, y); }
__device__ __forceinline__ float max(float x, float y) { return fmaxf(x, y); }
__device__ __forceinline__ double min(double x, double y) { return fmin(x, y); }
__device__ __forceinline__ double max(double x, double y) { return fmax(x, y); }
__device__ __forceinline__ float abs(float x) { return fabsf(x); }
__device__ __forceinline__ double abs(double x) { return fabs(x); }
__device__ __forceinline__ float rsqrtf(float x) { return 1.0f / sqrtf(x); }
__device__ __forceinline__ double rsqrt(double x) { return 1.0 / sqrt(x); }
__device__ __forceinline__ float rsqrt(float x) { return rsqrtf(x); }
__device__ __forceinline__ bool isnan(float x) { return x != x; }
__device__ __forceinline__ bool isnan(double x) { return x != x; }
__device__ __forceinline__ bool isinf(float x) { return fabsf(x) == __builtin_inff(); }
__device__ __forceinline__ bool isinf(double x) { return fabs(x) == __builtin_inf(); }
__device__ __forceinline__ bool isfinite(float x) { return fabsf(x) < __builtin_inff(); }
__device__ __forceinline__ bool isfinite(double x) { return fabs(x) < __builtin_inf(); }
__device__ __forceinline__ float ldexpf(float x, int exponent) { return __builtin_amdgcn_ldexpf(x, exponent); }
__device__ __forceinline__ float saturatef(float x) { return fminf(fmaxf(x, 0.0f), 1.0f); }

// Of the compiler: about 2 units.
__device__ __forceinline__ float expf(float x) { return __builtin_elementwise_exp(x); }
__device__ __forceinline__ float exp2f(float x) { return __builtin_elementwise_exp2(x); }
__device__ __forceinline__ float logf(float x) { return __builtin_elementwise_log(x); }
__device__ __forceinline__ float log2f(float x) { return __builtin_elementwise_log2(x); }
__device__ __forceinline__ float log10f(float x) { return __builtin_elementwise_log10(x); }

__device__ __forceinline__ float exp10f(float x) {
  const float high = x * 3.321928094887362f;
  return exp2f(high) * exp2f(fmaf(x, 3.321928094887362f, -high) + x * 6.0e-8f);
}
// By Kahan's quotients: about 5 units.
__device__ __forceinline__ float expm1f(float x) {
  const float y = expf(x);
  if (y == 1.0f) return x;
  return y == 0.0f || isinf(y) ? y - 1.0f : (y - 1.0f) * (x / logf(y));
}
__device__ __forceinline__ float log1pf(float x) {
  const float y = 1.0f + x;
  return y == 1.0f || y == __builtin_inff() ? x : logf(y) * (x / (y - 1.0f));
}

// The error grows with the result's logarithm: about 1 + |y log2(x)| units.
__device__ __forceinline__ float powf(float x, float y) {
  if (y == 0.0f || x == 1.0f) return 1.0f;
  const float magnitude = exp2f(y * log2f(fabsf(x)));
  if (!(x < 0.0f)) return magnitude;
  if (truncf(y) != y) return __builtin_nanf("");
  return truncf(0.5f * y) * 2.0f == y ? magnitude : -magnitude;
}

namespace wave_device {

/// The nearest multiple of pi / 2, and what is left: exact enough for |x| < 10000.
struct Quarter {
  int quadrant;
  float rest;
};
__device__ __forceinline__ Quarter quarter_of(float x) {
  const float k = rintf(x * 0.6366197723675814f);
  float rest = fmaf(k, -1.5703125f, x);
  rest = fmaf(k, -4.837512969970703e-4f, rest);
  rest = fmaf(k, -7.549789948768648e-8f, rest);
  return {static_cast<int>(k), rest};
}
__device__ __forceinline__ float sine_of(float x) {
  const float square = x * x;
  const float p = fmaf(fmaf(-1.9515295891e-4f, square, 8.3321608736e-3f), square, -1.6666654611e-1f);
  return fmaf(p * square, x, x);
}
__device__ __forceinline__ float cosine_of(float x) {
  const float square = x * x;
  const float p = fmaf(fmaf(2.443315711809948e-5f, square, -1.388731625493765e-3f), square, 4.166664568298827e-2f);
  return fmaf(p, square * square, fmaf(-0.5f, square, 1.0f));
}
__device__ __forceinline__ float sine_of(Quarter quarter) {
  const float value = quarter.quadrant & 1 ? cosine_of(quarter.rest) : sine_of(quarter.rest);
  return quarter.quadrant & 2 ? -value : value;
}

}  // namespace wave_device

// About 2 units, and absolute 1e-7 near the zeros, for |x| < 10000.
__device__ __forceinline__ float sinf(float x) { return wave_device::sine_of(wave_device::quarter_of(x)); }
__device__ __forceinline__ float cosf(float x) {
  wave_device::Quarter quarter = wave_device::quarter_of(x);
  ++quarter.quadrant;
  return wave_device::sine_of(quarter);
}
__device__ __forceinline__ void sincosf(float x, float* sine, float* cosine) { *sine = sinf(x), *cosine = cosf(x); }
__device__ __forceinline__ float tanf(float x) { return sinf(x) / cosf(x); }

// About 3 units.
__device__ __forceinline__ float tanhf(float x) {
  if (fabsf(x) > 0.625f) return copysignf(1.0f - 2.0f / (expf(2.0f * fabsf(x)) + 1.0f), x);
  const float square = x * x;
  float p = fmaf(-5.70498872745e-3f, square, 2.06390887954e-2f);
  p = fmaf(p, square, -5.37397155531e-2f);
  p = fmaf(p, square, 1.33314422036e-1f);
  p = fmaf(p, square, -3.33332819422e-1f);
  return fmaf(p * square, x, x);
}

// Absolute 3e-7 (Abramowitz and Stegun 7.1.26), and a series near 0.
__device__ __forceinline__ float erff(float x) {
  const float a = fabsf(x);
  if (a < 0.5f) {
    const float square = x * x;
    float p = fmaf(-1.0f / 1320.0f, square, 1.0f / 216.0f);
    p = fmaf(p, square, -1.0f / 42.0f);
    p = fmaf(p, square, 0.1f);
    p = fmaf(p, square, -1.0f / 3.0f);
    return 1.1283791670955126f * fmaf(p * square, x, x);
  }
  const float t = 1.0f / fmaf(0.3275911f, a, 1.0f);
  float p = fmaf(1.061405429f, t, -1.453152027f);
  p = fmaf(p, t, 1.421413741f);
  p = fmaf(p, t, -0.284496736f);
  p = fmaf(p, t, 0.254829592f);
  return copysignf(1.0f - p * t * expf(-a * a), x);
}

__device__ __forceinline__ float exp(float x) { return expf(x); }
__device__ __forceinline__ float exp2(float x) { return exp2f(x); }
__device__ __forceinline__ float log(float x) { return logf(x); }
__device__ __forceinline__ float log2(float x) { return log2f(x); }
__device__ __forceinline__ float log10(float x) { return log10f(x); }
__device__ __forceinline__ float pow(float x, float y) { return powf(x, y); }
__device__ __forceinline__ float sin(float x) { return sinf(x); }
__device__ __forceinline__ float cos(float x) { return cosf(x); }
__device__ __forceinline__ float tanh(float x) { return tanhf(x); }
__device__ __forceinline__ float erf(float x) { return erff(x); }

// What hardware computes in one instruction.
__device__ __forceinline__ float __expf(float x) { return __builtin_amdgcn_exp2f(x * 1.4426950408889634f); }
__device__ __forceinline__ float __logf(float x) { return __builtin_amdgcn_logf(x) * 0.6931471805599453f; }
__device__ __forceinline__ float __log2f(float x) { return __builtin_amdgcn_logf(x); }
__device__ __forceinline__ float __sinf(float x) { return __builtin_amdgcn_sinf(x * 0.15915494309189535f); }
__device__ __forceinline__ float __cosf(float x) { return __builtin_amdgcn_cosf(x * 0.15915494309189535f); }
__device__ __forceinline__ float __powf(float x, float y) {
  return __builtin_amdgcn_exp2f(y * __builtin_amdgcn_logf(x));
}
__device__ __forceinline__ float __frcp_rn(float x) { return 1.0f / x; }
__device__ __forceinline__ float __fsqrt_rn(float x) { return sqrtf(x); }
__device__ __forceinline__ float __frsqrt_rn(float x) { return __builtin_amdgcn_rsqf(x); }
__device__ __forceinline__ float __fdividef(float x, float y) { return x * __builtin_amdgcn_rcpf(y); }
__device__ __forceinline__ float __fmaf_rn(float x, float y, float z) { return fmaf(x, y, z); }
__device__ __forceinline__ float __fadd_rn(float x, float y) { return x + y; }
__device__ __forceinline__ float __fmul_rn(float x, float y) { return x * y; }

__device__ __forceinline__ int __float2int_rn(float x) { return static_cast<int>(rintf(x)); }
__device__ __forceinline__ int __float2int_rz(float x) { return static_cast<int>(x); }
__device__ __forceinline__ int __float2int_rd(float x) { return static_cast<int>(floorf(x)); }
__device__ __forceinline__ int __float2int_ru(float x) { return static_cast<int>(ceilf(x)); }
__device__ __forceinline__ unsigned __float2uint_rn(float x) { return static_cast<unsigned>(rintf(x)); }
__device__ __forceinline__ unsigned __float2uint_rz(float x) { return static_cast<unsigned>(x); }
__device__ __forceinline__ float __int2float_rn(int x) { return static_cast<float>(x); }
__device__ __forceinline__ float __uint2float_rn(unsigned x) { return static_cast<float>(x); }
