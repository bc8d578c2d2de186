// Element types of matrix instructions and the arithmetic on them. Included once for each SIMD level
// (each_simd_level.h), inside no namespace.

#include "emulator/half_rows.inl"

namespace wave::emulator::WAVE_SIMD {

namespace {

/// The host's widest vector in bytes, and how many vectors of D are held in registers at a time: half of those there
/// are, so that B and the products fit, too.
#if defined(WAVE_SIMD_AVX512)
inline constexpr int kVectorBytes = 64, kVectorsAtOnce = 16;
#elif defined(WAVE_SIMD_AVX2)
inline constexpr int kVectorBytes = 32, kVectorsAtOnce = 8;
#else
inline constexpr int kVectorBytes = 16, kVectorsAtOnce = 8;
#endif

template <class T, int kCount>
struct VectorOf {
  typedef T Type __attribute__((vector_size(sizeof(T) * kCount)));
};

template <class V>
inline V load(const void* from) {
  V value;
  std::memcpy(&value, from, sizeof(value));
  return value;
}

/// a + b of 32-bit integers, which may overflow.
template <class V>
inline V wrapping_sum(V a, V b) {
  using U = typename VectorOf<u32, sizeof(V) / sizeof(u32)>::Type;
  return __builtin_bit_cast(V, __builtin_bit_cast(U, a) + __builtin_bit_cast(U, b));
}

/// a * b + c: for floats fused, for i32 the sum of the products of both signed halves.
template <class T, class V>
inline V multiply_add(V a, V b, V c) {
  constexpr bool kFloat = std::is_same_v<T, f32>, kDouble = std::is_same_v<T, f64>;
#if defined(WAVE_SIMD_AVX512)
  if constexpr (sizeof(V) == 64) {
    if constexpr (kFloat) return _mm512_fmadd_ps(a, b, c);
    if constexpr (kDouble) return _mm512_fmadd_pd(a, b, c);
    if constexpr (!kFloat && !kDouble)
      return wrapping_sum(
          c, __builtin_bit_cast(V, _mm512_madd_epi16(__builtin_bit_cast(__m512i, a), __builtin_bit_cast(__m512i, b))));
  } else
#endif
#if defined(WAVE_SIMD_AVX512) || defined(WAVE_SIMD_AVX2)
      if constexpr (sizeof(V) == 32) {
    if constexpr (kFloat) return _mm256_fmadd_ps(a, b, c);
    if constexpr (kDouble) return _mm256_fmadd_pd(a, b, c);
    if constexpr (!kFloat && !kDouble)
      return wrapping_sum(
          c, __builtin_bit_cast(V, _mm256_madd_epi16(__builtin_bit_cast(__m256i, a), __builtin_bit_cast(__m256i, b))));
  } else if constexpr (sizeof(V) == 16 && kFloat) {
    return _mm_fmadd_ps(a, b, c);
  } else
#endif
  {
    for (size_t i = 0; i < sizeof(V) / sizeof(T); ++i) {
      if constexpr (kFloat) {
        c[i] = __builtin_fmaf(a[i], b[i], c[i]);
      } else if constexpr (kDouble) {
        c[i] = __builtin_fma(a[i], b[i], c[i]);
      } else {
        const u32 low = static_cast<u32>(static_cast<i16>(a[i]) * static_cast<i16>(b[i]));
        const u32 high = static_cast<u32>((a[i] >> 16) * (b[i] >> 16));
        c[i] = static_cast<i32>(static_cast<u32>(c[i]) + low + high);
      }
    }
    return c;
  }
}

// An element type says how the registers of A and B become rows of factors, one factor for each lane:
//
//   Factor, Sum         what is multiplied and what is added up
//   kPacked             values of k in one factor
//   kRegisters, kRows   registers that one unpack() reads, and rows that it makes, of as many lanes as it is asked for
//   convert()           with AVX-512: the values of a register one after another, as f32; and of one of 16 lanes'
//   dwords,
//                       a vector for each value of a dword
//   kGroupRows          of MatrixShape
//   kExactGroup         products that add_exactly() adds at once, 0 where it is not for this type; then also
//                       kMinExponent
//   kSwizzles           whether CBSZ, ABID and BLGP choose lanes: with several blocks all, with one block BLGP where
//                       kTakesBlgp says so

struct Float32Sums {
  using Factor = f32;
  using Sum = f32;
  static constexpr int kPacked = 1, kRegisters = 1, kGroupRows = 4, kExactGroup = 0;
  static constexpr bool kSwizzles = true, kTakesBlgp = false;
};

struct F16 : Float32Sums {
  static constexpr int kRows = 2, kExactGroup = 8, kMinExponent = -14;
#if defined(WAVE_SIMD_AVX512)
  template <int kCount>
  static void convert(const LaneRow& from, f32* to) {
    for (int i = 0; i < kCount; i += 8) _mm512_store_ps(to + 2 * i, _mm512_cvtph_ps(load<__m256i>(&from.lane[i])));
  }
  static void convert(const u32* from, __m512 (&to)[kRows]) {
    const __m512i pairs = load<__m512i>(from);
    to[0] = convert_halves(pairs);
    to[1] = convert_halves(_mm512_srli_epi32(pairs, 16));
  }
#endif
  template <int kCount = kLanes>
  static void unpack(const LaneRow* from, f32 (*to)[kLanes]) {
    halves_to_f32<kCount>(from->lane, to[0]);
    halves_to_f32<kCount, true>(from->lane, to[1]);
  }
};

struct Bf16 : Float32Sums {
  static constexpr int kRows = 2, kExactGroup = 8, kMinExponent = -126;
#if defined(WAVE_SIMD_AVX512)
  template <int kCount>
  static void convert(const LaneRow& from, f32* to) {
    for (int i = 0; i < kCount; i += 8) {
      const __m512i words = _mm512_cvtepu16_epi32(load<__m256i>(&from.lane[i]));
      _mm512_store_si512(to + 2 * i, _mm512_slli_epi32(words, 16));
    }
  }
  static void convert(const u32* from, __m512 (&to)[kRows]) {
    const __m512i pairs = load<__m512i>(from);
    to[0] = _mm512_castsi512_ps(_mm512_slli_epi32(pairs, 16));
    to[1] = _mm512_castsi512_ps(_mm512_and_si512(pairs, _mm512_set1_epi32(static_cast<i32>(0xffff0000))));
  }
#endif
  template <int kCount = kLanes>
  static void unpack(const LaneRow* from, f32 (*to)[kLanes]) {
    WAVE_LANES
    for (int i = 0; i < kCount; ++i) {
      to[0][i] = bf16_to_f32(from->lane[i]);
      to[1][i] = bf16_to_f32(from->lane[i] >> 16);
    }
  }
};

/// Lanes whose codes of OcpFloat formats are decoded at once.
inline constexpr int kDecodedLanes = 16;

#if defined(WAVE_SIMD_AVX512)
/// The bf16, which holds every value exactly, of the codes that a format has, of 8 bits without their signs; codes of 4
/// bits twice, since a permutation looks at 5 bits of an index.
template <class Format>
alignas(64) constexpr auto kBf16OfCodes = [] {
  std::array<u16, Format::kBits == 4 ? 32 : Format::kBits == 6 ? 64 : 128> words{};
  for (u32 i = 0; i < words.size(); ++i) {
    words[i] = static_cast<u16>(__builtin_bit_cast(u32, Format::to_f32(i & ((1u << Format::kBits) - 1))) >> 16);
  }
  return words;
}();

/// The `i`th 32 of them.
template <class Format>
inline __m512i table_of_bf16(int i) {
  return load<__m512i>(&kBf16OfCodes<Format>[32 * i]);
}

/// The bf16 of the codes in the low bits of words, whatever is above them.
template <class Format>
inline __m512i bf16_of_codes(__m512i words) {
  if constexpr (Format::kBits == 4) {
    return _mm512_permutexvar_epi16(words, table_of_bf16<Format>(0));
  } else {
    const __m512i low = _mm512_permutex2var_epi16(table_of_bf16<Format>(0), words, table_of_bf16<Format>(1));
    if constexpr (Format::kBits == 6) return low;
    if constexpr (Format::kBits == 8) {
      const __m512i high = _mm512_permutex2var_epi16(table_of_bf16<Format>(2), words, table_of_bf16<Format>(3));
      const __mmask32 is_high = _mm512_test_epi16_mask(words, _mm512_set1_epi16(0x40));
      const __m512i magnitude = _mm512_mask_blend_epi16(is_high, low, high);
      return _mm512_or_si512(
          magnitude, _mm512_and_si512(_mm512_slli_epi16(words, 8), _mm512_set1_epi16(static_cast<i16>(0x8000))));
    }
  }
}
#endif

/// Decodes kDecodedLanes dwords, which codes of 4 or 8 bits fill: those at place i of each go to to(i).
template <class Format, class Place>
inline void decode_dwords(const u32* from, Place to) {
  constexpr int kBits = Format::kBits;
#if defined(WAVE_SIMD_AVX512)
  constexpr int kCodes = 16 / kBits;  // in a word
  const __m512i words = load<__m512i>(from);
  for (int i = 0; i < kCodes; ++i) {
    const __m512i pairs = bf16_of_codes<Format>(_mm512_srli_epi16(words, static_cast<unsigned>(kBits * i)));
    _mm512_storeu_si512(to(i), _mm512_slli_epi32(pairs, 16));
    _mm512_storeu_si512(to(kCodes + i), _mm512_and_si512(pairs, _mm512_set1_epi32(static_cast<i32>(0xffff0000))));
  }
#else
  for (int i = 0; i < 32 / kBits; ++i) {
    f32* const values = to(i);
    WAVE_LANES
    for (int lane = 0; lane < kDecodedLanes; ++lane) {
      values[lane] = Format::to_f32(from[lane] >> kBits * i & ((1u << kBits) - 1));
    }
  }
#endif
}

/// Decodes one code in each of kDecodedLanes pairs of dwords, which begins at bit `shift` of the first.
template <class Format>
inline void decode_across(const u32* low, const u32* high, int shift, f32* to) {
#if defined(WAVE_SIMD_AVX512)
  const auto count = static_cast<unsigned>(shift);
  const __m512i codes =
      _mm512_or_si512(_mm512_srli_epi32(load<__m512i>(low), count), _mm512_slli_epi32(load<__m512i>(high), 32 - count));
  _mm512_storeu_si512(to, _mm512_slli_epi32(bf16_of_codes<Format>(codes), 16));
#else
  WAVE_LANES
  for (int lane = 0; lane < kDecodedLanes; ++lane) {
    const u64 both = low[lane] | u64{high[lane]} << 32;
    to[lane] = Format::to_f32(static_cast<u32>(both >> shift) & ((1u << Format::kBits) - 1));
  }
#endif
}

template <class Format>
struct Float8Values : Float32Sums {
  static constexpr int kRows = 4, kExactGroup = 16, kMinExponent = 1 - Format::kExponentBias;
  static void unpack(const LaneRow* from, f32 (*to)[kLanes]) {
    for (int byte = 0; byte < 4; ++byte) {
      WAVE_LANES
      for (int i = 0; i < kLanes; ++i) to[byte][i] = Format::to_f32(from->lane[i] >> 8 * byte & 0xff);
    }
  }
};
using F8 = Float8Values<Fp8>;
using B8 = Float8Values<Bf8>;

/// Of gfx950, of whose sums no rule is published.
template <class Format>
struct OcpFloat8Values : Float32Sums {
  static constexpr int kRows = 4;
#if defined(WAVE_SIMD_AVX512)
  template <int kCount>
  static void convert(const LaneRow& from, f32* to) {
    for (int i = 0; i < kCount; i += 8) {
      const __m512i words = bf16_of_codes<Format>(_mm512_cvtepu8_epi16(load<__m256i>(&from.lane[i])));
      for (int half = 0; half < 2; ++half) {
        const __m256i part = half == 0 ? _mm512_castsi512_si256(words) : _mm512_extracti64x4_epi64(words, 1);
        _mm512_store_si512(to + 4 * i + 16 * half, _mm512_slli_epi32(_mm512_cvtepu16_epi32(part), 16));
      }
    }
  }
  static void convert(const u32* from, __m512 (&to)[kRows]) {
    const __m512i words = load<__m512i>(from);
    for (int i = 0; i < 2; ++i) {
      const __m512i pairs = bf16_of_codes<Format>(_mm512_srli_epi16(words, static_cast<unsigned>(8 * i)));
      to[i] = _mm512_castsi512_ps(_mm512_slli_epi32(pairs, 16));
      to[2 + i] = _mm512_castsi512_ps(_mm512_and_si512(pairs, _mm512_set1_epi32(static_cast<i32>(0xffff0000))));
    }
  }
#endif
  template <int kCount = kLanes>
  static void unpack(const LaneRow* from, f32 (*to)[kLanes]) {
    for (int i = 0; i < kCount; i += kDecodedLanes) {
      decode_dwords<Format>(&from->lane[i], [&](int byte) { return &to[byte][i]; });
    }
  }
};
using OcpF8 = OcpFloat8Values<OcpFp8>;
using OcpB8 = OcpFloat8Values<OcpBf8>;

struct F32 : Float32Sums {
  static constexpr int kRows = 1;
  static constexpr bool kTakesBlgp = true;
  static void unpack(const LaneRow* from, f32 (*to)[kLanes]) { std::memcpy(to[0], from, sizeof(LaneRow)); }
};

struct Xf32 : Float32Sums {
  static constexpr int kRows = 1, kExactGroup = 4, kMinExponent = -126;
  static void unpack(const LaneRow* from, f32 (*to)[kLanes]) {
    WAVE_LANES
    for (int i = 0; i < kLanes; ++i) to[0][i] = f32_to_xf32(from->lane[i]);
  }
};

/// Pairs of values in the halves of a dword: those at the even, then those at the odd bytes. As A and B are paired
/// alike, every product is there.
struct I8 {
  using Factor = i32;
  using Sum = i32;
  static constexpr int kPacked = 2, kRegisters = 1, kRows = 2, kGroupRows = 4, kExactGroup = 0;
  static constexpr bool kSwizzles = true, kTakesBlgp = false;
  static void unpack(const LaneRow* from, i32 (*to)[kLanes]) {
    WAVE_LANES
    for (int i = 0; i < kLanes; ++i) {
      const u32 bytes = from->lane[i];
      to[0][i] = pair(static_cast<i8>(bytes), static_cast<i8>(bytes >> 16));
      to[1][i] = pair(static_cast<i8>(bytes >> 8), static_cast<i8>(bytes >> 24));
    }
  }

