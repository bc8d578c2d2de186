// The 8-bit floats: those of OCP, and those of gfx942 (FNUZ: no infinities, one NaN, no negative zero). A processor's
// conversion instructions are for one kind at most; all else is computed.
#pragma once

#include <hip/hip_bf16.h>
#include <hip/hip_fp16.h>
#include <hip/hip_runtime.h>

#include "wave_device/set_macros_aside.h"

enum __hip_fp8_interpretation_t { __HIP_E4M3 = 0, __HIP_E5M2 = 1, __HIP_E4M3_FNUZ = 2, __HIP_E5M2_FNUZ = 3 };
enum __hip_saturation_t { __HIP_NOSAT = 0, __HIP_SATFINITE = 1 };
typedef unsigned char __hip_fp8_storage_t;
typedef unsigned short __hip_fp8x2_storage_t;  // the first number is in the low byte
typedef unsigned __hip_fp8x4_storage_t;

namespace wave_device {

enum class Fp8Kind { None, Ocp, Fnuz };
#if defined(__gfx940__) || defined(__gfx941__) || defined(__gfx942__)
constexpr Fp8Kind kFp8OfProcessor = Fp8Kind::Fnuz;
#define WAVE_HAS_FP8 1
#elif defined(__gfx950__) || defined(__GFX12__)
constexpr Fp8Kind kFp8OfProcessor = Fp8Kind::Ocp;
#define WAVE_HAS_FP8 1
#else
constexpr Fp8Kind kFp8OfProcessor = Fp8Kind::None;
#define WAVE_HAS_FP8 0
#endif

template <int kFractionBits, Fp8Kind kKindOfIt>
struct Fp8Format {
  static constexpr int kFraction = kFractionBits;
  static constexpr Fp8Kind kKind = kKindOfIt;
  static constexpr bool kIsFnuz = kKind == Fp8Kind::Fnuz, kHasInfinity = !kIsFnuz && kFraction == 2;
  static constexpr int kBias = (1 << (6 - kFraction)) - (kIsFnuz ? 0 : 1);
  static constexpr unsigned kLargest = kIsFnuz ? 0x7f : kHasInfinity ? 0x7b : 0x7e;
  static constexpr float kLargestValue = kFraction == 2 ? 57344.0f : kIsFnuz ? 240.0f : 448.0f;
};
using E4m3 = Fp8Format<3, Fp8Kind::Ocp>;
using E5m2 = Fp8Format<2, Fp8Kind::Ocp>;
using E4m3Fnuz = Fp8Format<3, Fp8Kind::Fnuz>;
using E5m2Fnuz = Fp8Format<2, Fp8Kind::Fnuz>;

/// A float or a double to the nearest number, half to the even one, rounded once. What is finite and too large becomes
/// the largest number, or, without saturation, what infinities become: those of the format, or NaN.
template <class F, class T>
__device__ __forceinline__ __hip_fp8_storage_t computed_fp8(T x, bool saturates) {
  constexpr int kDropped = Format<T>::kFraction - F::kFraction;
  using Bits = typename Format<T>::Bits;
  const unsigned sign = is_negative(x) ? 0x80 : 0;
  const T size = magnitude(x);
  const unsigned nan = F::kIsFnuz ? 0x80 : sign | 0x7f, infinity = F::kHasInfinity ? sign | 0x7c : nan;
  if (!is_finite(x)) return static_cast<__hip_fp8_storage_t>(x != x ? nan : infinity);
  Bits code;
  if (size < of_bits<T>(Bits{Format<T>::kBias + 1 - F::kBias} << Format<T>::kFraction)) {
    // Below 2^(1 - bias) numbers lie 2^(1 - bias - fraction) apart; this product is exact.
    constexpr int kScale = F::kBias + F::kFraction - 1;
    code = static_cast<Bits>(__builtin_elementwise_rint(size * static_cast<T>(1 << kScale)));
  } else {
    const Bits bits = bits_of(size), half = (Bits{1} << (kDropped - 1)) - 1;
    code = ((bits + half + (bits >> kDropped & 1)) >> kDropped) - (Bits{Format<T>::kBias - F::kBias} << F::kFraction);
  }
  if (code > F::kLargest) return static_cast<__hip_fp8_storage_t>(saturates ? sign | F::kLargest : infinity);
  const bool is_zero = F::kIsFnuz && code == 0;  // there is one zero
  return static_cast<__hip_fp8_storage_t>(is_zero ? 0 : sign | static_cast<unsigned>(code));
}
template <class F>
__device__ __forceinline__ float computed_value(__hip_fp8_storage_t x) {
  const unsigned code = x & 0x7f, exponent = code >> F::kFraction;
  float size;
  if (exponent == 0) {
    size = static_cast<float>(code) * (1.0f / (1 << (F::kBias + F::kFraction - 1)));
  } else {
    size = of_bits<float>((code << (23 - F::kFraction)) + ((127u - F::kBias) << 23));
  }
  if (F::kIsFnuz && x == 0x80) return Format<float>::kNan;
  if (!F::kIsFnuz && code > F::kLargest) {
    size = F::kHasInfinity && code == 0x7c ? Format<float>::kInfinity : Format<float>::kNan;
  }
  return (x & 0x80) != 0 ? -size : size;
}

template <class F>
__device__ __forceinline__ __hip_fp8_storage_t fp8_of(double x, bool saturates) {
  return computed_fp8<F>(x, saturates);
}
template <class F>
__device__ __forceinline__ __hip_fp8_storage_t fp8_of(float x, bool saturates) {
#if WAVE_HAS_FP8
  if constexpr (F::kKind == kFp8OfProcessor) {
    if (saturates && is_finite(x)) x = __builtin_amdgcn_fmed3f(x, -F::kLargestValue, F::kLargestValue);
    const int packed = F::kFraction == 3 ? __builtin_amdgcn_cvt_pk_fp8_f32(x, x, 0, false)
                                         : __builtin_amdgcn_cvt_pk_bf8_f32(x, x, 0, false);
    return static_cast<__hip_fp8_storage_t>(packed & 255);
  }
#endif
  return computed_fp8<F>(x, saturates);
}
template <class F>
__device__ __forceinline__ float value_of_fp8(__hip_fp8_storage_t x) {
#if WAVE_HAS_FP8
  if constexpr (F::kKind == kFp8OfProcessor) {
    return F::kFraction == 3 ? __builtin_amdgcn_cvt_f32_fp8(x, 0) : __builtin_amdgcn_cvt_f32_bf8(x, 0);
  }
#endif
  return computed_value<F>(x);
}
#undef WAVE_HAS_FP8

/// Integers, halves and bfloat16s go through float.
template <class F, class T>
__device__ __forceinline__ __hip_fp8_storage_t fp8_of(T x, bool saturates) {
  return fp8_of<F>(static_cast<float>(x), saturates);
}
template <class F, class T>
__device__ __forceinline__ __hip_fp8x2_storage_t fp8_of(Vector<T, 2> v, bool saturates) {
  return static_cast<__hip_fp8x2_storage_t>(fp8_of<F>(v.x, saturates) | fp8_of<F>(v.y, saturates) << 8);
}
template <class F>
__device__ __forceinline__ float2 values_of_fp8(__hip_fp8x2_storage_t x) {
  return {value_of_fp8<F>(static_cast<__hip_fp8_storage_t>(x & 255)),
          value_of_fp8<F>(static_cast<__hip_fp8_storage_t>(x >> 8))};
}

/// Calls a function with the format.
template <class Function>
__device__ __forceinline__ auto with_fp8_format(__hip_fp8_interpretation_t interpretation, Function function) {
  switch (interpretation) {
    case __HIP_E4M3:
      return function(E4m3());
    case __HIP_E5M2:
      return function(E5m2());
    case __HIP_E4M3_FNUZ:
      return function(E4m3Fnuz());
    default:
      return function(E5m2Fnuz());
  }
}

template <class T>
__device__ __forceinline__ auto fp8_as(T x, __hip_saturation_t saturation, __hip_fp8_interpretation_t interpretation) {
  const bool saturates = saturation == __HIP_SATFINITE;
  return with_fp8_format(interpretation, [&](auto format) { return fp8_of<decltype(format)>(x, saturates); });
}

}  // namespace wave_device

