// The 8-bit floats: those of OCP, and those of gfx942 (FNUZ: no infinities, one NaN, no negative zero). A processor's
// conversion instructions are for one kind at most; all else is computed.
#pragma once

#include <hip/hip_runtime.h>

#include "wave_device/set_macros_aside.h"

enum __hip_fp8_interpretation_t { __HIP_E4M3 = 0, __HIP_E5M2 = 1, __HIP_E4M3_FNUZ = 2, __HIP_E5M2_FNUZ = 3 };
enum __hip_saturation_t { __HIP_NOSAT = 0, __HIP_SATFINITE = 1 };
typedef unsigned char __hip_fp8_storage_t;

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

template <class T>
__device__ __forceinline__ __hip_fp8_storage_t fp8_as(T x, __hip_saturation_t saturation,
                                                      __hip_fp8_interpretation_t interpretation) {
  const bool saturates = saturation == __HIP_SATFINITE;
  switch (interpretation) {
    case __HIP_E4M3:
      return fp8_of<E4m3>(x, saturates);
    case __HIP_E5M2:
      return fp8_of<E5m2>(x, saturates);
    case __HIP_E4M3_FNUZ:
      return fp8_of<E4m3Fnuz>(x, saturates);
    default:
      return fp8_of<E5m2Fnuz>(x, saturates);
  }
}

}  // namespace wave_device

__device__ __forceinline__ __hip_fp8_storage_t __hip_cvt_float_to_fp8(float x, __hip_saturation_t saturation,
                                                                      __hip_fp8_interpretation_t interpretation) {
  return wave_device::fp8_as(x, saturation, interpretation);
}
__device__ __forceinline__ __hip_fp8_storage_t __hip_cvt_double_to_fp8(double x, __hip_saturation_t saturation,
                                                                       __hip_fp8_interpretation_t interpretation) {
  return wave_device::fp8_as(x, saturation, interpretation);
}

// As in HIP, numbers that are too large become the largest one. Integers, halves and bfloat16s go through float.
#define WAVE_FP8(name, Format)                                                                                        \
  struct name {                                                                                                       \
    __hip_fp8_storage_t __x;                                                                                          \
    name() = default;                                                                                                 \
    __device__ __forceinline__ name(float x) : __x(wave_device::fp8_of<wave_device::Format>(x, true)) {}              \
    __device__ __forceinline__ name(double x) : __x(wave_device::fp8_of<wave_device::Format>(x, true)) {}             \
    template <class T>                                                                                                \
    __device__ __forceinline__ name(T x) : name(static_cast<float>(x)) {}                                             \
    __device__ __forceinline__ operator float() const { return wave_device::value_of_fp8<wave_device::Format>(__x); } \
  };
WAVE_FP8(__hip_fp8_e4m3, E4m3)
WAVE_FP8(__hip_fp8_e5m2, E5m2)
WAVE_FP8(__hip_fp8_e4m3_fnuz, E4m3Fnuz)
WAVE_FP8(__hip_fp8_e5m2_fnuz, E5m2Fnuz)
#undef WAVE_FP8

#include "wave_device/bring_macros_back.h"
