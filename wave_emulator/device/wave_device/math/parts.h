// The parts of a number: sign, exponent, fraction; and what hardware computes.
#pragma once

#include "wave_device/math/two.h"

#define WAVE_MATH_1(name, builtin)                                         \
  __device__ __forceinline__ float name##f(float x) { return builtin(x); } \
  __device__ __forceinline__ float name(float x) { return builtin(x); }    \
  __device__ __forceinline__ double name(double x) { return builtin(x); }
#define WAVE_MATH_2(name, builtin)                                                     \
  __device__ __forceinline__ float name##f(float x, float y) { return builtin(x, y); } \
  __device__ __forceinline__ float name(float x, float y) { return builtin(x, y); }    \
  __device__ __forceinline__ double name(double x, double y) { return builtin(x, y); }

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
__device__ __forceinline__ float ldexpf(float x, int n) { return __builtin_ldexpf(x, n); }
__device__ __forceinline__ double ldexp(double x, int n) { return __builtin_ldexp(x, n); }

namespace wave_device {

template <class T>
struct Format;
template <>
struct Format<float> {
  using Bits = unsigned;
  using SignedBits = int;
  static constexpr int kFraction = 23, kBias = 127;
  static constexpr float kInfinity = __builtin_inff(), kNan = __builtin_nanf("");
};
template <>
struct Format<double> {
  using Bits = unsigned long;
  using SignedBits = long;
  static constexpr int kFraction = 52, kBias = 1023;
  static constexpr double kInfinity = __builtin_inf(), kNan = __builtin_nan("");
};

constexpr double kInfinity = Format<double>::kInfinity, kNan = Format<double>::kNan;

template <class T>
__device__ __forceinline__ typename Format<T>::Bits bits_of(T x) {
  return __builtin_bit_cast(typename Format<T>::Bits, x);
}
template <class T>
__device__ __forceinline__ T of_bits(typename Format<T>::Bits bits) {
  return __builtin_bit_cast(T, bits);
}
template <class T>
__device__ __forceinline__ T magnitude(T x) {
  return __builtin_elementwise_abs(x);
}
template <class T>
__device__ __forceinline__ bool is_negative(T x) {
  return static_cast<typename Format<T>::SignedBits>(bits_of(x)) < 0;
}
/// Neither an infinity nor NaN.
template <class T>
__device__ __forceinline__ bool is_finite(T x) {
  return magnitude(x) < Format<T>::kInfinity;
}
// What a function is of an argument that it has a pole at, or is not defined for: an instruction makes it of that
// argument, since the sanitizer's tool `numbers` looks for instructions that make what is not finite of what is, and
// says of which numbers. A constant would be selected unseen. To the compiler both ends are unknown, so that it does
// not do this where the argument is a good one, nor does both for one of them.
#define WAVE_MADE_OF(name, T, div_fixup, numerator)                      \
  __device__ __forceinline__ T name(T x) {                               \
    __asm__("" : "+v"(x));                                               \
    T result = __builtin_elementwise_abs(div_fixup(x, T(0), numerator)); \
    __asm__("" : "+v"(result));                                          \
    return result;                                                       \
  }
WAVE_MADE_OF(infinity_of, float, __builtin_amdgcn_div_fixupf, 1.0f)
WAVE_MADE_OF(infinity_of, double, __builtin_amdgcn_div_fixup, 1.0)
WAVE_MADE_OF(nan_of, float, __builtin_amdgcn_div_fixupf, 0.0f)
WAVE_MADE_OF(nan_of, double, __builtin_amdgcn_div_fixup, 0.0)
#undef WAVE_MADE_OF
/// Of x at its pole or below, where a function tends to minus infinity at the pole, and is not defined below.
template <class T>
__device__ __forceinline__ T at_or_below(T pole, T x) {
  return x == pole ? -infinity_of(x) : nan_of(x);
}
/// A value for low < x < infinity; x itself where it is an infinity. NaN has lost what it carried.
template <class T>
__device__ __forceinline__ T value_above(T low, T x, T value) {
  return x > low && x < Format<T>::kInfinity ? value : x == x ? x : Format<T>::kNan;
}
/// For numbers that are not negative.
__device__ __forceinline__ double plain_root(double x) { return __builtin_elementwise_sqrt(x); }
/// The hardware's NaN is a negative one. What computes roots scales the number first.
template <class T>
__device__ __forceinline__ T root_or_nan(T x) {
  if (x < 0) x = -nan_of(x);
  return __builtin_elementwise_sqrt(x);
}
/// The sign of a zero, of an infinity or of NaN counts, too.
template <class T>
__device__ __forceinline__ T with_sign(T x, T sign) {
  return __builtin_elementwise_copysign(x, sign);
}
/// x within low ... high. NaN becomes one of them.
__device__ __forceinline__ double within(double low, double x, double high) { return fmin(fmax(x, low), high); }
__device__ __forceinline__ double within(double x, double limit) { return within(-limit, x, limit); }

/// A finite number, not 0: fraction times 2^exponent, with a magnitude in [1, 2).
template <class T>
struct Binary {
  T fraction;
  int exponent;
};
template <class T>
__device__ __forceinline__ Binary<T> binary_of(T x) {
  using F = Format<T>;
  using Bits = typename F::Bits;
  constexpr Bits kMask = ((Bits{1} << (8 * sizeof(T) - 1 - F::kFraction)) - 1) << F::kFraction;
  const bool small = magnitude(x) < of_bits<T>(Bits{1} << F::kFraction);
  // A factor is selected, not the product, which overflows where it is not wanted.
  const Bits bits = bits_of(x * of_bits<T>(Bits{F::kBias + (small ? F::kFraction : 0)} << F::kFraction));
  const int exponent = static_cast<int>((bits & kMask) >> F::kFraction) - F::kBias - (small ? F::kFraction : 0);
  return {of_bits<T>((bits & ~kMask) | Bits{F::kBias} << F::kFraction), exponent};
}

template <class T>
__device__ __forceinline__ T fraction_and_exponent(T x, int* exponent) {
  const Binary<T> parts = binary_of(x);
  const bool plain = x != 0 && is_finite(x);
  *exponent = plain ? parts.exponent + 1 : 0;
  return plain ? parts.fraction * T(0.5) : x;
}
template <class T>
__device__ __forceinline__ T exponent_of(T x) {
  if (x == 0) return -infinity_of(x);
  return is_finite(x) ? static_cast<T>(binary_of(x).exponent) : x * x;
}
/// As glibc: of 0 and NaN the smallest number, of infinities the largest.
template <class T>
__device__ __forceinline__ int integer_exponent_of(T x) {
  if (x == 0 || x != x) return -__INT_MAX__ - 1;
  return is_finite(x) ? binary_of(x).exponent : __INT_MAX__;
}
template <class T>
__device__ __forceinline__ T scaled(T x, long n) {
  const int exponent = static_cast<int>(n < -5000 ? -5000 : n > 5000 ? 5000 : n);
  if constexpr (sizeof(T) == 4) {
    return ldexpf(x, exponent);
  } else {
    return ldexp(x, exponent);
  }
}
template <class T>
__device__ __forceinline__ T fraction_and_integer(T x, T* integer) {
  *integer = __builtin_elementwise_trunc(x);
  return with_sign(is_finite(x) ? x - *integer : x == x ? T(0) : x, x);
}
template <class T>
__device__ __forceinline__ T next_after(T x, T y) {
  if (x != x || y != y) return x + y;
  if (x == y) return y;
  if (x == 0) return with_sign(of_bits<T>(1), y);
  return of_bits<T>((x < y) == (x > 0) ? bits_of(x) + 1 : bits_of(x) - 1);
}
template <class T>
__device__ __forceinline__ T positive_difference(T x, T y) {
  return x > y ? x - y : x == x && y == y ? T(0) : Format<T>::kNan;
}
/// A number in a text: octal after 0, hexadecimal after 0x, else decimal; 0 if it is none. The payload of NaN.
__device__ __forceinline__ unsigned long payload_of(const char* text) {
  const bool hexadecimal = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
  const unsigned base = hexadecimal ? 16 : text[0] == '0' ? 8 : 10;
  unsigned long value = 0;
  for (text += hexadecimal ? 2 : 0; *text != 0; ++text) {
    const unsigned letter = *text | 32, digit = *text <= '9' ? *text - '0' : letter - 'a' + 10;
    if (digit >= base || (*text > '9' && letter < 'a')) return 0;
    value = base * value + digit;
  }
  return value;
}

}  // namespace wave_device

