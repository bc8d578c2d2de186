// Sparse matrix multiply-accumulate (ISA document, "Sparse Matrix Instructions"): of every four consecutive k, A has
// two values, and an index of two bits for each says which.
//
// D = D + A * B over all 64 lanes, whatever EXEC and MODE say; the values of A in their order, as in exec_matrix.cpp.
#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>

#include "emulator/bodies.h"
#include "emulator/matrix.h"
#include "emulator/small_float.h"

#define WAVE_SOURCE "emulator/exec_matrix_sparse.cpp"
#include "emulator/each_simd_level.h"
#include "emulator/matrix.inl"

namespace wave::emulator::WAVE_SIMD {

namespace {

/// v_smfmac_*_{kSize}x{kSize}x{kDepth} on elements of types A and B.
template <class A, class B, int kSize, int kDepth>
const Op* smfmac(Wave& wave, const Op* op) {
  using Stored = MatrixShape<kSize, kDepth / 2, 1, A::kGroupRows>;
  using Shape = MatrixShape<kSize, kDepth, 1, A::kGroupRows>;
  using T = typename A::Sum;
  // Consecutive k of B in a lane: what 16 bytes hold. gfx950's instructions of twice that depth have the k behind all
  // lanes' in 16 more, whereas a lane's values of A are of consecutive k.
  constexpr int kRun = std::min(Shape::kPerLane, 4 * B::kRows);
  constexpr int kWidth = std::min(kSize, kVectorBytes / int{sizeof(T)}), kVectors = kSize / kWidth;
  using V = typename VectorOf<T, kWidth>::Type;

  alignas(64) T a[Stored::kPerLane][kLanes], b[Shape::kPerLane][kLanes];
  unpack<A>(register_rows(wave, op, 0), Stored::kPerLane / A::kRows, a);
  unpack<B>(register_rows(wave, op, 1), Shape::kPerLane / B::kRows, b);
  const MatrixModifiers modifiers(op->matrix);
  const u32 shift = modifiers.index_set(32 / (2 * Stored::kPerLane)) * 2 * Stored::kPerLane;
  LaneRow index = *register_rows(wave, op, 2);
  for (u32& bits : index.lane) bits >>= shift;

  T* d = reinterpret_cast<T*>(&wave.v[op->matrix.dst]);
  for (int row = 0; row < kSize; ++row) {
    V sums[kVectors];
    std::memcpy(sums, d + Shape::output(0, row), sizeof(sums));
    for (int split = 0; split < Shape::kSplits; ++split) {
      const int lane = Shape::input_lane(0, split);
      for (int stored = 0; stored < Stored::kPerLane; ++stored) {
        const V value = a[stored][lane + row] - V{};
        const int k =
            split * Shape::kPerLane + stored / 2 * 4 + static_cast<int>(index.lane[lane + row] >> 2 * stored & 3);
        const T* column =
            &b[k % kRun + k / (kRun * Shape::kSplits) * kRun][Shape::input_lane(0, k / kRun % Shape::kSplits)];
        for (int v = 0; v < kVectors; ++v) sums[v] = multiply_add<T>(value, load<V>(column + v * kWidth), sums[v]);
      }
    }
    std::memcpy(d + Shape::output(0, row), sums, sizeof(sums));
  }
  return next(op);
}

constexpr Body kBodies[] = {
    {"v_smfmac_f32_16x16x32_f16", smfmac<F16, F16, 16, 32>},
    {"v_smfmac_f32_32x32x16_f16", smfmac<F16, F16, 32, 16>},
    {"v_smfmac_f32_16x16x32_bf16", smfmac<Bf16, Bf16, 16, 32>},
    {"v_smfmac_f32_32x32x16_bf16", smfmac<Bf16, Bf16, 32, 16>},
    {"v_smfmac_i32_16x16x64_i8", smfmac<SingleI8, SingleI8, 16, 64>},
    {"v_smfmac_i32_32x32x32_i8", smfmac<SingleI8, SingleI8, 32, 32>},
    {"v_smfmac_f32_16x16x64_f16", smfmac<F16, F16, 16, 64>},
    {"v_smfmac_f32_32x32x32_f16", smfmac<F16, F16, 32, 32>},
    {"v_smfmac_f32_16x16x64_bf16", smfmac<Bf16, Bf16, 16, 64>},
    {"v_smfmac_f32_32x32x32_bf16", smfmac<Bf16, Bf16, 32, 32>},
    {"v_smfmac_i32_16x16x128_i8", smfmac<SingleI8, SingleI8, 16, 128>},
    {"v_smfmac_i32_32x32x64_i8", smfmac<SingleI8, SingleI8, 32, 64>},
#define WAVE_OCP(shape, size, depth)                                               \
  {"v_smfmac_f32_" shape "_fp8_fp8_ocp", smfmac<OcpF8, OcpF8, size, depth>},       \
      {"v_smfmac_f32_" shape "_fp8_bf8_ocp", smfmac<OcpF8, OcpB8, size, depth>},   \
      {"v_smfmac_f32_" shape "_bf8_fp8_ocp", smfmac<OcpB8, OcpF8, size, depth>}, { \
    "v_smfmac_f32_" shape "_bf8_bf8_ocp", smfmac<OcpB8, OcpB8, size, depth>        \
  }
    WAVE_OCP("16x16x64", 16, 64),
    WAVE_OCP("32x32x32", 32, 32),
    WAVE_OCP("16x16x128", 16, 128),
    WAVE_OCP("32x32x64", 32, 64),
#undef WAVE_OCP
    {"v_smfmac_f32_16x16x64_fp8_fp8", smfmac<F8, F8, 16, 64>},
    {"v_smfmac_f32_16x16x64_fp8_bf8", smfmac<F8, B8, 16, 64>},
    {"v_smfmac_f32_16x16x64_bf8_fp8", smfmac<B8, F8, 16, 64>},
    {"v_smfmac_f32_16x16x64_bf8_bf8", smfmac<B8, B8, 16, 64>},
    {"v_smfmac_f32_32x32x32_fp8_fp8", smfmac<F8, F8, 32, 32>},
    {"v_smfmac_f32_32x32x32_fp8_bf8", smfmac<F8, B8, 32, 32>},
    {"v_smfmac_f32_32x32x32_bf8_fp8", smfmac<B8, F8, 32, 32>},
    {"v_smfmac_f32_32x32x32_bf8_bf8", smfmac<B8, B8, 32, 32>},
};

}  // namespace

std::span<const Body> sparse_matrix_bodies() { return kBodies; }

}  // namespace wave::emulator::WAVE_SIMD
