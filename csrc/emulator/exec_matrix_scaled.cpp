// Products of matrices of FP8, BF8, FP6, BF6 and FP4, each factor of its own format, and with a scale for every 32
// values of a row of A and a column of B (CDNA4 ISA document, "Block Scaled Matrices").
//
// D = C + A * B over all 64 lanes, whatever EXEC and MODE say. Products are added in ascending k, each by one fused
// multiply-add in f32. With scales the sum of each 32 is made on its own, then multiplied by both scales, which f64
// holds exactly, and added to D with one rounding. The order in which hardware sums is not published.
#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>
#include <utility>

#include "emulator/bodies.h"
#include "emulator/matrix.h"
#include "emulator/small_float.h"

#define WAVE_SOURCE "emulator/exec_matrix_scaled.cpp"
#include "emulator/each_simd_level.h"
#include "emulator/matrix.inl"

namespace wave::emulator::WAVE_SIMD {

namespace {

/// Values of k with one scale, and in a lane.
constexpr int kBlockDepth = 32;

/// The formats by their codes in CBSZ and BLGP.
enum FormatCode : u32 { kFp8, kBf8, kFp6, kBf6, kFp4, kFormats };

/// A factor: row j has the value at k = 32 * g + j in lane 32-or-16 * g + i, of row (column) i.
using FactorRows = f32[kBlockDepth][kLanes];

/// Bytes: the lanes of group g have 16 values from k = 16 * g on, and 16 from half the depth on. Those are put where
/// values of fewer bits are, of which a lane has 32 in a row.
template <class Format, int kSize>
void unpack_bytes(const LaneRow* from, FactorRows& to) {
  constexpr int kGroups = kLanes / kSize;
  for (int j = 0; j < kBlockDepth; ++j) {
    for (int lane = 0; lane < kLanes; ++lane) {
      const int k = j % 16 + 16 * (lane / kSize) + 16 * kGroups * (j / 16);
      const u32 code = from[j / 4].lane[lane] >> 8 * (j % 4) & 0xff;
      to[k % kBlockDepth][k / kBlockDepth * kSize + lane % kSize] = kOcpValues<Format>[code];
    }
  }
}

template <class Format>
void unpack_bits(const LaneRow* from, FactorRows& to) {
  constexpr int kBits = Format::kBits;
  for (int j = 0; j < kBlockDepth; ++j) {
    const int bit = kBits * j, at = bit / 32, shift = bit % 32;
    const LaneRow &low = from[at], &high = from[shift + kBits > 32 ? at + 1 : at];
    for (int lane = 0; lane < kLanes; ++lane) {
      const u64 both = low.lane[lane] | u64{high.lane[lane]} << 32;
      to[j][lane] = kOcpValues<Format>[both >> shift & ((1u << kBits) - 1)];
    }
  }
}

template <int kSize>
void unpack_factor(u32 format, const LaneRow* from, FactorRows& to) {
  switch (format) {
    case kFp8:
      return unpack_bytes<OcpFp8, kSize>(from, to);
    case kBf8:
      return unpack_bytes<OcpBf8, kSize>(from, to);
    case kFp6:
      return unpack_bits<OcpFp6>(from, to);
    case kBf6:
      return unpack_bits<OcpBf6>(from, to);
    case kFp4:
      return unpack_bits<OcpFp4>(from, to);
    default:
      fault("cbsz and blgp name formats of matrices from 0 (FP8) to 4 (FP4)");
  }
}

/// v_mfma_f32_*_f8f6f4: `kHasScales` of v_mfma_scale_*.
template <int kSize, bool kHasScales>
const Op* mfma_mixed(Wave& wave, const Op* op) {
  using Shape = MatrixShape<kSize, kBlockDepth * kLanes / kSize, 1, Float32Sums::kGroupRows>;
  constexpr int kWidth = std::min(kSize, kVectorBytes / int{sizeof(f32)}), kVectors = kSize / kWidth;
  constexpr int kRows = std::max(1, std::min(kVectorsAtOnce / kVectors, kSize));
  using V = typename VectorOf<f32, kWidth>::Type;
  alignas(64) FactorRows a, b;
  unpack_factor<kSize>(op->matrix.cbsz, register_rows(wave, op, 0), a);
  unpack_factor<kSize>(op->matrix.blgp, register_rows(wave, op, 1), b);
  f64 first_scales[kLanes], second_scales[kLanes];
  if constexpr (kHasScales) {
    const auto [first, second] = std::pair(&wave.v[op->matrix.scales[0]], &wave.v[op->matrix.scales[1]]);
    const int first_shift = 8 * op->matrix.scale_bytes[0], second_shift = 8 * op->matrix.scale_bytes[1];
    for (int lane = 0; lane < kLanes; ++lane) {
      first_scales[lane] = scale_of(first->lane[lane] >> first_shift & 0xff);
      second_scales[lane] = scale_of(second->lane[lane] >> second_shift & 0xff);
    }
  }
  LaneRow* rows = &wave.v[op->matrix.dst];
  copy_accumulators(wave, op, rows, Shape::kAccumulators, 1);
  f32* d = reinterpret_cast<f32*>(rows);
  for (int row = 0; row < kSize; row += kRows) {
    V sums[kRows][kVectors];
    const auto place = [&](int r, int v) { return d + Shape::output(0, row + r) + v * kWidth; };
    for (int r = 0; r < kRows; ++r) {
      for (int v = 0; v < kVectors; ++v) sums[r][v] = load<V>(place(r, v));
    }
    for (int block = 0; block < Shape::kSplits; ++block) {
      const int lane = block * kSize;
      V parts[kRows][kVectors];
      for (int r = 0; r < kRows; ++r) {
        for (int v = 0; v < kVectors; ++v) parts[r][v] = kHasScales ? V{} : sums[r][v];
      }
      for (int k = 0; k < kBlockDepth; ++k) {
        V columns[kVectors];
        for (int v = 0; v < kVectors; ++v) columns[v] = load<V>(&b[k][lane + v * kWidth]);
        for (int r = 0; r < kRows; ++r) {
          const V value = a[k][lane + row + r] - V{};
          for (int v = 0; v < kVectors; ++v) parts[r][v] = multiply_add<f32>(value, columns[v], parts[r][v]);
        }
      }
      for (int r = 0; r < kRows; ++r) {
        for (int v = 0; v < kVectors; ++v) {
          if constexpr (kHasScales) {
            for (int i = 0; i < kWidth; ++i) {
              const f64 scale = first_scales[lane + row + r] * second_scales[lane + v * kWidth + i];
              sums[r][v][i] = static_cast<f32>(sums[r][v][i] + parts[r][v][i] * scale);
            }
          } else {
            sums[r][v] = parts[r][v];
          }
        }
      }
    }
    for (int r = 0; r < kRows; ++r) {
      for (int v = 0; v < kVectors; ++v) std::memcpy(place(r, v), &sums[r][v], sizeof(V));
    }
  }
  return next(op);
}

constexpr Body kBodies[] = {
    {"v_mfma_f32_16x16x128_f8f6f4", mfma_mixed<16, false>},
    {"v_mfma_f32_32x32x64_f8f6f4", mfma_mixed<32, false>},
    {"v_mfma_scale_f32_16x16x128_f8f6f4", mfma_mixed<16, true>},
    {"v_mfma_scale_f32_32x32x64_f8f6f4", mfma_mixed<32, true>},
};

}  // namespace

std::span<const Body> scaled_matrix_bodies() { return kBodies; }

}  // namespace wave::emulator::WAVE_SIMD