#define WAVE_TO_FP8(name, T, Storage, x_as)                                                        \
  __device__ __forceinline__ Storage __hip_cvt_##name(T x, __hip_saturation_t saturation,          \
                                                      __hip_fp8_interpretation_t interpretation) { \
    return wave_device::fp8_as(x_as, saturation, interpretation);                                  \
  }
WAVE_TO_FP8(float_to_fp8, float, __hip_fp8_storage_t, x)
WAVE_TO_FP8(double_to_fp8, double, __hip_fp8_storage_t, x)
WAVE_TO_FP8(halfraw_to_fp8, __half_raw, __hip_fp8_storage_t, static_cast<float>(__half(x)))
WAVE_TO_FP8(bfloat16raw_to_fp8, __hip_bfloat16_raw, __hip_fp8_storage_t, static_cast<float>(__hip_bfloat16(x)))
WAVE_TO_FP8(float2_to_fp8x2, float2, __hip_fp8x2_storage_t, x)
WAVE_TO_FP8(double2_to_fp8x2, double2, __hip_fp8x2_storage_t, x)
WAVE_TO_FP8(halfraw2_to_fp8x2, __half2_raw, __hip_fp8x2_storage_t, __half2(x))
WAVE_TO_FP8(bfloat16raw2_to_fp8x2, __hip_bfloat162_raw, __hip_fp8x2_storage_t, __hip_bfloat162(x))
#undef WAVE_TO_FP8

