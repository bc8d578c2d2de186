// hip_bfloat16, which is older than __hip_bfloat16: what is computed of two is rounded, and floats become one where the
// source says so.
#pragma once

#include <hip/hip_bf16.h>
#include <hip/hip_runtime.h>

#include "wave_device/set_macros_aside.h"

#define WAVE_BFLOAT16 __host__ __device__ __forceinline__

struct hip_bfloat16 {
  enum truncate_t { truncate };
  unsigned short data;

  hip_bfloat16() = default;
  WAVE_BFLOAT16 explicit hip_bfloat16(float x) : data(rounded(x)) {}
  WAVE_BFLOAT16 explicit hip_bfloat16(float x, truncate_t) : data(cut(x)) {}
  WAVE_BFLOAT16 operator float() const { return __builtin_bit_cast(float, static_cast<unsigned>(data) << 16); }
  WAVE_BFLOAT16 hip_bfloat16& operator=(const float& x) {
    data = rounded(x);
    return *this;
  }
  static WAVE_BFLOAT16 hip_bfloat16 round_to_bfloat16(float x) { return hip_bfloat16(x); }
  static WAVE_BFLOAT16 hip_bfloat16 round_to_bfloat16(float x, truncate_t) { return hip_bfloat16(x, truncate); }

 private:
  /// To nearest even; of a NaN as cut().
  static WAVE_BFLOAT16 unsigned short rounded(float x) {
    const unsigned word = __builtin_bit_cast(unsigned, x);
    return x != x ? cut(x) : static_cast<unsigned short>((word + 0x7fff + (word >> 16 & 1)) >> 16);
  }
  /// Toward zero. A NaN must not become an infinity.
  static WAVE_BFLOAT16 unsigned short cut(float x) {
    const unsigned word = __builtin_bit_cast(unsigned, x);
    return static_cast<unsigned short>(word >> 16 | (x != x && (word & 0xffff) != 0));
  }
};

WAVE_BFLOAT16 hip_bfloat16 operator+(hip_bfloat16 a) { return a; }
WAVE_BFLOAT16 hip_bfloat16 operator-(hip_bfloat16 a) {
  a.data ^= 0x8000;
  return a;
}
#define WAVE_ARITHMETIC(op)                                                \
  WAVE_BFLOAT16 hip_bfloat16 operator op(hip_bfloat16 a, hip_bfloat16 b) { \
    return hip_bfloat16(static_cast<float>(a) op static_cast<float>(b));   \
  }                                                                        \
  WAVE_BFLOAT16 hip_bfloat16& operator op##=(hip_bfloat16 & a, hip_bfloat16 b) { return a = a op b; }
WAVE_ARITHMETIC(+)
WAVE_ARITHMETIC(-)
WAVE_ARITHMETIC(*)
WAVE_ARITHMETIC(/)
#undef WAVE_ARITHMETIC

#define WAVE_STEP(step, op)                                                                       \
  WAVE_BFLOAT16 hip_bfloat16& operator step(hip_bfloat16 & a) { return a op hip_bfloat16(1.0f); } \
  WAVE_BFLOAT16 hip_bfloat16 operator step(hip_bfloat16& a, int) {                                \
    const hip_bfloat16 before = a;                                                                \
    a op hip_bfloat16(1.0f);                                                                      \
    return before;                                                                                \
  }
WAVE_STEP(++, +=)
WAVE_STEP(--, -=)
#undef WAVE_STEP

#undef WAVE_BFLOAT16

#include "wave_device/bring_macros_back.h"
