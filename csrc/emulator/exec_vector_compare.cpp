// Vector comparisons (ISA document, "VOPC Instructions"): a bit for each lane, 0 for disabled lanes.
#include <immintrin.h>

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

#define INTEGER_COMPARISONS(suffix, T)                                                                               \
  {"v_cmp_f_" suffix, vector<never<T>>}, {"v_cmp_lt_" suffix, vector<lt<T>>}, {"v_cmp_eq_" suffix, vector<eq<T>>},   \
      {"v_cmp_le_" suffix, vector<le<T>>}, {"v_cmp_gt_" suffix, vector<gt<T>>}, {"v_cmp_ne_" suffix, vector<ne<T>>}, \
      {"v_cmp_ge_" suffix, vector<ge<T>>}, {                                                                         \
    "v_cmp_t_" suffix, vector<always<T>>                                                                             \
  }

#define FLOAT_COMPARISONS(suffix, T)                                                                                 \
  {"v_cmp_f_" suffix, vector<never<T>>}, {"v_cmp_lt_" suffix, vector<lt<T>>}, {"v_cmp_eq_" suffix, vector<eq<T>>},   \
      {"v_cmp_le_" suffix, vector<le<T>>}, {"v_cmp_gt_" suffix, vector<gt<T>>}, {"v_cmp_lg_" suffix, vector<lg<T>>}, \
      {"v_cmp_ge_" suffix, vector<ge<T>>}, {"v_cmp_o_" suffix, vector<o<T>>}, {"v_cmp_u_" suffix, vector<u<T>>},     \
      {"v_cmp_nge_" suffix, vector<nge<T>>}, {"v_cmp_nlg_" suffix, vector<nlg<T>>},                                  \
      {"v_cmp_ngt_" suffix, vector<ngt<T>>}, {"v_cmp_nle_" suffix, vector<nle<T>>},                                  \
      {"v_cmp_neq_" suffix, vector<ne<T>>}, {"v_cmp_nlt_" suffix, vector<nlt<T>>}, {                                 \
    "v_cmp_tru_" suffix, vector<always<T>>                                                                           \
  }

constexpr Body kBodies[] = {
    INTEGER_COMPARISONS("i32", i32), INTEGER_COMPARISONS("u32", u32), INTEGER_COMPARISONS("i64", i64),
    INTEGER_COMPARISONS("u64", u64), FLOAT_COMPARISONS("f32", f32),   FLOAT_COMPARISONS("f64", f64),
};

#undef INTEGER_COMPARISONS
#undef FLOAT_COMPARISONS

}  // namespace

std::span<const Body> vector_compare_bodies() { return kBodies; }

}  // namespace wave::emulator::WAVE_SIMD
