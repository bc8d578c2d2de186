// Products of matrices of FP8, BF8, FP6, BF6 and FP4, each factor of its own format, and with a scale for every 32
// values of a row of A and a column of B (CDNA4 ISA document, "Block Scaled Matrices").
//
// D = C + A * B over all 64 lanes, whatever EXEC and MODE say. Products are added in ascending k, each by one fused
// multiply-add in f32. With scales the sum of each 32 is made on its own, then multiplied by both scales and added to D
// with one rounding. The order in which hardware sums is not published.
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
  for (int dword = 0; dword < kBlockDepth / 4; ++dword) {
    for (int lane = 0; lane < kLanes; lane += kDecodedLanes) {
      decode_dwords<Format>(&from[dword].lane[lane], [&](int byte) {
        const int j = 4 * dword + byte, k = j % 16 + 16 * (lane / kSize) + 16 * kGroups * (j / 16);
        return &to[k % kBlockDepth][k / kBlockDepth * kSize + lane % kSize];
      });
    }
  }
}

template <class Format>
void unpack_sixes(const LaneRow* from, FactorRows& to) {
  for (int j = 0; j < kBlockDepth; ++j) {
    const int bit = Format::kBits * j, at = bit / 32, shift = bit % 32;
    const int last = shift + Format::kBits > 32 ? at + 1 : at;
    for (int lane = 0; lane < kLanes; lane += kDecodedLanes) {
      decode_across<Format>(&from[at].lane[lane], &from[last].lane[lane], shift, &to[j][lane]);
    }
  }
}

