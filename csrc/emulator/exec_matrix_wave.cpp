// Wave matrix multiply-accumulate, dense and sparse ("RDNA3 Instruction Set Architecture", section "Wave Matrix
// Multiply Accumulate"; RDNA4's has other layouts, FP8 and sparse matrices).
//
// D = C + A * B of 16 rows and 16 columns, over all lanes, whatever EXEC and MODE say but for FP16_OVFL. Products are
// added in ascending k, those of floats each by one fused multiply-add in f32, also where D has 16 bits; with
// WAVE_RUNTIME_MFMA=exact dense ones of f16 and bf16 as rdna_sums.h says. Integers are added exactly; with CLAMP the
// sum is saturated.
#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <type_traits>

#include "emulator/bodies.h"
#include "emulator/matrix.h"
#include "emulator/matrix_exact.h"
#include "emulator/rdna_sums.h"
#include "emulator/small_float.h"

#define WAVE_SOURCE "emulator/exec_matrix_wave.cpp"
#include "emulator/each_simd_level.h"
#include "emulator/matrix.inl"

namespace wave::emulator::WAVE_SIMD {

namespace {

enum class Family { Rdna3, Rdna4 };

/// The first of 16 lanes that hold a row of D, and which element of theirs it is.
struct RowPlace {
  int element, lane;
};

/// Where elements lie: row i of A and column j of B and of D in lanes that are i or j modulo 16. RDNA3 has all of A and
/// B in each group of 16 lanes, RDNA4 consecutive k in consecutive groups.
template <Family kFamily, int kWave, int kDepthOf, int kGroups = kWave / 16>
struct WaveShape {
  static constexpr int kSize = 16, kDepth = kDepthOf, kBlocks = 1;
  static constexpr bool kIsReplicated = kFamily == Family::Rdna3;
  static constexpr int kSplits = kIsReplicated ? 1 : kGroups;
  static constexpr int kPerLane = kDepth / kSplits;
  static constexpr int kInputLanes = 16 * kSplits;
  static constexpr int kAccumulators = kSize * kSize / kWave;
  static constexpr int kWaveLanes = kWave;
  static constexpr Family kOf = kFamily;

  static constexpr int input_lane(int, int split) { return split * kSize; }
  static constexpr RowPlace place(int row) {
    if (kIsReplicated) return {row / (kWave / 16), row % (kWave / 16) * 16};
    if (kWave == 32) return {row % 8, row / 8 * 16};
    return {row % 4, row / 8 * 16 + row / 4 % 2 * 32};
  }
  static constexpr int output(int, int row) { return place(row).element * kLanes + place(row).lane; }
};

/// The same with the rows of D one behind the other.
template <class Shape>
struct InRows : Shape {
  static constexpr int output(int, int row) { return row * Shape::kSize; }
};

/// Integers of 8 or 4 bits as pairs in the halves of a dword, or one by one with zeros above.
template <int kBits, bool kIsSingle>
struct Integers {
  using Factor = i32;
  using Sum = i32;
  static constexpr int kPacked = kIsSingle ? 1 : 2, kRows = 32 / kBits / kPacked;

  template <int kCount>
  static void unpack(const LaneRow* from, i32 (*to)[kLanes], bool is_signed) {
    for (int i = 0; i < kRows; ++i) {
      WAVE_LANES
      for (int lane = 0; lane < kCount; ++lane) {
        const u32 low = value(from->lane[lane], kPacked * i, is_signed);
        const u32 high = kIsSingle ? 0 : value(from->lane[lane], kPacked * i + 1, is_signed);
        to[i][lane] = static_cast<i32>((low & 0xffffu) | high << 16);
      }
    }
  }

