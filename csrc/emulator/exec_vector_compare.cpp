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
  using Word = std::conditional_t<sizeof(Bits) == 8, u64, u32>;
  constexpr Word kOne = 1, kInfinity = ((kOne << kExponentBits) - 1) << kMantissaBits;
  const Word bits = value.bits, magnitude = bits & ((kOne << (kExponentBits + kMantissaBits)) - 1);
  const bool is_minus = bits != magnitude;
  // They follow each other from infinity down to zero, and the positive ones in reverse.
  const u32 minus = kMinusInfinity + (magnitude < kInfinity) + (magnitude < kOne << kMantissaBits) + (magnitude == 0);
  const u32 nan = static_cast<u32>(magnitude >> (kMantissaBits - 1)) & 1;
  static_assert(kSignalingNan == 0 && kQuietNan == 1);
  return classes >> blend(magnitude > kInfinity, nan, blend(is_minus, minus, 11 - minus)) & 1;
}

/// V_CMPX: the result goes to EXEC too.
template <auto kBody>
const Op* compare_to_exec(Wave& wave, const Op* op) {
  {
    const Singly singly(wave);
    vector<kBody>(wave, op);
  }
  wave.set_exec(wave.pair(op->vector.scalar_dst));
  return go_on(wave, op);
}

#define COMPARISON(name, form, ...) \
  {"v_cmp_" name, form<__VA_ARGS__>}, { "v_cmpx_" name, compare_to_exec<__VA_ARGS__> }
#define INTEGER_COMPARISONS(suffix, form, T)                                        \
  COMPARISON("f_" suffix, form, never<T>), COMPARISON("lt_" suffix, form, lt<T>),   \
      COMPARISON("eq_" suffix, form, eq<T>), COMPARISON("le_" suffix, form, le<T>), \
      COMPARISON("gt_" suffix, form, gt<T>), COMPARISON("ne_" suffix, form, ne<T>), \
      COMPARISON("ge_" suffix, form, ge<T>), COMPARISON("t_" suffix, form, always<T>)

#define FLOAT_COMPARISONS(suffix, form, T)                                                                             \
  COMPARISON("f_" suffix, form, never<T>), COMPARISON("lt_" suffix, form, lt<T>),                                      \
      COMPARISON("eq_" suffix, form, eq<T>), COMPARISON("le_" suffix, form, le<T>),                                    \
      COMPARISON("gt_" suffix, form, gt<T>), COMPARISON("lg_" suffix, form, lg<T>),                                    \
      COMPARISON("ge_" suffix, form, ge<T>), COMPARISON("o_" suffix, form, o<T>), COMPARISON("u_" suffix, form, u<T>), \
      COMPARISON("nge_" suffix, form, nge<T>), COMPARISON("nlg_" suffix, form, nlg<T>),                                \
      COMPARISON("ngt_" suffix, form, ngt<T>), COMPARISON("nle_" suffix, form, nle<T>),                                \
      COMPARISON("neq_" suffix, form, ne<T>), COMPARISON("nlt_" suffix, form, nlt<T>),                                 \
      COMPARISON("tru_" suffix, form, always<T>)

constexpr Body kBodies[] = {
    INTEGER_COMPARISONS("i16", vector, i16),
    INTEGER_COMPARISONS("u16", vector, u16),
    INTEGER_COMPARISONS("i32", light, i32),
    INTEGER_COMPARISONS("u32", light, u32),
    INTEGER_COMPARISONS("i64", vector, i64),
    INTEGER_COMPARISONS("u64", vector, u64),
    FLOAT_COMPARISONS("f16", vector, Half),
    FLOAT_COMPARISONS("f32", light, f32),
    FLOAT_COMPARISONS("f64", vector, f64),
    COMPARISON("class_f16", vector, is_class<Float16Bits, 5, 10>),
    COMPARISON("class_f32", vector, is_class<Float32Bits, 8, 23>),
    COMPARISON("class_f64", vector, is_class<Float64Bits, 11, 52>),
};

#undef COMPARISON
#undef INTEGER_COMPARISONS
#undef FLOAT_COMPARISONS

}  // namespace

std::span<const Body> vector_compare_bodies() { return kBodies; }

}  // namespace wave::emulator::WAVE_SIMD
