// What HIP's halves and bfloat16s have under the same names: functions of WAVE_NUMBER and of WAVE_PAIR, a vector of
// two. Included for each of the two types, and so without a guard. wave_device has fused, larger, smaller and root of
// them; WAVE_UNORDERED_OF_BOTH(name) is the comparison that its form of both with u behind the name makes.

// clang-format off
#define WAVE_ON_NUMBER __device__ __forceinline__ WAVE_NUMBER
#define WAVE_ON_PAIR __device__ __forceinline__ WAVE_PAIR
#define WAVE_ON_BOOL __device__ __forceinline__ bool
// clang-format on

// Arithmetic. Those with _rn are not fused with others.
#define WAVE_ARITHMETIC(name, name2, op)                                                         \
  WAVE_ON_NUMBER name(WAVE_NUMBER a, WAVE_NUMBER b) { return static_cast<WAVE_NUMBER>(a op b); } \
  WAVE_ON_PAIR name2(WAVE_PAIR a, WAVE_PAIR b) { return {name(a.x, b.x), name(a.y, b.y)}; }
#define WAVE_ARITHMETIC_FORMS(name, op)                                                                \
  WAVE_ARITHMETIC(__h##name, __h##name##2, op)                                                         \
  WAVE_ON_NUMBER __h##name##_rn(WAVE_NUMBER a, WAVE_NUMBER b) {                                        \
    _Pragma("clang fp contract(off)") return static_cast<WAVE_NUMBER>(a op b);                         \
  }                                                                                                    \
  WAVE_ON_PAIR __h##name##2_rn(WAVE_PAIR a, WAVE_PAIR b) {                                             \
    return {__h##name##_rn(a.x, b.x), __h##name##_rn(a.y, b.y)};                                       \
  }                                                                                                    \
  WAVE_ON_NUMBER __h##name##_sat(WAVE_NUMBER a, WAVE_NUMBER b) { return __clamp_01(__h##name(a, b)); } \
  WAVE_ON_PAIR __h##name##2_sat(WAVE_PAIR a, WAVE_PAIR b) {                                            \
    return {__h##name##_sat(a.x, b.x), __h##name##_sat(a.y, b.y)};                                     \
  }

/// A NaN stays one.
WAVE_ON_NUMBER __clamp_01(WAVE_NUMBER x) {
  const float value = static_cast<float>(x);
  return value < 0 ? static_cast<WAVE_NUMBER>(0.0f) : value > 1 ? static_cast<WAVE_NUMBER>(1.0f) : x;
}
WAVE_ARITHMETIC_FORMS(add, +)
WAVE_ARITHMETIC_FORMS(sub, -)
WAVE_ARITHMETIC_FORMS(mul, *)
WAVE_ARITHMETIC(__hdiv, __h2div, /)
#undef WAVE_ARITHMETIC_FORMS
#undef WAVE_ARITHMETIC

WAVE_ON_NUMBER __hfma(WAVE_NUMBER a, WAVE_NUMBER b, WAVE_NUMBER c) { return wave_device::fused(a, b, c); }
WAVE_ON_NUMBER __hfma_sat(WAVE_NUMBER a, WAVE_NUMBER b, WAVE_NUMBER c) { return __clamp_01(__hfma(a, b, c)); }
WAVE_ON_PAIR __hfma2(WAVE_PAIR a, WAVE_PAIR b, WAVE_PAIR c) { return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)}; }
WAVE_ON_PAIR __hfma2_sat(WAVE_PAIR a, WAVE_PAIR b, WAVE_PAIR c) {
  return {__hfma_sat(a.x, b.x, c.x), __hfma_sat(a.y, b.y, c.y)};
}