 private:
  static u32 value(u32 dword, int place, bool is_signed) {
    const u32 at_top = dword << (32 - kBits - kBits * place);
    return is_signed ? static_cast<u32>(static_cast<i32>(at_top) >> (32 - kBits)) : at_top >> (32 - kBits);
  }
};

template <class Type>
constexpr bool kIsInteger = std::is_same_v<typename Type::Sum, i32>;

bool are_same(const u32* a, const u32* b) { return std::memcmp(a, b, 16 * sizeof(u32)) == 0; }

/// Whether the 16 lanes from `group` on have the registers of the first 16 in another order, the same for A and B.
bool are_in_another_order(const LaneRow* a, const LaneRow* b, int count, int group) {
  u32 taken = 0;
  for (int i = 0; i < count; ++i) {
    int k = 0;
    while (k < count && ((taken >> k & 1) != 0 || !are_same(a[i].lane + group, a[k].lane) ||
                         !are_same(b[i].lane + group, b[k].lane))) {
      ++k;
    }
    if (k == count) return false;
    taken |= 1u << k;
  }
  return true;
}

/// Throws the fault of factors whose lanes do not have the same products in each group.
template <class Shape>
[[gnu::noinline]] void check_orders(const LaneRow* a, const LaneRow* b, int count) {
  for (int group = 16; group < Shape::kWaveLanes; group += 16) {
    if (are_in_another_order(a, b, count, group)) continue;
    bool a_differs = false;
    for (int i = 0; i < count; ++i) a_differs |= !are_same(a[i].lane, a[i].lane + group);
    fault(std::string("a factor of WMMA must be the same in each 16 lanes, but for the order of k: ") +
              (a_differs ? 'A' : 'B') + " differs in lanes " + std::to_string(group) + " to " +
              std::to_string(group + 15),
          group);
  }
}

/// The lanes of the factors' first group must be repeated in all others, as the document asks: what the hardware does
/// with others is not defined. rocWMMA has the registers in another order there, for A and B alike: whether the
/// hardware takes a group's own factors or the first one's, D is the sum of the same products. Here they are added in
/// the first group's order.
template <class Shape>
void check_copies(const LaneRow* a, const LaneRow* b, int count) {
  u32 differences[16] = {};
  for (int i = 0; i < count; ++i) {
    for (int group = 16; group < Shape::kWaveLanes; group += 16) {
      WAVE_LANES
      for (int lane = 0; lane < 16; ++lane) {
        differences[lane] |= (a[i].lane[lane] ^ a[i].lane[group + lane]) | (b[i].lane[lane] ^ b[i].lane[group + lane]);
      }
    }
  }
  u32 any = 0;
  for (const u32 bits : differences) any |= bits;
  if (any != 0) [[unlikely]]
    check_orders<Shape>(a, b, count);
}

template <int kRows>
void negate(f32 (&rows)[kRows][kLanes], int first, int lanes) {
  for (int i = first; i < kRows; i += 2) {
    for (int lane = 0; lane < lanes; ++lane) rows[i][lane] = -rows[i][lane];
  }
}

/// A (source 0) or B as rows of factors. NEG says of integers that they have signs, of floats that the values in low
/// halves are negated, NEG_HI the same of those in high halves.
template <class Type, class Shape, int kFactorRows>
void get_factor(const Wave& wave, const Op* op, int source, typename Type::Factor (&to)[kFactorRows][kLanes]) {
  constexpr int kRegisters = kFactorRows / Type::kRows;
  const LaneRow* from = register_rows(wave, op, source);
  const bool low = op->matrix.negate >> source & 1, high = op->matrix.negate_high >> source & 1;
  for (int i = 0; i < kRegisters; ++i) {
    if constexpr (kIsInteger<Type>) {
      Type::template unpack<Shape::kInputLanes>(from + i, to + i * Type::kRows, low);
    } else {
      Type::template unpack<Shape::kInputLanes>(from + i, to + i * Type::kRows);
    }
  }
  if constexpr (!kIsInteger<Type>) {
    if (low) [[unlikely]]
      negate(to, 0, Shape::kInputLanes);
    if (high) [[unlikely]]
      negate(to, 1, Shape::kInputLanes);
  }
}

/// NEG_HI and NEG of C: its absolute value, and then that negated.
void apply_modifiers(const Op* op, f32* values, int count) {
  constexpr int kC = 4;
  if (op->matrix.negate_high & kC) {
    for (int i = 0; i < count; ++i) values[i] = __builtin_fabsf(values[i]);
  }
  if (op->matrix.negate & kC) {
    for (int i = 0; i < count; ++i) values[i] = -values[i];
  }
}

/// C and D of 32 bits: added up where D is.
template <class T>
struct Wide {
  static constexpr SumType kSumType = SumType::F32;

