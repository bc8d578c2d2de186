// Matrix multiply-accumulate (ISA document, "Matrix Arithmetic Instructions").
//
// D = C + A * B over all 64 lanes, whatever EXEC and MODE say, but that MODE makes zeros of denormals of A and B where
// these are f32 (MI300 and CDNA4 ISA documents, section 7.3 and 7.4; not of C, of sums, and of XF32). Products are
// added in ascending k: those of floats each by one fused multiply-add in the type of D, those of integers exactly,
// modulo 2^32. WAVE_RUNTIME_MFMA=exact chooses another order (matrix_exact.h).
#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>
#include <utility>

#include "emulator/bodies.h"
#include "emulator/matrix.h"
#include "emulator/matrix_exact.h"
#include "emulator/small_float.h"

#define WAVE_SOURCE "emulator/exec_matrix.cpp"
#include "emulator/each_simd_level.h"
#include "emulator/matrix.inl"
#include "emulator/matrix_exact.inl"
#include "emulator/matrix_factors.inl"

namespace wave::emulator::WAVE_SIMD {

namespace {

template <int kRows>
void flush(f32 (&rows)[kRows][kLanes]) {
  for (auto& row : rows) {
    WAVE_LANES
    for (f32& value : row) value = without_denormal(value);
  }
}

/// v_mfma_*_{kSize}x{kSize}x{kDepth}[_{kBlocks}b] on elements of types A and B.
template <class A, class B, int kSize, int kDepth, int kBlocks = 1>
const Op* mfma(Wave& wave, const Op* op) {
  using Shape = MatrixShape<kSize, kDepth, kBlocks, A::kGroupRows>;
  LaneRow* d = &wave.v[op->matrix.dst];
#if defined(WAVE_SIMD_AVX512)
  if constexpr (kMultipliesRegisters<A, B, Shape>) {
    if (!MatrixModifiers(op->matrix).any() && !(A::kExactGroup != 0 && sums_matrices_exactly())) [[likely]] {
      multiply_registers<A, B, Shape>(wave, op, d);
      return next(op);
    }
  }
#endif
  Factors<A, B, Shape> factors(wave, op);
  if constexpr (std::is_same_v<A, F32>) {
    if ((wave.mode.denorm32() & 1) == 0) [[unlikely]] {
      flush(factors.a);
      flush(factors.b);
    }
  }
  copy_accumulators(wave, op, d, Shape::kAccumulators, 1);
  typename A::Sum* sums = reinterpret_cast<typename A::Sum*>(d);
  if constexpr (A::kExactGroup != 0) {
    if (sums_matrices_exactly()) [[unlikely]] {
      ExactProduct<A, B, Shape>::add(factors.a, factors.b, sums);
      return next(op);
    }
  }
  multiply<Shape>(factors.a, factors.b, sums);
  return next(op);
}

template <int kRows>
void negate(f64 (&rows)[kRows][kLanes]) {
  for (auto& row : rows) {
    for (f64& value : row) value = -value;
  }
}

/// v_mfma_f64_*, whose BLGP negates A, B and C since GFX940. A value of D takes two registers.
template <bool kNegates, int kSize, int kDepth, int kBlocks = 1>
const Op* mfma_f64(Wave& wave, const Op* op) {
  using Shape = MatrixShape<kSize, kDepth, kBlocks, F64::kGroupRows>;
  const MatrixModifiers modifiers(op->matrix);
  modifiers.check(kBlocks, false, kNegates);
  Factors<F64, F64, Shape> factors(wave, op);
  LaneRow* d = &wave.v[op->matrix.dst];
  copy_accumulators(wave, op, d, 2 * Shape::kAccumulators, 2);
  alignas(64) f64 sums[Shape::kAccumulators][kLanes];
  unpack<F64>(d, 2 * Shape::kAccumulators, sums);
  if (modifiers.blgp() & 1) negate(factors.a);
  if (modifiers.blgp() & 2) negate(factors.b);
  if (modifiers.blgp() & 4) negate(sums);
  multiply<Shape>(factors.a, factors.b, &sums[0][0]);
  for (int i = 0; i < Shape::kAccumulators; ++i) {
    for (int lane = 0; lane < kLanes; ++lane) {
      const u64 bits = __builtin_bit_cast(u64, sums[i][lane]);
      d[2 * i].lane[lane] = static_cast<u32>(bits);
      d[2 * i + 1].lane[lane] = static_cast<u32>(bits >> 32);
    }
  }
  return next(op);
}

constexpr Body kBodies[] = {
    {"v_mfma_f32_16x16x16_f16", mfma<F16, F16, 16, 16>},
    {"v_mfma_f32_32x32x8_f16", mfma<F16, F16, 32, 8>},
    {"v_mfma_f32_32x32x4_2b_f16", mfma<F16, F16, 32, 4, 2>},
    {"v_mfma_f32_16x16x4_4b_f16", mfma<F16, F16, 16, 4, 4>},
    {"v_mfma_f32_4x4x4_16b_f16", mfma<F16, F16, 4, 4, 16>},
    {"v_mfma_f32_16x16x16_bf16", mfma<Bf16, Bf16, 16, 16>},
    {"v_mfma_f32_32x32x8_bf16", mfma<Bf16, Bf16, 32, 8>},
    {"v_mfma_f32_32x32x4_2b_bf16", mfma<Bf16, Bf16, 32, 4, 2>},
    {"v_mfma_f32_16x16x4_4b_bf16", mfma<Bf16, Bf16, 16, 4, 4>},
    {"v_mfma_f32_4x4x4_16b_bf16", mfma<Bf16, Bf16, 4, 4, 16>},
    {"v_mfma_f32_16x16x32_fp8_fp8", mfma<F8, F8, 16, 32>},
    {"v_mfma_f32_16x16x32_fp8_bf8", mfma<F8, B8, 16, 32>},
    {"v_mfma_f32_16x16x32_bf8_fp8", mfma<B8, F8, 16, 32>},
    {"v_mfma_f32_16x16x32_bf8_bf8", mfma<B8, B8, 16, 32>},
    {"v_mfma_f32_32x32x16_fp8_fp8", mfma<F8, F8, 32, 16>},
    {"v_mfma_f32_32x32x16_fp8_bf8", mfma<F8, B8, 32, 16>},
    {"v_mfma_f32_32x32x16_bf8_fp8", mfma<B8, F8, 32, 16>},
    {"v_mfma_f32_32x32x16_bf8_bf8", mfma<B8, B8, 32, 16>},
#define WAVE_OCP(shape, size, depth)                                           \
  {"v_mfma_f32_" shape "_fp8_fp8_ocp", mfma<OcpF8, OcpF8, size, depth>},       \
      {"v_mfma_f32_" shape "_fp8_bf8_ocp", mfma<OcpF8, OcpB8, size, depth>},   \
      {"v_mfma_f32_" shape "_bf8_fp8_ocp", mfma<OcpB8, OcpF8, size, depth>}, { \
    "v_mfma_f32_" shape "_bf8_bf8_ocp", mfma<OcpB8, OcpB8, size, depth>        \
  }
    WAVE_OCP("16x16x32", 16, 32),
    WAVE_OCP("32x32x16", 32, 16),
#undef WAVE_OCP
    {"v_mfma_f32_16x16x32_f16", mfma<F16, F16, 16, 32>},
    {"v_mfma_f32_32x32x16_f16", mfma<F16, F16, 32, 16>},
    {"v_mfma_f32_16x16x32_bf16", mfma<Bf16, Bf16, 16, 32>},
    {"v_mfma_f32_32x32x16_bf16", mfma<Bf16, Bf16, 32, 16>},
    {"v_mfma_i32_16x16x64_i8", mfma<I8, I8, 16, 64>},
    {"v_mfma_i32_32x32x32_i8", mfma<I8, I8, 32, 32>},
    {"v_mfma_f32_16x16x8_xf32", mfma<Xf32, Xf32, 16, 8>},
    {"v_mfma_f32_32x32x4_xf32", mfma<Xf32, Xf32, 32, 4>},
    {"v_mfma_f32_16x16x4_f32", mfma<F32, F32, 16, 4>},
    {"v_mfma_f32_32x32x2_f32", mfma<F32, F32, 32, 2>},
    {"v_mfma_f32_32x32x1_2b_f32", mfma<F32, F32, 32, 1, 2>},
    {"v_mfma_f32_16x16x1_4b_f32", mfma<F32, F32, 16, 1, 4>},
    {"v_mfma_f32_4x4x1_16b_f32", mfma<F32, F32, 4, 1, 16>},
    {"v_mfma_f64_16x16x4_f64", mfma_f64<true, 16, 4>},
    {"v_mfma_f64_4x4x4_4b_f64", mfma_f64<true, 4, 4, 4>},
    {"v_mfma_f64_16x16x4f64", mfma_f64<false, 16, 4>},
    {"v_mfma_f64_4x4x4f64", mfma_f64<false, 4, 4, 4>},
    {"v_mfma_i32_16x16x32_i8", mfma<I8, I8, 16, 32>},
    {"v_mfma_i32_32x32x16_i8", mfma<I8, I8, 32, 16>},
    {"v_mfma_i32_16x16x16i8", mfma<I8, I8, 16, 16>},
    {"v_mfma_i32_32x32x8i8", mfma<I8, I8, 32, 8>},
    {"v_mfma_i32_32x32x4_2b_i8", mfma<I8, I8, 32, 4, 2>},
    {"v_mfma_i32_16x16x4_4b_i8", mfma<I8, I8, 16, 4, 4>},
    {"v_mfma_i32_4x4x4_16b_i8", mfma<I8, I8, 4, 4, 16>},
};

}  // namespace

std::span<const Body> matrix_bodies() {
  sums_matrices_exactly();  // a wrong WAVE_RUNTIME_MFMA is an error now rather than in the middle of a launch
  return kBodies;
}

}  // namespace wave::emulator::WAVE_SIMD