// Signs are bits, a NaN's, too.
WAVE_ON_NUMBER __hneg(WAVE_NUMBER a) {
  return __builtin_bit_cast(WAVE_NUMBER, static_cast<unsigned short>(__builtin_bit_cast(unsigned short, a) ^ 0x8000));
}
WAVE_ON_NUMBER __habs(WAVE_NUMBER a) {
  return __builtin_bit_cast(WAVE_NUMBER, static_cast<unsigned short>(__builtin_bit_cast(unsigned short, a) & 0x7fff));
}
WAVE_ON_PAIR __hneg2(WAVE_PAIR v) { return {__hneg(v.x), __hneg(v.y)}; }
WAVE_ON_PAIR __habs2(WAVE_PAIR v) { return {__habs(v.x), __habs(v.y)}; }

// Comparisons: of numbers, of pairs (1 and 0 for each), and whether one holds for both. Those with u behind their names
// hold where an operand is a NaN.
WAVE_ON_BOOL __hisnan(WAVE_NUMBER a) { return static_cast<float>(a) != static_cast<float>(a); }
WAVE_ON_BOOL __hisinf(WAVE_NUMBER a) { return static_cast<float>(__habs(a)) == __builtin_inff(); }
WAVE_ON_PAIR __hisnan2(WAVE_PAIR v) {
  return {static_cast<WAVE_NUMBER>(float(__hisnan(v.x))), static_cast<WAVE_NUMBER>(float(__hisnan(v.y)))};
}
WAVE_ON_PAIR __hisinf2(WAVE_PAIR v) {
  return {static_cast<WAVE_NUMBER>(float(__hisinf(v.x))), static_cast<WAVE_NUMBER>(float(__hisinf(v.y)))};
}
#define WAVE_COMPARISON(name, holds)                                     \
  WAVE_ON_BOOL __h##name(WAVE_NUMBER a, WAVE_NUMBER b) { return holds; } \
  WAVE_ON_PAIR __h##name##2(WAVE_PAIR a, WAVE_PAIR b) {                  \
    const float x = __h##name(a.x, b.x), y = __h##name(a.y, b.y);        \
    return {static_cast<WAVE_NUMBER>(x), static_cast<WAVE_NUMBER>(y)};   \
  }
#define WAVE_COMPARISON_OF_BOTH(name, each) WAVE_COMPARISON_OF_BOTH_BY(name, each)
#define WAVE_COMPARISON_OF_BOTH_BY(name, each) \
  WAVE_ON_BOOL __hb##name##2(WAVE_PAIR a, WAVE_PAIR b) { return __h##each(a.x, b.x) && __h##each(a.y, b.y); }
