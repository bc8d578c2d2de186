// Matrix multiply-accumulate (ISA document, "Matrix Arithmetic Instructions"; register layouts as the AMD Matrix
// Instruction Calculator gives them).
//
// D = C + A * B over all 64 lanes, whatever EXEC and MODE say. Products are added in ascending k, each by one fused f32
// multiply-add.
#include <immintrin.h>

#include <cstring>
#include <utility>

#include "emulator/bodies.h"

#define WAVE_SOURCE "emulator/exec_matrix.cpp"
#include "emulator/each_simd_level.h"

namespace wave::emulator::WAVE_SIMD {

namespace {

// The widest vector of f32 at this level and how many rows of D are held in registers at a time.
#if defined(WAVE_SIMD_AVX512)
inline constexpr int kWidth = 16, kRowsAtOnce = 16;
#elif defined(WAVE_SIMD_AVX2)
inline constexpr int kWidth = 8, kRowsAtOnce = 4;
#else
inline constexpr int kWidth = 4, kRowsAtOnce = 2;
#endif
typedef f32 Floats __attribute__((vector_size(4 * kWidth)));

inline Floats load(const f32* from) {
  Floats value;
  std::memcpy(&value, from, sizeof(value));
  return value;
}

/// A value in all elements. Subtracting zero keeps every value, -0 included.
inline Floats splat(f32 value) { return value - Floats{}; }

inline Floats multiply_add(Floats a, Floats b, Floats c) {
#if defined(WAVE_SIMD_AVX512)
  return _mm512_fmadd_ps(a, b, c);
#elif defined(WAVE_SIMD_AVX2)
  return _mm256_fmadd_ps(a, b, c);
#else
  for (int i = 0; i < kWidth; ++i) c[i] = __builtin_fmaf(a[i], b[i], c[i]);
  return c;
#endif
}

/// An f16 as f32: exact for every value, denormals included.
inline f32 half_to_float(u16 half) {
  const u32 sign = u32{half & 0x8000u} << 16, exponent = half >> 10 & 31, mantissa = half & 0x3ffu;
  if (exponent == 0) {
    const f32 magnitude = static_cast<f32>(mantissa) * 0x1p-24f;
    return sign != 0 ? -magnitude : magnitude;
  }
  const u32 biased = exponent == 31 ? 255u : exponent + 112u;
  return __builtin_bit_cast(f32, sign | biased << 23 | mantissa << 13);
}

#if defined(WAVE_SIMD_AVX512) || defined(WAVE_SIMD_AVX2)
/// Eight f16, each in the low half of a dword, as f32.
inline __m256 convert_halves(__m256i halves) {
  return _mm256_cvtph_ps(_mm_packus_epi32(_mm256_castsi256_si128(halves), _mm256_extracti128_si256(halves, 1)));
}
#endif

/// Splits a row of packed f16 pairs: low halves of `count` lanes to `low`, high halves to `high`.
inline void unpack_halves(const u32* lanes, int count, f32* low, f32* high) {
#if defined(WAVE_SIMD_AVX512) || defined(WAVE_SIMD_AVX2)
  for (int i = 0; i < count; i += 8) {
    const __m256i pairs = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(lanes + i));
    const __m256i lows = _mm256_and_si256(pairs, _mm256_set1_epi32(0xffff)), highs = _mm256_srli_epi32(pairs, 16);
    _mm256_storeu_ps(low + i, convert_halves(lows));
    _mm256_storeu_ps(high + i, convert_halves(highs));
  }
#else
  for (int i = 0; i < count; ++i) {
    low[i] = half_to_float(static_cast<u16>(lanes[i]));
    high[i] = half_to_float(static_cast<u16>(lanes[i] >> 16));
  }
#endif
}

/// The rows of a matrix source: of the register file, or one row that stands for all (an inline constant).
struct MatrixRows {
  const Row* first;
  bool constant;
  const Row& operator[](int index) const { return constant ? first[0] : first[index]; }
};

inline MatrixRows matrix_source(const Wave& wave, const Op* op, int index) {
  const uintptr_t rows = op->rows[index];
  if (rows & kSourceConstant) return {reinterpret_cast<const Row*>(rows - kSourceConstant), true};
  return {reinterpret_cast<const Row*>(reinterpret_cast<uintptr_t>(wave.v) + rows), false};
}

/// A and B with kSize rows or columns and kDepth values of k each: lane l holds row or column l % kSize, and k from
/// l / kSize * kPerLane on, two to a register.
template <int kSize, int kDepth>
void unpack_f16(MatrixRows source, f32 (&tile)[kDepth][kSize]) {
  constexpr int kPerLane = kDepth * kSize / kLanes;
  for (int lane = 0; lane < kLanes; lane += kSize) {
    const int k = lane / kSize * kPerLane;
    for (int pair = 0; pair < kPerLane / 2; ++pair) {
      unpack_halves(&source[pair].lane[lane], kSize, tile[k + 2 * pair], tile[k + 2 * pair + 1]);
    }
  }
}

/// The row of D that register `index` holds in the lanes from `lane` on: rows come in groups of four, which go round
/// the lanes in turn.
template <int kSize>
constexpr int matrix_row(int index, int lane) {
  return index / 4 * 4 * (kLanes / kSize) + lane / kSize * 4 + index % 4;
}

/// Adds A * B to kRowsAtOnce rows of the accumulator, which stay in registers while k runs.
template <int kSize, int kDepth>
inline void accumulate(const f32 (&a)[kDepth][kSize], const f32 (&b)[kDepth][kSize], int row, f32 (*sum)[kSize]) {
  constexpr int kVectors = kSize / kWidth;
  constexpr int kColumns = kVectors > 2 && kRowsAtOnce * kVectors > 16 ? 16 / kRowsAtOnce : kVectors;
  for (int first = 0; first < kVectors; first += kColumns) {
    Floats block[kRowsAtOnce][kColumns];
    for (int r = 0; r < kRowsAtOnce; ++r) {
      for (int c = 0; c < kColumns; ++c) block[r][c] = load(&sum[row + r][(first + c) * kWidth]);
    }
    for (int k = 0; k < kDepth; ++k) {
      Floats column[kColumns];
      for (int c = 0; c < kColumns; ++c) column[c] = load(&b[k][(first + c) * kWidth]);
      for (int r = 0; r < kRowsAtOnce; ++r) {
        const Floats value = splat(a[k][row + r]);
        for (int c = 0; c < kColumns; ++c) block[r][c] = multiply_add(value, column[c], block[r][c]);
      }
    }
    for (int r = 0; r < kRowsAtOnce; ++r) {
      for (int c = 0; c < kColumns; ++c) std::memcpy(&sum[row + r][(first + c) * kWidth], &block[r][c], sizeof(Floats));
    }
  }
}

/// v_mfma_f32_{kSize}x{kSize}x{kDepth}_f16 with one block.
template <int kSize, int kDepth>
const Op* mfma_f32_f16(Wave& wave, const Op* op) {
  alignas(64) f32 a[kDepth][kSize], b[kDepth][kSize], sum[kSize][kSize];
  unpack_f16<kSize, kDepth>(matrix_source(wave, op, 0), a);
  unpack_f16<kSize, kDepth>(matrix_source(wave, op, 1), b);
  const MatrixRows c = matrix_source(wave, op, 2);
  constexpr int kRegisters = kSize * kSize / kLanes;
  for (int index = 0; index < kRegisters; ++index) {
    for (int lane = 0; lane < kLanes; lane += kSize) {
      std::memcpy(sum[matrix_row<kSize>(index, lane)], &c[index].lane[lane], 4 * kSize);
    }
  }
  for (int row = 0; row < kSize; row += kRowsAtOnce) accumulate<kSize, kDepth>(a, b, row, sum);
  for (int index = 0; index < kRegisters; ++index) {
    for (int lane = 0; lane < kLanes; lane += kSize) {
      std::memcpy(&wave.v[op->dst + index].lane[lane], sum[matrix_row<kSize>(index, lane)], 4 * kSize);
    }
  }
  return op + op->size;
}

constexpr Body kBodies[] = {
    {"v_mfma_f32_16x16x16_f16", mfma_f32_f16<16, 16>},
    {"v_mfma_f32_32x32x8_f16", mfma_f32_f16<32, 8>},
};

}  // namespace

std::span<const Body> matrix_bodies() { return kBodies; }

}  // namespace wave::emulator::WAVE_SIMD
