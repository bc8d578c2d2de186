// Matrix products summed as the hardware is believed to sum them: WAVE_RUNTIME_MFMA=exact.
#pragma once

#include "emulator/wave.h"

namespace wave::emulator {

/// Whether WAVE_RUNTIME_MFMA is "exact" rather than "fast", the default (read once). Throws ValueError for other
/// values.
bool sums_matrices_exactly();

/// What the sums of an instruction depend on: the exponents of the smallest normal numbers of A's and B's types, and
/// whether those are FP8 or BF8.
struct ExactSums {
  int min_exponent_a, min_exponent_b;
  bool is_float8;
};

inline constexpr int kMaxExactGroup = 16;

/// c plus the products of `count` values of A and B, added at once by the rules that microsoft/MMA-Sim gives for CDNA3.
/// For any values, one sum at a time: matrix_exact.inl has a way for many.
f32 add_exactly(const ExactSums& sums, const f32* a, const f32* b, int count, f32 c);

}  // namespace wave::emulator
