// AMD's bfloat16 as in ROCm 6: ROCm 5.2 has none, 5.7 one that has neither operators nor conversions. The types and
// functions of "Bfloat16 Precision Intrinsics" in HIP's reference. Arithmetic is that of float, and rounds to nearest
// even.
#pragma once

#include <hip/hip_runtime.h>

#define HIPRT_ONE_BF16 __ushort_as_bfloat16(0x3F80)
#define HIPRT_ZERO_BF16 __ushort_as_bfloat16(0x0000)
#define HIPRT_INF_BF16 __ushort_as_bfloat16(0x7F80)
#define HIPRT_MAX_NORMAL_BF16 __ushort_as_bfloat16(0x7F7F)
#define HIPRT_MIN_DENORM_BF16 __ushort_as_bfloat16(0x0001)
#define HIPRT_NAN_BF16 __ushort_as_bfloat16(0x7FFF)
#define HIPRT_NEG_ZERO_BF16 __ushort_as_bfloat16(0x8000)

typedef struct __attribute__((aligned(2))) {
  unsigned short x;
} __hip_bfloat16_raw;

typedef struct __attribute__((aligned(4))) {
  unsigned short x;
  unsigned short y;
} __hip_bfloat162_raw;

struct __attribute__((aligned(2))) __hip_bfloat16 {
  __hip_bfloat16() = default;
  __host__ __device__ __hip_bfloat16(float value) : bits_(round(bits_of(value))) {}
  __host__ __device__ __hip_bfloat16(double value) : bits_(round(bits_of_odd(value))) {}
  __host__ __device__ __hip_bfloat16(int value) : __hip_bfloat16(double(value)) {}
  __host__ __device__ __hip_bfloat16(unsigned int value) : __hip_bfloat16(double(value)) {}
  __host__ __device__ __hip_bfloat16(short value) : __hip_bfloat16(float(value)) {}
  __host__ __device__ __hip_bfloat16(unsigned short value) : __hip_bfloat16(float(value)) {}
  __host__ __device__ __hip_bfloat16(const __hip_bfloat16_raw& raw) : bits_(raw.x) {}

  __host__ __device__ operator __hip_bfloat16_raw() const { return {bits_}; }
  __host__ __device__ operator float() const {
    const unsigned int bits = static_cast<unsigned int>(bits_) << 16;
    float value;
    __builtin_memcpy(&value, &bits, sizeof value);
    return value;
  }
  __host__ __device__ operator bool() const { return float(*this) != 0; }
#define WAVE_TO(type) \
  __host__ __device__ operator type() const { return static_cast<type>(float(*this)); }
  WAVE_TO(char)
  WAVE_TO(signed char)
  WAVE_TO(unsigned char)
  WAVE_TO(short)
  WAVE_TO(unsigned short)
  WAVE_TO(int)
  WAVE_TO(unsigned int)
  WAVE_TO(long)
  WAVE_TO(unsigned long)
  WAVE_TO(long long)
  WAVE_TO(unsigned long long)
#undef WAVE_TO

 private:
  __host__ __device__ static unsigned int bits_of(float value) {
    unsigned int bits;
    __builtin_memcpy(&bits, &value, sizeof bits);
    return bits;
  }

  // Of the two floats beside a double that is none the one whose last bit is set: it rounds as the double does.
  __host__ __device__ static unsigned int bits_of_odd(double value) {
    const float nearest = static_cast<float>(value);
    const unsigned int bits = bits_of(nearest);
    if (nearest == value || value != value || bits % 2 == 1) return bits;
    return __builtin_fabs(value) > __builtin_fabsf(nearest) ? bits + 1 : bits - 1;
  }

