// Matrix products of f16 and bf16 on gfx90a.
//
// Denormals of A, B and C are zeros, and so are those of products and sums (MIOpen's documentation, "MI200 MFMA
// behavior specifics"). The products of the k that a lane holds are added in pairs, and their sum to D, each sum
// rounded to nearest even: what microsoft/MMA-Sim found CDNA2 to do. WAVE_RUNTIME_MFMA changes nothing about it.
#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>
#include <utility>

#include "emulator/bodies.h"
#include "emulator/matrix.h"
#include "emulator/small_float.h"

#define WAVE_SOURCE "emulator/exec_matrix_cdna2.cpp"
#include "emulator/each_simd_level.h"
#include "emulator/matrix.inl"
#include "emulator/matrix_factors.inl"

namespace wave::emulator::WAVE_SIMD {

namespace {

/// Makes +0 of what is smaller than a type's least normal number.
template <size_t kCount>
void flush(f32 (&values)[kCount], f32 least) {
  WAVE_LANES
  for (f32& value : values) value = std::abs(value) < least ? 0 : value;
}

/// The sum of products of one lane of A and one of B: in pairs, and those in pairs.
template <int kCount>
inline f32 sum_in_pairs(const f32* products) {
  if constexpr (kCount == 1) {
    return products[0];
  } else {
    return without_denormal(sum_in_pairs<kCount / 2>(products) + sum_in_pairs<kCount / 2>(products + kCount / 2));
  }
}

/// Adds the products that one lane holds of each row and column to a block of D.
template <class Shape, int kSteps>
void add_products(const f32 (&a)[kSteps][kLanes], const f32 (&b)[kSteps][kLanes], int block, int split, f32* d) {
  const int lane = Shape::input_lane(block, split);
  for (int row = 0; row < Shape::kSize; ++row) {
    f32* const sums = d + Shape::output(block, row);
    WAVE_LANES
    for (int column = 0; column < Shape::kSize; ++column) {
      f32 products[kSteps];
      for (int k = 0; k < kSteps; ++k) products[k] = without_denormal(a[k][lane + row] * b[k][lane + column]);
      sums[column] = without_denormal(sums[column] + sum_in_pairs<kSteps>(products));
    }
  }
}

/// v_mfma_f32_{kSize}x{kSize}x{kDepth} of kBlocks blocks.
template <class Type, int kSize, int kDepth, int kBlocks = 1>
const Op* mfma_in_pairs(Wave& wave, const Op* op) {
  using Shape = MatrixShape<kSize, kDepth, kBlocks, Type::kGroupRows>;
  constexpr f32 kLeast = std::is_same_v<Type, F16> ? 0x1p-14f : 0x1p-126f;
  Factors<Type, Type, Shape> factors(wave, op);
  LaneRow* d = &wave.v[op->matrix.dst];
  copy_accumulators(wave, op, d, Shape::kAccumulators, 1);
  for (auto& row : factors.a) flush(row, kLeast);
  for (auto& row : factors.b) flush(row, kLeast);
  f32* const sums = reinterpret_cast<f32*>(d);
  for (int i = 0; i < Shape::kAccumulators; ++i) flush(reinterpret_cast<f32(&)[kLanes]>(sums[i * kLanes]), 0x1p-126f);
  for (int block = 0; block < kBlocks; ++block) {
    for (int split = 0; split < Shape::kSplits; ++split) add_products<Shape>(factors.a, factors.b, block, split, sums);
  }
  return next(op);
}

constexpr Body kBodies[] = {
    {"v_mfma_f32_32x32x4f16", mfma_in_pairs<F16, 32, 4, 2>},
    {"v_mfma_f32_16x16x4f16", mfma_in_pairs<F16, 16, 4, 4>},
    {"v_mfma_f32_4x4x4f16", mfma_in_pairs<F16, 4, 4, 16>},
    {"v_mfma_f32_32x32x8f16", mfma_in_pairs<F16, 32, 8>},
    {"v_mfma_f32_16x16x16f16", mfma_in_pairs<F16, 16, 16>},
    {"v_mfma_f32_32x32x4bf16_1k", mfma_in_pairs<Bf16, 32, 4, 2>},
    {"v_mfma_f32_16x16x4bf16_1k", mfma_in_pairs<Bf16, 16, 4, 4>},
    {"v_mfma_f32_4x4x4bf16_1k", mfma_in_pairs<Bf16, 4, 4, 16>},
    {"v_mfma_f32_32x32x8bf16_1k", mfma_in_pairs<Bf16, 32, 8>},
    {"v_mfma_f32_16x16x16bf16_1k", mfma_in_pairs<Bf16, 16, 16>},
    {"v_mfma_f32_32x32x2bf16", mfma_in_pairs<Bf16, 32, 2, 2>},
    {"v_mfma_f32_16x16x2bf16", mfma_in_pairs<Bf16, 16, 2, 4>},
    {"v_mfma_f32_4x4x2bf16", mfma_in_pairs<Bf16, 4, 2, 16>},
    {"v_mfma_f32_32x32x4bf16", mfma_in_pairs<Bf16, 32, 4>},
    {"v_mfma_f32_16x16x8bf16", mfma_in_pairs<Bf16, 16, 8>},
};

}  // namespace

std::span<const Body> matrix_cdna2_bodies() { return kBodies; }

}  // namespace wave::emulator::WAVE_SIMD
