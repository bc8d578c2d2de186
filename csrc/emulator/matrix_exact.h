// Matrix products summed as the hardware is believed to sum them: WAVE_RUNTIME_MFMA=exact.
#pragma once

#include "emulator/wave.h"

namespace wave::emulator {

/// Whether WAVE_RUNTIME_MFMA is "exact" rather than "fast", the default (read once). Throws ValueError for other
/// values.
bool sums_matrices_exactly();

/// The sums of one instruction: the members of MatrixShape, and the element types.
struct MatrixSums {
  int size, depth, blocks, per_lane;
  int (*input_lane)(int block, int split);
  int (*output)(int block, int row);
  int group;                           ///< how many products are added at once
  int min_exponent_a, min_exponent_b;  ///< of the smallest normal numbers
  bool is_float8;
};

/// D += A * B by the rules that microsoft/MMA-Sim gives for CDNA3. `a` and `b` are [element of the lane][lane], `d` is
/// [accumulator][lane].
void multiply_exactly(const MatrixSums& sums, const f32* a, const f32* b, f32* d);

}  // namespace wave::emulator