  __host__ __device__ static unsigned short round(unsigned int bits) {
    const bool is_nan = (bits & 0x7FFFFFFF) > 0x7F800000;
    return static_cast<unsigned short>(is_nan ? bits >> 16 | 0x40 : (bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
  }

  unsigned short bits_;
};

struct __attribute__((aligned(4))) __hip_bfloat162 {
  __hip_bfloat16 x;
  __hip_bfloat16 y;

  __hip_bfloat162() = default;
  __host__ __device__ __hip_bfloat162(const __hip_bfloat16& a, const __hip_bfloat16& b) : x(a), y(b) {}
  __host__ __device__ __hip_bfloat162(const __hip_bfloat162_raw& raw)
      : x(__hip_bfloat16_raw{raw.x}), y(__hip_bfloat16_raw{raw.y}) {}
  __host__ __device__ operator __hip_bfloat162_raw() const {
    return {__hip_bfloat16_raw(x).x, __hip_bfloat16_raw(y).x};
  }
  __host__ __device__ operator float2() const { return float2{float(x), float(y)}; }
};

#define WAVE_F __host__ __device__ static inline
#define WAVE_ONE const __hip_bfloat16
#define WAVE_TWO const __hip_bfloat162

// ---- conversions

WAVE_F float __bfloat162float(WAVE_ONE a) { return a; }
WAVE_F __hip_bfloat16 __float2bfloat16(float a) { return a; }
WAVE_F __hip_bfloat16 __float2bfloat16_rn(float a) { return a; }
WAVE_F __hip_bfloat16 __double2bfloat16(double a) { return a; }
WAVE_F short __bfloat16_as_short(WAVE_ONE a) { return static_cast<short>(__hip_bfloat16_raw(a).x); }
WAVE_F unsigned short __bfloat16_as_ushort(WAVE_ONE a) { return __hip_bfloat16_raw(a).x; }
WAVE_F __hip_bfloat16 __ushort_as_bfloat16(unsigned short a) { return __hip_bfloat16_raw{a}; }
WAVE_F __hip_bfloat16 __short_as_bfloat16(short a) { return __ushort_as_bfloat16(static_cast<unsigned short>(a)); }

WAVE_F float2 __bfloat1622float2(WAVE_TWO a) { return a; }
WAVE_F __hip_bfloat162 __float22bfloat162_rn(const float2 a) { return {float(a.x), float(a.y)}; }
WAVE_F __hip_bfloat162 __float2bfloat162_rn(float a) { return {a, a}; }
WAVE_F __hip_bfloat162 __floats2bfloat162_rn(float a, float b) { return {a, b}; }
WAVE_F __hip_bfloat162 __bfloat162bfloat162(WAVE_ONE a) { return {a, a}; }
WAVE_F __hip_bfloat162 __halves2bfloat162(WAVE_ONE a, WAVE_ONE b) { return {a, b}; }
WAVE_F __hip_bfloat16 __low2bfloat16(WAVE_TWO a) { return a.x; }
WAVE_F __hip_bfloat16 __high2bfloat16(WAVE_TWO a) { return a.y; }
WAVE_F __hip_bfloat162 __low2bfloat162(WAVE_TWO a) { return {a.x, a.x}; }
WAVE_F __hip_bfloat162 __high2bfloat162(WAVE_TWO a) { return {a.y, a.y}; }
WAVE_F __hip_bfloat162 __lows2bfloat162(WAVE_TWO a, WAVE_TWO b) { return {a.x, b.x}; }
WAVE_F __hip_bfloat162 __highs2bfloat162(WAVE_TWO a, WAVE_TWO b) { return {a.y, b.y}; }
WAVE_F __hip_bfloat162 __lowhigh2highlow(WAVE_TWO a) { return {a.y, a.x}; }
WAVE_F float __low2float(WAVE_TWO a) { return a.x; }
WAVE_F float __high2float(WAVE_TWO a) { return a.y; }

// ---- comparisons: those that end in u hold where a value is NaN, too

WAVE_F bool __hisnan(WAVE_ONE a) { return (__bfloat16_as_ushort(a) & 0x7FFF) > 0x7F80; }
WAVE_F int __hisinf(WAVE_ONE a) { return (__bfloat16_as_ushort(a) & 0x7FFF) == 0x7F80; }
WAVE_F __hip_bfloat162 __hisnan2(WAVE_TWO a) { return {float(__hisnan(a.x)), float(__hisnan(a.y))}; }

#define WAVE_COMPARISON(name, operation, both)                                                                      \
  WAVE_F bool __h##name(WAVE_ONE a, WAVE_ONE b) { return float(a) operation float(b); }                             \
  WAVE_F bool __h##name##u(WAVE_ONE a, WAVE_ONE b) { return __h##name(a, b) || __hisnan(a) || __hisnan(b); }        \
  WAVE_F bool __hb##name##2(WAVE_TWO a, WAVE_TWO b) { return __h##name(a.x, b.x) both __h##name(a.y, b.y); }        \
  WAVE_F bool __hb##name##u2(WAVE_TWO a, WAVE_TWO b) { return __h##name##u(a.x, b.x) both __h##name##u(a.y, b.y); } \
  WAVE_F __hip_bfloat162 __h##name##2(WAVE_TWO a, WAVE_TWO b) {                                                     \
    return {float(__h##name(a.x, b.x)), float(__h##name(a.y, b.y))};                                                \
  }                                                                                                                 \
  WAVE_F bool operator operation(const __hip_bfloat16& a, const __hip_bfloat16& b) { return __h##name(a, b); }      \
  WAVE_F bool operator operation(const __hip_bfloat162& a, const __hip_bfloat162& b) { return __hb##name##2(a, b); }
WAVE_COMPARISON(eq, ==, &&)
WAVE_COMPARISON(ne, !=, ||)
WAVE_COMPARISON(lt, <, &&)
WAVE_COMPARISON(le, <=, &&)
WAVE_COMPARISON(gt, >, &&)
WAVE_COMPARISON(ge, >=, &&)
#undef WAVE_COMPARISON

// ---- arithmetic

#define WAVE_ARITHMETIC(name, name_of_two, operation)                                                               \
  WAVE_F __hip_bfloat16 name(WAVE_ONE a, WAVE_ONE b) { return float(a) operation float(b); }                        \
  WAVE_F __hip_bfloat162 name_of_two(WAVE_TWO a, WAVE_TWO b) { return {name(a.x, b.x), name(a.y, b.y)}; }           \
  WAVE_F __hip_bfloat16 operator operation(const __hip_bfloat16& a, const __hip_bfloat16& b) { return name(a, b); } \
  WAVE_F __hip_bfloat162 operator operation(const __hip_bfloat162& a, const __hip_bfloat162& b) {                   \
    return name_of_two(a, b);                                                                                       \
  }                                                                                                                 \
  WAVE_F __hip_bfloat16& operator operation##=(__hip_bfloat16 & a, const __hip_bfloat16 & b) {                      \
    return a = name(a, b);                                                                                          \
  }                                                                                                                 \
  WAVE_F __hip_bfloat162& operator operation##=(__hip_bfloat162 & a, const __hip_bfloat162 & b) {                   \
    return a = name_of_two(a, b);                                                                                   \
  }
WAVE_ARITHMETIC(__hadd, __hadd2, +)
WAVE_ARITHMETIC(__hsub, __hsub2, -)
WAVE_ARITHMETIC(__hmul, __hmul2, *)
WAVE_ARITHMETIC(__hdiv, __h2div, /)
#undef WAVE_ARITHMETIC

WAVE_F __hip_bfloat16 __hneg(WAVE_ONE a) { return __ushort_as_bfloat16(__bfloat16_as_ushort(a) ^ 0x8000); }
WAVE_F __hip_bfloat16 __habs(WAVE_ONE a) { return __ushort_as_bfloat16(__bfloat16_as_ushort(a) & 0x7FFF); }
WAVE_F __hip_bfloat16 __hmax(WAVE_ONE a, WAVE_ONE b) { return __builtin_fmaxf(a, b); }
WAVE_F __hip_bfloat16 __hmin(WAVE_ONE a, WAVE_ONE b) { return __builtin_fminf(a, b); }
WAVE_F __hip_bfloat162 __hneg2(WAVE_TWO a) { return {__hneg(a.x), __hneg(a.y)}; }
WAVE_F __hip_bfloat162 __habs2(WAVE_TWO a) { return {__habs(a.x), __habs(a.y)}; }
WAVE_F __hip_bfloat162 __hmax2(WAVE_TWO a, WAVE_TWO b) { return {__hmax(a.x, b.x), __hmax(a.y, b.y)}; }
WAVE_F __hip_bfloat162 __hmin2(WAVE_TWO a, WAVE_TWO b) { return {__hmin(a.x, b.x), __hmin(a.y, b.y)}; }

WAVE_F __hip_bfloat16 operator+(const __hip_bfloat16& a) { return a; }
WAVE_F __hip_bfloat16 operator-(const __hip_bfloat16& a) { return __hneg(a); }
WAVE_F __hip_bfloat162 operator+(const __hip_bfloat162& a) { return a; }
WAVE_F __hip_bfloat162 operator-(const __hip_bfloat162& a) { return __hneg2(a); }

#define WAVE_STEP(type, one, step, operation)                      \
  WAVE_F type& operator step(type & a) { return a operation one; } \
  WAVE_F type operator step(type& a, int) {                        \
    const type before = a;                                         \
    step a;                                                        \
    return before;                                                 \
  }
WAVE_STEP(__hip_bfloat16, HIPRT_ONE_BF16, ++, +=)
WAVE_STEP(__hip_bfloat16, HIPRT_ONE_BF16, --, -=)
WAVE_STEP(__hip_bfloat162, __bfloat162bfloat162(HIPRT_ONE_BF16), ++, +=)
WAVE_STEP(__hip_bfloat162, __bfloat162bfloat162(HIPRT_ONE_BF16), --, -=)
#undef WAVE_STEP

#if defined(__clang__) && defined(__HIP__)
#undef WAVE_F
#define WAVE_F __device__ static inline

WAVE_F __hip_bfloat16 __hfma(WAVE_ONE a, WAVE_ONE b, WAVE_ONE c) { return __builtin_fmaf(a, b, c); }
WAVE_F __hip_bfloat162 __hfma2(WAVE_TWO a, WAVE_TWO b, WAVE_TWO c) {
  return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)};
}

#define WAVE_FUNCTION(name, value)            \
  WAVE_F __hip_bfloat16 h##name(WAVE_ONE h) { \
    const float a = h;                        \
    return value;                             \
  }                                           \
  WAVE_F __hip_bfloat162 h2##name(WAVE_TWO a) { return {h##name(a.x), h##name(a.y)}; }
