// Vector comparisons (ISA document, "VOPC Instructions"): a bit for each lane, 0 for disabled lanes.
#include <limits>
#include <type_traits>
#include <utility>

#include "emulator/bodies.h"
#include "emulator/vector.h"

#define WAVE_SOURCE "emulator/exec_vector_compare.cpp"
#include "emulator/each_simd_level.h"
#include "emulator/vector.inl"

namespace wave::emulator::WAVE_SIMD {

namespace {

template <class T>
bool never(T, T) {
  return false;
}
template <class T>
bool always(T, T) {
  return true;
}
template <class T>
bool lt(T a, T b) {
  return a < b;
}
template <class T>
bool eq(T a, T b) {
  return a == b;
}
template <class T>
bool le(T a, T b) {
  return a <= b;
}
template <class T>
bool gt(T a, T b) {
  return a > b;
}
template <class T>
bool ne(T a, T b) {
  return a != b;
}
template <class T>
bool ge(T a, T b) {
  return a >= b;
}
template <class T>
bool lg(T a, T b) {
  return a < b || a > b;
}
template <class T>
bool o(T a, T b) {
  return a == a && b == b;
}
template <class T>
bool u(T a, T b) {
  return a != a || b != b;
}
template <class T>
bool nge(T a, T b) {
  return !(a >= b);
}
template <class T>
bool nlg(T a, T b) {
  return !(a < b || a > b);
}
template <class T>
bool ngt(T a, T b) {
  return !(a > b);
}
template <class T>
bool nle(T a, T b) {
  return !(a <= b);
}
template <class T>
bool nlt(T a, T b) {
  return !(a < b);
}

// Classes of floats, in the order of the bits that ask for them (ISA document, "V_CMP_CLASS_F32").
enum FloatClass { kSignalingNan, kQuietNan, kMinusInfinity, kMinusNormal, kMinusDenormal, kMinusZero };

template <class Bits, int kExponentBits, int kMantissaBits>
bool is_class(Bits value, u32 classes) {
  constexpr u64 kInfinity = ((u64{1} << kExponentBits) - 1) << kMantissaBits;
  const u64 bits = value.bits, magnitude = bits & ((u64{1} << (kExponentBits + kMantissaBits)) - 1);
  const bool is_minus = bits != magnitude;
  if (magnitude > kInfinity) return classes >> (magnitude >> (kMantissaBits - 1) & 1 ? kQuietNan : kSignalingNan) & 1;
  const int minus = magnitude == kInfinity                 ? kMinusInfinity
                    : magnitude >= u64{1} << kMantissaBits ? kMinusNormal
                    : magnitude != 0                       ? kMinusDenormal
                                                           : kMinusZero;
  return classes >> (is_minus ? minus : 11 - minus) & 1;  // the positive classes follow in reverse
}

/// V_CMPX: the result goes to EXEC too.
template <auto kBody>
const Op* compare_to_exec(Wave& wave, const Op* op) {
  const Op* next = vector<kBody>(wave, op);
  wave.set_exec(wave.pair(op->vector.scalar_dst));
  return next;
}

#define COMPARISON(name, ...) \
  {"v_cmp_" name, light<__VA_ARGS__>}, { "v_cmpx_" name, compare_to_exec<__VA_ARGS__> }
#define INTEGER_COMPARISONS(suffix, T)                                                                   \
  COMPARISON("f_" suffix, never<T>), COMPARISON("lt_" suffix, lt<T>), COMPARISON("eq_" suffix, eq<T>),   \
      COMPARISON("le_" suffix, le<T>), COMPARISON("gt_" suffix, gt<T>), COMPARISON("ne_" suffix, ne<T>), \
      COMPARISON("ge_" suffix, ge<T>), COMPARISON("t_" suffix, always<T>)

#define FLOAT_COMPARISONS(suffix, T)                                                                           \
  COMPARISON("f_" suffix, never<T>), COMPARISON("lt_" suffix, lt<T>), COMPARISON("eq_" suffix, eq<T>),         \
      COMPARISON("le_" suffix, le<T>), COMPARISON("gt_" suffix, gt<T>), COMPARISON("lg_" suffix, lg<T>),       \
      COMPARISON("ge_" suffix, ge<T>), COMPARISON("o_" suffix, o<T>), COMPARISON("u_" suffix, u<T>),           \
      COMPARISON("nge_" suffix, nge<T>), COMPARISON("nlg_" suffix, nlg<T>), COMPARISON("ngt_" suffix, ngt<T>), \
      COMPARISON("nle_" suffix, nle<T>), COMPARISON("neq_" suffix, ne<T>), COMPARISON("nlt_" suffix, nlt<T>),  \
      COMPARISON("tru_" suffix, always<T>)

constexpr Body kBodies[] = {
    INTEGER_COMPARISONS("i16", i16),
    INTEGER_COMPARISONS("u16", u16),
    INTEGER_COMPARISONS("i32", i32),
    INTEGER_COMPARISONS("u32", u32),
    INTEGER_COMPARISONS("i64", i64),
    INTEGER_COMPARISONS("u64", u64),
    FLOAT_COMPARISONS("f16", Half),
    FLOAT_COMPARISONS("f32", f32),
    FLOAT_COMPARISONS("f64", f64),
    COMPARISON("class_f16", is_class<Float16Bits, 5, 10>),
    COMPARISON("class_f32", is_class<Float32Bits, 8, 23>),
    COMPARISON("class_f64", is_class<Float64Bits, 11, 52>),
};

#undef COMPARISON
#undef INTEGER_COMPARISONS
#undef FLOAT_COMPARISONS

}  // namespace

std::span<const Body> vector_compare_bodies() { return kBodies; }

}  // namespace wave::emulator::WAVE_SIMD