 protected:
  static i32 pair(i8 low, i8 high) {
    return static_cast<i32>((static_cast<u32>(i32{low}) & 0xffffu) | static_cast<u32>(i32{high}) << 16);
  }
};

/// The same one by one: the high half is zero.
struct SingleI8 : I8 {
  static constexpr int kPacked = 1, kRows = 4;
  static void unpack(const LaneRow* from, i32 (*to)[kLanes]) {
    for (int byte = 0; byte < 4; ++byte) {
      WAVE_LANES
      for (int i = 0; i < kLanes; ++i) to[byte][i] = pair(static_cast<i8>(from->lane[i] >> 8 * byte), 0);
    }
  }
};

struct F64 {
  using Factor = f64;
  using Sum = f64;
  static constexpr int kPacked = 1, kRegisters = 2, kRows = 1, kGroupRows = 1;
  static constexpr bool kSwizzles = false;
  static void unpack(const LaneRow* from, f64 (*to)[kLanes]) {
    WAVE_LANES
    for (int i = 0; i < kLanes; ++i) to[0][i] = __builtin_bit_cast(f64, u64{from[1].lane[i]} << 32 | from[0].lane[i]);
  }
};

/// The rows of a matrix source in the register file. Sources other than C are never constants.
inline const LaneRow* register_rows(const Wave& wave, const Op* op, int index) {
  return reinterpret_cast<const LaneRow*>(reinterpret_cast<uintptr_t>(wave.v) + op->matrix.rows[index]);
}

/// The factors in `count` registers.
template <class Type>
void unpack(const LaneRow* from, int count, typename Type::Factor (*to)[kLanes]) {
  for (int i = 0; i < count / Type::kRegisters; ++i) Type::unpack(from + i * Type::kRegisters, to + i * Type::kRows);
}

/// Makes the `count` registers of D a copy of C: an inline constant of `dwords`, or registers that may overlap D.
inline void copy_accumulators(const Wave& wave, const Op* op, LaneRow* d, int count, int dwords) {
  if (op->matrix.rows[2] & kSourceConstant) {
    const LaneRow* c = reinterpret_cast<const LaneRow*>(op->matrix.rows[2] - kSourceConstant);
    for (int i = 0; i < count; ++i) d[i] = c[i % dwords];
  } else if (const LaneRow* c = register_rows(wave, op, 2); c != d) {
    std::memmove(d, c, static_cast<size_t>(count) * sizeof(LaneRow));
  }
}

/// How a product is cut up, so that the part of D that is worked on stays in registers while k runs.
template <class Shape, class T>
struct Tile {
  static constexpr int kWidth = std::min(Shape::kSize, kVectorBytes / int{sizeof(T)});
  static constexpr int kVectors = std::min(Shape::kSize / kWidth, 2);
  static constexpr int kRows = std::min(kVectorsAtOnce / kVectors, Shape::kSize);
  using V = typename VectorOf<T, kWidth>::Type;