// A half has all numbers of all formats.
__device__ __forceinline__ __half_raw __hip_cvt_fp8_to_halfraw(__hip_fp8_storage_t x,
                                                               __hip_fp8_interpretation_t interpretation) {
  return wave_device::with_fp8_format(interpretation, [&](auto format) {
    return __half_raw(static_cast<__half>(wave_device::value_of_fp8<decltype(format)>(x)));
  });
}
__device__ __forceinline__ __half2_raw __hip_cvt_fp8x2_to_halfraw2(__hip_fp8x2_storage_t x,
                                                                   __hip_fp8_interpretation_t interpretation) {
  return {__hip_cvt_fp8_to_halfraw(static_cast<__hip_fp8_storage_t>(x & 255), interpretation),
          __hip_cvt_fp8_to_halfraw(static_cast<__hip_fp8_storage_t>(x >> 8), interpretation)};
}

// As in HIP, numbers that are too large become the largest one.
#define WAVE_FP8(suffix, Format)                                                                                      \
  struct __hip_fp8_##suffix {                                                                                         \
    __hip_fp8_storage_t __x;                                                                                          \
    __hip_fp8_##suffix() = default;                                                                                   \
    template <class T>                                                                                                \
    __device__ __forceinline__ __hip_fp8_##suffix(T x) : __x(wave_device::fp8_of<wave_device::Format>(x, true)) {}    \
    __device__ __forceinline__ operator float() const { return wave_device::value_of_fp8<wave_device::Format>(__x); } \
  };                                                                                                                  \
  struct __hip_fp8x2_##suffix {                                                                                       \
    __hip_fp8x2_storage_t __x;                                                                                        \
    __hip_fp8x2_##suffix() = default;                                                                                 \
    template <class T>                                                                                                \
    __device__ __forceinline__ __hip_fp8x2_##suffix(wave_device::Vector<T, 2> v)                                      \
        : __x(wave_device::fp8_of<wave_device::Format>(v, true)) {}                                                   \
    __device__ __forceinline__ operator float2() const {                                                              \
      return wave_device::values_of_fp8<wave_device::Format>(__x);                                                    \
    }                                                                                                                 \
    __device__ __forceinline__ operator __half2() const { return __float22half2_rn(*this); }                          \
  };                                                                                                                  \
  struct __hip_fp8x4_##suffix {                                                                                       \
    __hip_fp8x4_storage_t __x;                                                                                        \
    __hip_fp8x4_##suffix() = default;                                                                                 \
    template <class T>                                                                                                \
    __device__ __forceinline__ __hip_fp8x4_##suffix(wave_device::Vector<T, 2> low, wave_device::Vector<T, 2> high)    \
        : __x(__hip_fp8x2_##suffix(low).__x | static_cast<unsigned>(__hip_fp8x2_##suffix(high).__x) << 16) {}         \
    template <class T>                                                                                                \
    __device__ __forceinline__ __hip_fp8x4_##suffix(wave_device::Vector<T, 4> v)                                      \
        : __hip_fp8x4_##suffix(wave_device::Vector<T, 2>{v.x, v.y}, wave_device::Vector<T, 2>{v.z, v.w}) {}           \
    __device__ __forceinline__ operator float4() const {                                                              \
      const float2 low = wave_device::values_of_fp8<wave_device::Format>(static_cast<unsigned short>(__x));           \
      const float2 high = wave_device::values_of_fp8<wave_device::Format>(static_cast<unsigned short>(__x >> 16));    \
      return {low.x, low.y, high.x, high.y};                                                                          \
    }                                                                                                                 \
  };
WAVE_FP8(e4m3, E4m3)
WAVE_FP8(e5m2, E5m2)
WAVE_FP8(e4m3_fnuz, E4m3Fnuz)
WAVE_FP8(e5m2_fnuz, E5m2Fnuz)
#undef WAVE_FP8

#include "wave_device/bring_macros_back.h"