template <class Format>
void unpack_fours(const LaneRow* from, FactorRows& to) {
  for (int dword = 0; dword < kBlockDepth / 8; ++dword) {
    for (int lane = 0; lane < kLanes; lane += kDecodedLanes) {
      decode_dwords<Format>(&from[dword].lane[lane], [&](int i) { return &to[8 * dword + i][lane]; });
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
      return unpack_sixes<OcpFp6>(from, to);
    case kBf6:
      return unpack_sixes<OcpBf6>(from, to);
    case kFp4:
      return unpack_fours<OcpFp4>(from, to);
    default:
      fault("cbsz and blgp name formats of matrices from 0 (FP8) to 4 (FP4)");
  }
}

/// The scales of a lane's 32 values, 2^(e - 127) of E8M0 codes e: those of A and those of B.
struct ScaleCodes {
  u32 codes[2][kLanes];

  ScaleCodes(const Wave& wave, const Op* op) {
    for (int i = 0; i < 2; ++i) {
      const LaneRow& row = wave.v[op->matrix.scales[i]];
      const int shift = 8 * op->matrix.scale_bytes[i];
      for (int lane = 0; lane < kLanes; ++lane) codes[i][lane] = row.lane[lane] >> shift & 0xff;
    }
  }

  /// Whether f32 has all of them, and all products of two, as normal numbers.
  bool are_normal() const {
    const auto [least_a, most_a] = std::ranges::minmax(codes[0]);
    const auto [least_b, most_b] = std::ranges::minmax(codes[1]);
    return least_a > 0 && least_b > 0 && least_a + least_b > 127 && most_a < 255 && most_b < 255 &&
           most_a + most_b < 127 + 255;
  }
};

// How the sum of 32 products, which begins with begin(D), is added to D: `a` is the lane whose scale a row of A has,
// `b` the first of those of the columns of B.

struct NoScales {
  template <class V>
  static V begin(V d) {
    return d;
  }
  template <class V>
  static V add(V, V sum, int, int) {
    return sum;
  }
};

/// That are_normal(): a fused multiply-add rounds once.
struct NormalScales {
  alignas(64) f32 values[2][kLanes];

  explicit NormalScales(const ScaleCodes& scales) {
    for (int i = 0; i < 2; ++i) {
      for (int lane = 0; lane < kLanes; ++lane) values[i][lane] = __builtin_bit_cast(f32, scales.codes[i][lane] << 23);
    }
  }
  template <class V>
  static V begin(V) {
    return V{};
  }
  template <class V>
  V add(V d, V sum, int a, int b) const {
    return multiply_add<f32>(sum, load<V>(&values[1][b]) * values[0][a], d);
  }
};

/// Any. f64 has them and the products with them; a sum of two such numbers of 24 digits, rounded to f64 and then to
/// f32, is what one rounding gives.
struct AnyScales {
  f64 values[2][kLanes];

  explicit AnyScales(const ScaleCodes& scales) {
    for (int i = 0; i < 2; ++i) {
      for (int lane = 0; lane < kLanes; ++lane) values[i][lane] = scale_of(scales.codes[i][lane]);
    }
  }
  template <class V>
  static V begin(V) {
    return V{};
  }
  template <class V>
  V add(V d, V sum, int a, int b) const {
    for (int i = 0; i < static_cast<int>(sizeof(V) / sizeof(f32)); ++i) {
      d[i] = static_cast<f32>(d[i] + sum[i] * (values[0][a] * values[1][b + i]));
    }
    return d;
  }
};

/// Adds A * B to D, in tiles that stay in registers while k runs.
template <int kSize, class Scales>
void multiply(const FactorRows& a, const FactorRows& b, const Scales& scales, f32* d) {
  using Shape = MatrixShape<kSize, kBlockDepth * kLanes / kSize, 1, Float32Sums::kGroupRows>;
  constexpr int kWidth = std::min(kSize, kVectorBytes / int{sizeof(f32)}), kVectors = kSize / kWidth;
  constexpr int kRows = std::max(1, std::min(kVectorsAtOnce / kVectors, kSize));
  using V = typename VectorOf<f32, kWidth>::Type;
  for (int row = 0; row < kSize; row += kRows) {
    const auto place = [&](int r, int v) { return d + Shape::output(0, row + r) + v * kWidth; };
    for (int block = 0; block < Shape::kSplits; ++block) {
      const int lane = block * kSize;
      V sums[kRows][kVectors];
      for (int r = 0; r < kRows; ++r) {
        for (int v = 0; v < kVectors; ++v) sums[r][v] = Scales::begin(load<V>(place(r, v)));
      }
      for (int k = 0; k < kBlockDepth; ++k) {
        V columns[kVectors];
        for (int v = 0; v < kVectors; ++v) columns[v] = load<V>(&b[k][lane + v * kWidth]);
        for (int r = 0; r < kRows; ++r) {
          const V value = a[k][lane + row + r] - V{};
          for (int v = 0; v < kVectors; ++v) sums[r][v] = multiply_add<f32>(value, columns[v], sums[r][v]);
        }
      }
      for (int r = 0; r < kRows; ++r) {
        for (int v = 0; v < kVectors; ++v) {
          const V sum = scales.add(load<V>(place(r, v)), sums[r][v], lane + row + r, lane + v * kWidth);
          std::memcpy(place(r, v), &sum, sizeof(V));
        }
      }
    }
  }
}

/// A and B of one instruction.
template <int kSize>
struct Factors {
  alignas(64) FactorRows a, b;

  Factors(const Wave& wave, const Op* op) {
    unpack_factor<kSize>(op->matrix.cbsz, register_rows(wave, op, 0), a);
    unpack_factor<kSize>(op->matrix.blgp, register_rows(wave, op, 1), b);
  }
};

/// C, where D is.
template <int kSize>
f32* accumulators(Wave& wave, const Op* op) {
  LaneRow* const rows = &wave.v[op->matrix.dst];
  copy_accumulators(wave, op, rows, kSize * kSize / kLanes, 1);
  return reinterpret_cast<f32*>(rows);
}

/// v_mfma_f32_*_f8f6f4.
template <int kSize>
const Op* mfma_mixed(Wave& wave, const Op* op) {
  const Factors<kSize> factors(wave, op);
  multiply<kSize>(factors.a, factors.b, NoScales(), accumulators<kSize>(wave, op));
  return next(op);
}

/// v_mfma_scale_f32_*_f8f6f4.
template <int kSize>
const Op* mfma_scaled(Wave& wave, const Op* op) {
  const Factors<kSize> factors(wave, op);
  const ScaleCodes scales(wave, op);
  f32* const d = accumulators<kSize>(wave, op);
  if (scales.are_normal()) [[likely]] {
    multiply<kSize>(factors.a, factors.b, NormalScales(scales), d);
  } else {
    multiply<kSize>(factors.a, factors.b, AnyScales(scales), d);
  }
  return next(op);
}

constexpr Body kBodies[] = {
    {"v_mfma_f32_16x16x128_f8f6f4", mfma_mixed<16>},
    {"v_mfma_f32_32x32x64_f8f6f4", mfma_mixed<32>},
    {"v_mfma_scale_f32_16x16x128_f8f6f4", mfma_scaled<16>},
    {"v_mfma_scale_f32_32x32x64_f8f6f4", mfma_scaled<32>},
};

}  // namespace

std::span<const Body> scaled_matrix_bodies() { return kBodies; }

}  // namespace wave::emulator::WAVE_SIMD