  /// Whether a tile's rows lie as far apart in D as those of the first one.
  static constexpr bool kIsRegular = [] {
    for (int block = 0; block < Shape::kBlocks; ++block) {
      for (int row = 0; row < Shape::kSize; ++row) {
        const int first = row / kRows * kRows;
        if (Shape::output(block, row) != Shape::output(block, first) + Shape::output(0, row - first)) return false;
      }
    }
    return true;
  }();
  static_assert(kIsRegular);
};

/// Adds A * B to a tile of D, whose upper left corner is given.
template <class Shape, int kSteps, class T>
[[gnu::always_inline]] inline void accumulate(const T (&a)[kSteps][kLanes], const T (&b)[kSteps][kLanes], int block,
                                              int row, int column, T* d) {
  using Part = Tile<Shape, T>;
  using V = typename Part::V;
  V sums[Part::kRows][Part::kVectors];
  T* const tile = d + Shape::output(block, row) + column;
  for (int r = 0; r < Part::kRows; ++r) {
    for (int v = 0; v < Part::kVectors; ++v) {
      sums[r][v] = load<V>(tile + Shape::output(0, r) + v * Part::kWidth);
    }
  }
  for (int split = 0; split < Shape::kSplits; ++split) {
    const int lane = Shape::input_lane(block, split);
    for (int k = 0; k < kSteps; ++k) {
      V columns[Part::kVectors];
      for (int v = 0; v < Part::kVectors; ++v) columns[v] = load<V>(&b[k][lane + column + v * Part::kWidth]);
      for (int r = 0; r < Part::kRows; ++r) {
        const V value = a[k][lane + row + r] - V{};  // in all elements; subtracting zero keeps every value, -0 included
        for (int v = 0; v < Part::kVectors; ++v) sums[r][v] = multiply_add<T>(value, columns[v], sums[r][v]);
      }
    }
  }
  for (int r = 0; r < Part::kRows; ++r) {
    for (int v = 0; v < Part::kVectors; ++v) {
      std::memcpy(tile + Shape::output(0, r) + v * Part::kWidth, &sums[r][v], sizeof(V));
    }
  }
}

/// D += A * B. Compiled once for all element types that are multiplied alike.
template <class Shape, int kSteps, class T>
[[gnu::noinline]] void multiply(const T (&a)[kSteps][kLanes], const T (&b)[kSteps][kLanes], T* d) {
  using Part = Tile<Shape, T>;
  for (int block = 0; block < Shape::kBlocks; ++block) {
    for (int row = 0; row < Shape::kSize; row += Part::kRows) {
      for (int column = 0; column < Shape::kSize; column += Part::kWidth * Part::kVectors) {
        accumulate<Shape>(a, b, block, row, column, d);
      }
    }
  }
}

#if defined(WAVE_SIMD_AVX512)
template <class Type>
constexpr bool kConverts = requires(const LaneRow& from, f32* to) { Type::template convert<kLanes>(from, to); };

/// Whether multiply_registers() is for a product: one whose D is held in registers as a whole.
template <class A, class B, class Shape>
constexpr bool kMultipliesRegisters = kConverts<A> && kConverts<B> && Shape::kSize == 16 && Shape::kBlocks == 1;

/// D = A * B + C, where nothing modifies A and B. No value of B is stored in between; A's are, since each is multiplied
/// with a row of B, and they stay as they follow each other in registers.
template <class A, class B, class Shape>
inline void multiply_registers(const Wave& wave, const Op* op, LaneRow* d) {
  constexpr int kRegisters = Shape::kPerLane / A::kRows, kInputs = 16 * Shape::kSplits;
  const LaneRow *from_a = register_rows(wave, op, 0), *from_b = register_rows(wave, op, 1);
  alignas(64) f32 a[kRegisters][kInputs * A::kRows];
  for (int i = 0; i < kRegisters; ++i) A::template convert<kInputs>(from_a[i], a[i]);
  const bool is_constant = op->matrix.rows[2] & kSourceConstant;
  const LaneRow* const c =
      is_constant ? reinterpret_cast<const LaneRow*>(op->matrix.rows[2] - kSourceConstant) : register_rows(wave, op, 2);
  const int c_lanes = is_constant ? 0 : 1;  // all lanes of a constant are alike
  __m512 sums[16];
  for (int row = 0; row < 16; ++row) sums[row] = load<__m512>(c->lane + c_lanes * Shape::output(0, row));
  for (int split = 0; split < Shape::kSplits; ++split) {
    const int lane = Shape::input_lane(0, split);
    for (int i = 0; i < kRegisters; ++i) {
      __m512 columns[B::kRows];
      B::convert(&from_b[i].lane[lane], columns);
      for (int k = 0; k < B::kRows; ++k) {
        for (int row = 0; row < 16; ++row) {
          sums[row] = _mm512_fmadd_ps(_mm512_set1_ps(a[i][(lane + row) * A::kRows + k]), columns[k], sums[row]);
        }
      }
    }
  }
  for (int row = 0; row < 16; ++row) std::memcpy(d->lane + Shape::output(0, row), &sums[row], sizeof(sums[row]));
}
#endif

}  // namespace

}  // namespace wave::emulator::WAVE_SIMD