// LLVM would take functions of C++ named sqrt for OpenCL's, and put its own operation in their place.
__device__ float sqrt(float x) __asm__("wave_device_sqrt_f32");
__device__ double sqrt(double x) __asm__("wave_device_sqrt_f64");
__device__ __forceinline__ float sqrt(float x) { return wave_device::root_or_nan(x); }
__device__ __forceinline__ double sqrt(double x) { return wave_device::root_or_nan(x); }
__device__ __forceinline__ float sqrtf(float x) { return wave_device::root_or_nan(x); }

#define WAVE_PARTS(T, suffix)                                                                                          \
  __device__ __forceinline__ T frexp##suffix(T x, int* e) { return wave_device::fraction_and_exponent(x, e); }         \
  __device__ __forceinline__ T logb##suffix(T x) { return wave_device::exponent_of(x); }                               \
  __device__ __forceinline__ int ilogb##suffix(T x) { return wave_device::integer_exponent_of(x); }                    \
  __device__ __forceinline__ T scalbn##suffix(T x, int n) { return wave_device::scaled(x, n); }                        \
  __device__ __forceinline__ T scalbln##suffix(T x, long n) { return wave_device::scaled(x, n); }                      \
  __device__ __forceinline__ T modf##suffix(T x, T* integer) { return wave_device::fraction_and_integer(x, integer); } \
  __device__ __forceinline__ T nextafter##suffix(T x, T y) { return wave_device::next_after(x, y); }                   \
  __device__ __forceinline__ T fdim##suffix(T x, T y) { return wave_device::positive_difference(x, y); }               \
  __device__ __forceinline__ long lrint##suffix(T x) { return static_cast<long>(rint(x)); }                            \
  __device__ __forceinline__ long lround##suffix(T x) { return static_cast<long>(round(x)); }                          \
  __device__ __forceinline__ long long llrint##suffix(T x) { return static_cast<long long>(rint(x)); }                 \
  __device__ __forceinline__ long long llround##suffix(T x) { return static_cast<long long>(round(x)); }

WAVE_PARTS(float, f)
WAVE_PARTS(double, )

#undef WAVE_PARTS

__device__ __forceinline__ float nanf(const char* text) {
  return wave_device::of_bits<float>(0x7fc00000u | static_cast<unsigned>(wave_device::payload_of(text) & 0x3fffff));
}
__device__ __forceinline__ double nan(const char* text) {
  return wave_device::of_bits<double>(0x7ff8000000000000ul | (wave_device::payload_of(text) & 0x7ffffffffffff));
}