  template <class Shape, class Multiply>
  static void accumulate(Wave& wave, const Op* op, bool has_c, Multiply multiply) {
    LaneRow* d = &wave.v[op->matrix.dst];
    if (has_c) copy_accumulators(wave, op, d, Shape::kAccumulators, 1);
    if constexpr (std::is_same_v<T, f32>) {
      f32* sums = reinterpret_cast<f32*>(d);
      if (has_c) apply_modifiers(op, sums, Shape::kAccumulators * kLanes);
      multiply(sums, Shape());
    } else if (!op->matrix.clamp) {
      multiply(reinterpret_cast<i32*>(d), Shape());
    } else {
      alignas(64) i32 sums[Shape::kAccumulators * kLanes] = {};
      multiply(sums, Shape());
      i32* values = reinterpret_cast<i32*>(d);
      for (int i = 0; i < Shape::kAccumulators * kLanes; ++i) values[i] = saturated_sum(values[i], sums[i]);
    }
  }

 private:
  static i32 saturated_sum(i32 a, i32 b) {
    using Limits = std::numeric_limits<i32>;
    return static_cast<i32>(std::clamp<i64>(i64{a} + b, Limits::min(), Limits::max()));
  }
};

struct HalfResult {
  static constexpr SumType kSumType = SumType::F16;
  static f32 to_f32(u32 bits) { return f16_to_f32(bits & 0xffffu); }
  static u32 from_f32(f32 value, bool saturates) { return f32_to_f16(value, saturates); }
};
struct BrainResult {
  static constexpr SumType kSumType = SumType::Bf16;
  static f32 to_f32(u32 bits) { return bf16_to_f32(bits); }
  static u32 from_f32(f32 value, bool) { return f32_to_bf16(value); }
};

/// C and D of 16 bits: two elements in a register; on RDNA3 one, in the half that OP_SEL[2] says, where the other half
/// stays.
template <class Format>
struct Narrow {
  static constexpr SumType kSumType = Format::kSumType;

  template <class Shape, class Multiply>
  static void accumulate(Wave& wave, const Op* op, bool has_c, Multiply multiply) {
    constexpr int kRegisters = Shape::kIsReplicated ? Shape::kAccumulators : Shape::kAccumulators / 2;
    LaneRow* d = &wave.v[op->matrix.dst];
    LaneRow c[kRegisters];
    copy_c(wave, op, has_c, c, kRegisters);
    alignas(64) f32 sums[Shape::kSize][Shape::kSize];
    for (int row = 0; row < Shape::kSize; ++row) {
      const Where at = where<Shape>(op, row);
      for (int i = 0; i < Shape::kSize; ++i) sums[row][i] = Format::to_f32(c[at.reg].lane[at.lane + i] >> at.shift);
    }
    if (has_c) apply_modifiers(op, sums[0], Shape::kSize * Shape::kSize);
    multiply(sums[0], InRows<Shape>());
    const bool saturates = wave.mode.fp16_ovfl();
    for (int row = 0; row < Shape::kSize; ++row) {
      const Where at = where<Shape>(op, row);
      for (int i = 0; i < Shape::kSize; ++i) {
        u32& to = d[at.reg].lane[at.lane + i];
        to = (to & ~(0xffffu << at.shift)) | Format::from_f32(sums[row][i], saturates) << at.shift;
      }
    }
  }

 private:
  struct Where {
    int reg, lane, shift;
  };

  template <class Shape>
  static Where where(const Op* op, int row) {
    const RowPlace place = Shape::place(row);
    if constexpr (Shape::kIsReplicated) return {place.element, place.lane, op->matrix.op_sel & 4 ? 16 : 0};
    return {place.element / 2, place.lane, place.element % 2 * 16};
  }