#define WAVE_COMPARISONS(name, holds, unordered) \
  WAVE_COMPARISON(name, holds)                   \
  WAVE_COMPARISON(name##u, unordered)            \
  WAVE_COMPARISON_OF_BOTH(name, name)            \
  WAVE_COMPARISON_OF_BOTH(name##u, WAVE_UNORDERED_OF_BOTH(name))
WAVE_COMPARISONS(eq, a == b, !(a < b) && !(a > b))
WAVE_COMPARISONS(ne, a != b, a != b)
WAVE_COMPARISONS(lt, a < b, !(a >= b))
WAVE_COMPARISONS(le, a <= b, !(a > b))
WAVE_COMPARISONS(gt, a > b, !(a <= b))
WAVE_COMPARISONS(ge, a >= b, !(a < b))
#undef WAVE_COMPARISONS
#undef WAVE_COMPARISON_OF_BOTH
#undef WAVE_COMPARISON_OF_BOTH_BY
#undef WAVE_COMPARISON

WAVE_ON_BOOL operator<(WAVE_PAIR a, WAVE_PAIR b) { return __hblt2(a, b); }
WAVE_ON_BOOL operator<=(WAVE_PAIR a, WAVE_PAIR b) { return __hble2(a, b); }
WAVE_ON_BOOL operator>(WAVE_PAIR a, WAVE_PAIR b) { return __hbgt2(a, b); }
WAVE_ON_BOOL operator>=(WAVE_PAIR a, WAVE_PAIR b) { return __hbge2(a, b); }

// Of a NaN and a number the number; those with _nan give the NaN.
WAVE_ON_NUMBER __hmax(WAVE_NUMBER a, WAVE_NUMBER b) { return wave_device::larger(a, b); }
WAVE_ON_NUMBER __hmin(WAVE_NUMBER a, WAVE_NUMBER b) { return wave_device::smaller(a, b); }
WAVE_ON_NUMBER __hmax_nan(WAVE_NUMBER a, WAVE_NUMBER b) { return __hisnan(a) ? a : __hisnan(b) ? b : __hmax(a, b); }
WAVE_ON_NUMBER __hmin_nan(WAVE_NUMBER a, WAVE_NUMBER b) { return __hisnan(a) ? a : __hisnan(b) ? b : __hmin(a, b); }
WAVE_ON_PAIR __hmax2(WAVE_PAIR a, WAVE_PAIR b) { return {__hmax(a.x, b.x), __hmax(a.y, b.y)}; }
WAVE_ON_PAIR __hmin2(WAVE_PAIR a, WAVE_PAIR b) { return {__hmin(a.x, b.x), __hmin(a.y, b.y)}; }

// Of one number and of two: computed in f32, and rounded.
#define WAVE_FUNCTION(name, value)              \
  WAVE_ON_NUMBER h##name(WAVE_NUMBER number) {  \
    const float a = static_cast<float>(number); \
    return static_cast<WAVE_NUMBER>(value);     \
  }                                             \
  WAVE_ON_PAIR h2##name(WAVE_PAIR v) { return {h##name(v.x), h##name(v.y)}; }
WAVE_FUNCTION(ceil, __builtin_ceilf(a))
WAVE_FUNCTION(floor, __builtin_floorf(a))
WAVE_FUNCTION(rint, __builtin_rintf(a))
WAVE_FUNCTION(trunc, __builtin_truncf(a))
WAVE_FUNCTION(rcp, 1 / a)
WAVE_FUNCTION(rsqrt, rsqrtf(a))
WAVE_FUNCTION(exp, expf(a))
WAVE_FUNCTION(exp2, exp2f(a))
WAVE_FUNCTION(exp10, exp10f(a))
WAVE_FUNCTION(log, logf(a))
WAVE_FUNCTION(log2, log2f(a))
WAVE_FUNCTION(log10, log10f(a))
WAVE_FUNCTION(sin, sinf(a))
WAVE_FUNCTION(cos, cosf(a))
#undef WAVE_FUNCTION
WAVE_ON_NUMBER hsqrt(WAVE_NUMBER a) { return wave_device::root(a); }
WAVE_ON_PAIR h2sqrt(WAVE_PAIR v) { return {hsqrt(v.x), hsqrt(v.y)}; }

__device__ __forceinline__ float __low2float(WAVE_PAIR v) { return static_cast<float>(v.x); }
__device__ __forceinline__ float __high2float(WAVE_PAIR v) { return static_cast<float>(v.y); }
WAVE_ON_PAIR __lowhigh2highlow(WAVE_PAIR v) { return {v.y, v.x}; }

/// Each on its own, by an exchange of both.
WAVE_ON_PAIR unsafeAtomicAdd(WAVE_PAIR* address, WAVE_PAIR value) {
  unsigned* const word = reinterpret_cast<unsigned*>(address);
  unsigned old = __hip_atomic_load(word, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  while (!__hip_atomic_compare_exchange_strong(
      word, &old, __builtin_bit_cast(unsigned, __hadd2(__builtin_bit_cast(WAVE_PAIR, old), value)), __ATOMIC_RELAXED,
      __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)) {
  }
  return __builtin_bit_cast(WAVE_PAIR, old);
}

#undef WAVE_ON_NUMBER
#undef WAVE_ON_PAIR
#undef WAVE_ON_BOOL
