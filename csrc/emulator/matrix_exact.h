// Matrix products summed as the hardware is believed to sum them: WAVE_RUNTIME_MFMA=exact.
#pragma once

#include "emulator/wave.h"

namespace wave::emulator {

/// Whether WAVE_RUNTIME_MFMA is "exact" rather than "fast", the default (read once). Throws ValueError for other
/// values.
bool sums_matrices_exactly();

/// Has it be "exact", whatever the variable says, where nobody has asked yet.
void sum_matrices_exactly();

/// What the sums of an instruction depend on: the exponents of the smallest normal numbers of A's and B's types, and
/// whether those are FP8 or BF8.
struct ExactSums {
  int min_exponent_a, min_exponent_b;
  bool is_float8;
};

inline constexpr int kMaxExactGroup = 16;

/// The exponent of a zero as a factor: a product with it has none, which takes no part in the largest.
inline constexpr int kNoExponent = -1000;
/// Below all exponents of products: the largest of none.
inline constexpr int kLeastExponent = -400;

/// c plus the products of `count` values of A and B, added at once by the rules that Khattak, Mikaitis and Graziani
/// give for CDNA3 ("Accurate Models of AMD Matrix Cores", arXiv 2609.14845, algorithms 1 and 2). For any values, one
/// sum at a time: matrix_exact.inl has a way for many.
///
/// Products are truncated to 24 fractional bits under their largest exponent, and added. C, where its exponent is not
/// above that, is rounded down to as many, and added. Where it is, the sum of products is rounded down to 32 fractional
/// bits under C's exponent, C is added, and the total rounded down to 31 fractional bits under its own exponent, of
/// which -126 is the least. The total is rounded to the nearest f32.
f32 add_exactly(const ExactSums& sums, const f32* a, const f32* b, int count, f32 c);

}  // namespace wave::emulator