  /// An inline constant is in all elements.
  static void copy_c(const Wave& wave, const Op* op, bool has_c, LaneRow* c, int count) {
    if (!has_c) {
      std::copy_n(&wave.v[op->matrix.dst], count, c);
      return;
    }
    copy_accumulators(wave, op, c, count, 1);
    if ((op->matrix.rows[2] & kSourceConstant) == 0) return;
    for (int i = 0; i < count; ++i) {
      for (u32& dword : c[i].lane) dword = (dword & 0xffffu) * 0x10001u;
    }
  }
};

/// Adds A * B to D as the hardware does: two products at a time on RDNA3, on RDNA4 four, which in waves of 32 come from
/// the first 16 lanes and the others in turn.
template <class A, class Result, class Shape>
[[gnu::noinline]] void add_exactly(const f32 (&a)[Shape::kPerLane][kLanes], const f32 (&b)[Shape::kPerLane][kLanes],
                                   f32* d, bool saturates) {
  constexpr bool kIsRdna4 = Shape::kOf == Family::Rdna4, kAlternates = kIsRdna4 && Shape::kWaveLanes == 32;
  constexpr int kCount = kIsRdna4 ? kMaxRdnaProducts : 2;
  constexpr RdnaSum kSum = {kIsRdna4, A::kMinExponent, A::kMinExponent, Result::kSumType};
  const auto get = [](const f32(&from)[Shape::kPerLane][kLanes], f32(&to)[Shape::kDepth], int row) {
    for (int i = 0; i < Shape::kDepth; ++i) {
      const int block = i / 4, k = kAlternates ? (block % 2 * 2 + block / 2) * 4 + i % 4 : i;
      to[i] = from[k % Shape::kPerLane][Shape::input_lane(0, k / Shape::kPerLane) + row];
    }
  };
  f32 row_of_a[Shape::kDepth], columns_of_b[Shape::kSize][Shape::kDepth];
  for (int column = 0; column < Shape::kSize; ++column) get(b, columns_of_b[column], column);
  for (int row = 0; row < Shape::kSize; ++row) {
    get(a, row_of_a, row);
    for (int column = 0; column < Shape::kSize; ++column) {
      f32& sum = d[Shape::output(0, row) + column];
      for (int i = 0; i < Shape::kDepth; i += kCount) {
        sum = add_like_rdna(kSum, row_of_a + i, columns_of_b[column] + i, kCount, sum, saturates);
      }
    }
  }
}

/// v_wmma_*_16x16x{kDepth} on elements of types A and B.
template <class A, class B, class Result, class Shape>
const Op* wmma(Wave& wave, const Op* op) {
  static_assert(A::kPacked == B::kPacked && A::kRows == B::kRows);
  if constexpr (Shape::kIsReplicated) {
    constexpr int kRegisters = Shape::kPerLane / A::kPacked / A::kRows;
    check_copies<Shape>(register_rows(wave, op, 0), register_rows(wave, op, 1), kRegisters);
  }
  constexpr bool kHasExactSums = std::is_same_v<A, F16> || std::is_same_v<A, Bf16>;
  const bool is_exact = kHasExactSums && sums_matrices_exactly();
#if defined(WAVE_SIMD_AVX512)
  if constexpr (std::is_same_v<Result, Wide<f32>> && kMultipliesRegisters<A, B, Shape>) {
    if ((op->matrix.negate | op->matrix.negate_high) == 0 && !is_exact) [[likely]] {
      multiply_registers<A, B, Shape>(wave, op, &wave.v[op->matrix.dst]);
      return next(op);
    }
  }
#endif
  using T = typename A::Factor;
  alignas(64) T a[Shape::kPerLane / A::kPacked][kLanes], b[Shape::kPerLane / B::kPacked][kLanes];
  get_factor<A, Shape>(wave, op, 0, a);
  get_factor<B, Shape>(wave, op, 1, b);
  Result::template accumulate<Shape>(wave, op, true, [&](T* sums, auto shape) {
    if constexpr (kHasExactSums) {
      if (is_exact) [[unlikely]]
        return add_exactly<A, Result, decltype(shape)>(a, b, sums, wave.mode.fp16_ovfl());
    }
    multiply<decltype(shape)>(a, b, sums);
  });
  return next(op);
}

/// Where two stored values of A are, those of the g-th four of k, and the four values of B of which they meet two. Both
/// are in the same lanes, but for 16x32 values of 4 bits in waves of 64, where A has half of the lanes.
template <int kWave, int kDepth, int kBits>
struct SparsePlaces {
  static constexpr bool kHasIdleLanes = kWave == 64 && kBits == 4 && kDepth == 32;
  static constexpr int kLanesOfA = kHasIdleLanes ? 32 : kWave;
  static constexpr int kStored = kDepth / 2 * 16 / kLanesOfA;  ///< values of A in a lane
  static constexpr int kPerLane = kDepth * 16 / kWave;         ///< values of B