WAVE_FUNCTION(ceil, ceilf(a))
WAVE_FUNCTION(floor, floorf(a))
WAVE_FUNCTION(rint, rintf(a))
WAVE_FUNCTION(trunc, truncf(a))
WAVE_FUNCTION(rcp, 1 / a)
WAVE_FUNCTION(sqrt, sqrtf(a))
WAVE_FUNCTION(rsqrt, rsqrtf(a))
WAVE_FUNCTION(cos, cosf(a))
WAVE_FUNCTION(sin, sinf(a))
WAVE_FUNCTION(exp, expf(a))
WAVE_FUNCTION(exp2, exp2f(a))
WAVE_FUNCTION(exp10, exp10f(a))
WAVE_FUNCTION(log, logf(a))
WAVE_FUNCTION(log2, log2f(a))
WAVE_FUNCTION(log10, log10f(a))
#undef WAVE_FUNCTION

WAVE_F __hip_bfloat162 unsafeAtomicAdd(__hip_bfloat162* address, __hip_bfloat162 value) {
  auto* const word = reinterpret_cast<unsigned int*>(address);
  for (unsigned int expected = *word;;) {
    __hip_bfloat162 before;
    __builtin_memcpy(&before, &expected, sizeof before);
    const __hip_bfloat162 sum = before + value;
    unsigned int bits;
    __builtin_memcpy(&bits, &sum, sizeof bits);
    const unsigned int found = atomicCAS(word, expected, bits);
    if (found == expected) return before;
    expected = found;
  }
}
#endif

#undef WAVE_F
#undef WAVE_ONE
#undef WAVE_TWO