  static constexpr int swapped(int block) { return block % 2 * 2 + block / 2; }
  static constexpr int lane(int g) {
    if (kBits == 16) return 16 * (kWave == 32 ? g / 2 % 2 : g / 2);
    if (kBits == 8 && kWave == 64) return 16 * (g / 2 % 2 * 2 + g / 4);
    if (kDepth == 32) return 16 * (g / 4);
    return 16 * (kWave == 32 ? g / 4 % 2 : swapped(g / 4));
  }
  static constexpr int pair(int g) {
    if (kWave == 64 && kBits != 4) return g % 2;
    if (kBits == 16) return g / 4 * 2 + g % 2;
    return kDepth == 64 && kWave == 32 ? g / 8 * 4 + g % 4 : g % 4;
  }
  static constexpr int lane_of_b(int g) { return kHasIdleLanes ? lane(g) + 32 * (pair(g) / 2) : lane(g); }
  static constexpr int first_of_b(int g) { return 4 * (kHasIdleLanes ? pair(g) % 2 : pair(g)); }
};

/// v_swmmac_*_16x16x{kDepth}: of every four consecutive k, A has two values, and an index of two bits for each says
/// which.
template <class A, class B, class Result, int kWave, int kDepth, int kBits>
const Op* swmmac(Wave& wave, const Op* op) {
  using Places = SparsePlaces<kWave, kDepth, kBits>;
  using Shape = WaveShape<Family::Rdna4, kWave, kDepth>;
  using T = typename A::Factor;
  constexpr int kWidth = std::min(Shape::kSize, kVectorBytes / int{sizeof(T)}), kVectors = Shape::kSize / kWidth;
  using V = typename VectorOf<T, kWidth>::Type;
  alignas(64) T a[Places::kStored][kLanes], b[Places::kPerLane][kLanes];
  get_factor<A, Shape>(wave, op, 0, a);
  get_factor<B, Shape>(wave, op, 1, b);
  LaneRow index = *register_rows(wave, op, 2);
  for (u32& bits : index.lane) bits >>= op->matrix.op_sel % (16 / Places::kStored) * 2 * Places::kStored;
  Result::template accumulate<Shape>(wave, op, false, [&](T* d, auto shape) {
    for (int row = 0; row < Shape::kSize; ++row) {
      V sums[kVectors];
      std::memcpy(sums, d + shape.output(0, row), sizeof(sums));
      for (int g = 0; g < kDepth / 4; ++g) {
        for (int i = 0; i < 2; ++i) {
          const int stored = 2 * Places::pair(g) + i, lane = Places::lane(g) + row;
          const V value = a[stored][lane] - V{};
          const T* column =
              &b[Places::first_of_b(g) + static_cast<int>(index.lane[lane] >> 2 * stored & 3)][Places::lane_of_b(g)];
          for (int v = 0; v < kVectors; ++v) sums[v] = multiply_add<T>(value, load<V>(column + v * kWidth), sums[v]);
        }
      }
      std::memcpy(d + shape.output(0, row), sums, sizeof(sums));
    }
  });
  return next(op);
}

template <int kWave>
using Rdna3 = WaveShape<Family::Rdna3, kWave, 16>;
template <int kWave, int kDepth = 16>
using Rdna4 = WaveShape<Family::Rdna4, kWave, kDepth>;
/// 16x16 values of 4 bits fill half of the lanes of a wave of 64.
template <int kWave>
using Rdna4Quarter = WaveShape<Family::Rdna4, kWave, 16, 2>;

using Floats = Wide<f32>;
using Halves = Narrow<HalfResult>;
using Brains = Narrow<BrainResult>;
using Sums = Wide<i32>;
using I8Pairs = Integers<8, false>;
using I4Pairs = Integers<4, false>;
using I8Single = Integers<8, true>;
using I4Single = Integers<4, true>;

constexpr Body kBodies[] = {
#define WAVE_LANES_BODIES(lanes, variant)                                                       \
  {"v_wmma_f32_16x16x16_f16_gfx11", wmma<F16, F16, Floats, Rdna3<lanes>>, variant},             \
      {"v_wmma_f32_16x16x16_bf16_gfx11", wmma<Bf16, Bf16, Floats, Rdna3<lanes>>, variant},      \
      {"v_wmma_f16_16x16x16_f16_gfx11", wmma<F16, F16, Halves, Rdna3<lanes>>, variant},         \
      {"v_wmma_bf16_16x16x16_bf16_gfx11", wmma<Bf16, Bf16, Brains, Rdna3<lanes>>, variant},     \
      {"v_wmma_i32_16x16x16_iu8_gfx11", wmma<I8Pairs, I8Pairs, Sums, Rdna3<lanes>>, variant},   \
      {"v_wmma_i32_16x16x16_iu4_gfx11", wmma<I4Pairs, I4Pairs, Sums, Rdna3<lanes>>, variant},   \
      {"v_wmma_f32_16x16x16_f16", wmma<F16, F16, Floats, Rdna4<lanes>>, variant},               \
      {"v_wmma_f32_16x16x16_bf16", wmma<Bf16, Bf16, Floats, Rdna4<lanes>>, variant},            \
      {"v_wmma_f16_16x16x16_f16", wmma<F16, F16, Halves, Rdna4<lanes>>, variant},               \
      {"v_wmma_bf16_16x16x16_bf16", wmma<Bf16, Bf16, Brains, Rdna4<lanes>>, variant},           \
      {"v_wmma_f32_16x16x16_fp8_fp8", wmma<OcpF8, OcpF8, Floats, Rdna4<lanes>>, variant},       \
      {"v_wmma_f32_16x16x16_fp8_bf8", wmma<OcpF8, OcpB8, Floats, Rdna4<lanes>>, variant},       \
      {"v_wmma_f32_16x16x16_bf8_fp8", wmma<OcpB8, OcpF8, Floats, Rdna4<lanes>>, variant},       \
      {"v_wmma_f32_16x16x16_bf8_bf8", wmma<OcpB8, OcpB8, Floats, Rdna4<lanes>>, variant},       \
      {"v_wmma_i32_16x16x16_iu8", wmma<I8Pairs, I8Pairs, Sums, Rdna4<lanes>>, variant},         \
      {"v_wmma_i32_16x16x16_iu4", wmma<I4Pairs, I4Pairs, Sums, Rdna4Quarter<lanes>>, variant},  \
      {"v_wmma_i32_16x16x32_iu4", wmma<I4Pairs, I4Pairs, Sums, Rdna4<lanes, 32>>, variant},     \
      {"v_swmmac_f32_16x16x32_f16", swmmac<F16, F16, Floats, lanes, 32, 16>, variant},          \
      {"v_swmmac_f32_16x16x32_bf16", swmmac<Bf16, Bf16, Floats, lanes, 32, 16>, variant},       \
      {"v_swmmac_f16_16x16x32_f16", swmmac<F16, F16, Halves, lanes, 32, 16>, variant},          \
      {"v_swmmac_bf16_16x16x32_bf16", swmmac<Bf16, Bf16, Brains, lanes, 32, 16>, variant},      \
      {"v_swmmac_f32_16x16x32_fp8_fp8", swmmac<OcpF8, OcpF8, Floats, lanes, 32, 8>, variant},   \
      {"v_swmmac_f32_16x16x32_fp8_bf8", swmmac<OcpF8, OcpB8, Floats, lanes, 32, 8>, variant},   \
      {"v_swmmac_f32_16x16x32_bf8_fp8", swmmac<OcpB8, OcpF8, Floats, lanes, 32, 8>, variant},   \
      {"v_swmmac_f32_16x16x32_bf8_bf8", swmmac<OcpB8, OcpB8, Floats, lanes, 32, 8>, variant},   \
      {"v_swmmac_i32_16x16x32_iu8", swmmac<I8Single, I8Single, Sums, lanes, 32, 8>, variant},   \
      {"v_swmmac_i32_16x16x32_iu4", swmmac<I4Single, I4Single, Sums, lanes, 32, 4>, variant}, { \
    "v_swmmac_i32_16x16x64_iu4", swmmac<I4Single, I4Single, Sums, lanes, 64, 4>, variant        \
  }
    WAVE_LANES_BODIES(32, Variant::Lanes32),
    WAVE_LANES_BODIES(64, Variant::Lanes64),
#undef WAVE_LANES_BODIES
};

}  // namespace

std::span<const Body> wave_matrix_bodies() { return kBodies; }

}  // namespace wave::emulator::WAVE_SIMD
