// add_exactly() (matrix_exact.h) for a row of sums at a time. Included once for each SIMD level (each_simd_level.h),
// inside no namespace.

namespace wave::emulator::WAVE_SIMD {

namespace {

/// A factor's exponent as a code of 16 bits, so that two are added and compared as halves of a dword: zeros have 0, the
/// smallest normal number this, and denormals the same. The sum of a zero's and any other is below all sums without.
/// In the high half of a dword a code is where an f64 has its exponent, in its own high half, but for the bias.
inline constexpr i32 kLeastCode = 256, kCodeShift = 4;

/// An exponent in the high half of an f64.
inline constexpr i32 kExponentShift = 16 + kCodeShift;
constexpr i32 high(i32 exponent) { return exponent * (1 << kExponentShift); }

/// A constant that the compiler keeps in a register or in memory, rather than to make it anew wherever it is used.
template <class V>
inline V kept(V all) {
#if defined(WAVE_SIMD_AVX512)
  asm("" : "+v"(all));
#endif
  return all;
}

/// A's values are multiplied by 2^-kDownscale.
inline constexpr i32 kDownscale = 32;

/// The codes of values' exponents: those of two consecutive k in the halves of a dword, the first in the low one.
template <int kRows, int kMinExponent>
struct ExponentCodes {
  alignas(64) u32 codes[kRows / 2][kLanes];
  /// The least exponent of a value that is not zero, where that is asked for, and the largest of all, as f32 has them:
  /// 255 for infinities, NaNs.
  i32 least = 255, largest = 0;
  static constexpr bool kFindsLeast = kMinExponent == -126;

  explicit ExponentCodes(const f32 (&values)[kRows][kLanes]) {
    V least_of_lanes = V{} + 255, largest_of_lanes{};
    const auto code = [&](const f32* of) {
      const V magnitude = load<V>(of) & 0x7fffffff, biased = magnitude >> 23;
      largest_of_lanes = biased > largest_of_lanes ? biased : largest_of_lanes;
      const V nonzero = magnitude != 0;
      if constexpr (kFindsLeast) {
        const V present = biased | (~nonzero & 255);
        least_of_lanes = present < least_of_lanes ? present : least_of_lanes;
      }
      const V above = biased - (kMinExponent + 127);
      return (((above > 0 ? above : V{}) + kLeastCode) << kCodeShift) & nonzero;
    };
    for (int pair = 0; pair < kRows / 2; ++pair) {
      for (int i = 0; i < kLanes; i += kWidth) {
        const V both = code(&values[2 * pair][i]) | code(&values[2 * pair + 1][i]) << 16;
        std::memcpy(&codes[pair][i], &both, sizeof(both));
      }
    }
    for (int i = 0; i < kWidth; ++i) {
      least = std::min(least, i32{least_of_lanes[i]});
      largest = std::max(largest, i32{largest_of_lanes[i]});
    }
  }

 private:
  static constexpr int kWidth = kVectorBytes / int{sizeof(i32)};
  using V = typename VectorOf<i32, kWidth>::Type;
};

template <class A, class B, class Shape>
class ExactProduct {
 public:
  /// Adds A * B, as [element of the lane][lane], to D. Apart, so that products that are summed fast keep their
  /// registers.
  [[gnu::noinline]] static void add(const f32 (&a)[Shape::kPerLane][kLanes], const f32 (&b)[Shape::kPerLane][kLanes],
                                    f32* d) {
    const ExactProduct product(a, b);
    if (product.fits_f32()) [[likely]] {
      product.add_groups<f32>(d);
    } else {
      product.add_groups<f64>(d);
    }
  }

 private:
  static constexpr int kGroup = std::min(A::kExactGroup, Shape::kDepth);
  static constexpr int kWidth = std::min(Shape::kSize, kVectorBytes / int{sizeof(i32)});
  static constexpr bool kIsFloat8 = A::kRows == 4;
  /// Whether exponents are those of f32, so that products are not always normal numbers of f32.
  static constexpr bool kIsWide = A::kMinExponent == -126;
  /// A sum of codes less the exponent that it stands for.
  static constexpr i32 kBias = 2 * kLeastCode - A::kMinExponent - B::kMinExponent;
  static constexpr i32 kLargestCode = 126 + kBias;  // products of 2^128 are infinite
  using V = typename VectorOf<i32, kWidth>::Type;
  using Halves = typename VectorOf<i16, 2 * kWidth>::Type;
  using Unsigned = typename VectorOf<u32, kWidth>::Type;
  using Floats = typename VectorOf<f32, kWidth>::Type;

  /// units * 2^(exponent - 24). The exponent is given as a sum of codes, in the high halves.
  struct Sums {
    V units, code;
  };

  /// Whether C is mostly added as an integer: see add_to_near().
  template <class Product>
  static constexpr bool kAddsNear = std::is_same_v<Product, f32> && !kIsFloat8;

  static_assert(kGroup % Shape::kPerLane == 0);
  static constexpr int kSplitsOfGroup = kGroup / Shape::kPerLane;
  /// Where the `i`th value of a group is: which of the lane's values, and how many lanes behind that of the first.
  static constexpr int element(int i) { return i % Shape::kPerLane; }
  static constexpr int behind(int i) { return Shape::input_lane(0, i / Shape::kPerLane); }

  /// A group of B's values in kWidth columns.
  struct Columns {
    int lane;
    Floats values[kGroup];
    Unsigned codes[kGroup / 2];
  };

  ExactProduct(const f32 (&a)[Shape::kPerLane][kLanes], const f32 (&b)[Shape::kPerLane][kLanes])
      : a_(a), b_(b), codes_a_(a), codes_b_(b) {
    for (int k = 0; k < Shape::kPerLane; ++k) {
      WAVE_LANES
      for (int i = 0; i < kLanes; ++i) scaled_a_[k][i] = a[k][i] * (1.0f / (1ll << kDownscale));
    }
  }

  bool is_finite() const { return std::max(codes_a_.largest, codes_b_.largest) < 255; }

  /// Whether A, scaled, the products and what they are scaled by are normal numbers of f32.
  bool fits_f32() const {
    return !kIsWide || (codes_a_.least >= 40 && codes_a_.least + codes_b_.least >= 2 * 127 - 70 &&
                        codes_a_.largest + codes_b_.largest <= 2 * 127 + 56);
  }

  static V larger(V x, V y) { return x > y ? x : y; }
  static V at_most(V x, i32 limit) { return x < limit ? x : limit - V{}; }

  template <class Product>
  void add_groups(f32* d) const {
    for (int block = 0; block < Shape::kBlocks; ++block) {
      for (int split = 0; split < Shape::kSplits; split += kSplitsOfGroup) {
        for (int column = 0; column < Shape::kSize; column += kWidth) {
          const int lane = Shape::input_lane(block, split);
          const Columns columns = columns_at(lane + column);
          for (int row = 0; row < Shape::kSize; ++row) {
            f32* const sums = d + Shape::output(block, row) + column;
            if (!is_finite() || !add_to<Product>(sums, add_products<Product>(lane + row, columns))) [[unlikely]]
              add_one_by_one(lane + row, columns, sums);
          }
        }
      }
    }
  }

  Columns columns_at(int lane) const {
    Columns columns;
    columns.lane = lane;
    for (int i = 0; i < kGroup; ++i) columns.values[i] = load<Floats>(&b_[element(i)][lane + behind(i)]);
    for (int i = 0; i < kGroup; i += 2) {
      columns.codes[i / 2] = load<Unsigned>(&codes_b_.codes[element(i) / 2][lane + behind(i)]);
    }
    return columns;
  }

  /// The codes of the largest exponents among products at even and at odd k.
  Halves largest_codes(int lane, const Columns& columns) const {
    Halves largest;
    for (int i = 0; i < kGroup; i += 2) {
      const Unsigned codes = codes_a_.codes[element(i) / 2][lane + behind(i)] + columns.codes[i / 2];
      const Halves halves = __builtin_bit_cast(Halves, codes);
      largest = i == 0 ? halves : halves > largest ? halves : largest;
    }
    return largest;
  }

  template <class Product>
  Sums add_products(int lane, const Columns& columns) const {
    const V codes = __builtin_bit_cast(V, largest_codes(lane, columns)), even = codes << 16, odd = codes & high_half_;
    const V code = larger(even, odd);
    if constexpr (kIsFloat8) {
      const V even_units = truncated<Product, 2>(lane, columns, 0, even);
      const V odd_units = truncated<Product, 2>(lane, columns, 1, odd);
      const V even_shift = (code - even) >> kExponentShift, odd_shift = (code - odd) >> kExponentShift;
      return {(even_units >> at_most(even_shift, 31)) + (odd_units >> at_most(odd_shift, 31)), code};
    } else {
      return {truncated<Product, 1>(lane, columns, 0, code), code};
    }
  }

  /// The sum of every `step`-th product of the group, each truncated to 24 fractional bits under the largest exponent.
  template <class Product, int kStep>
  V truncated(int lane, const Columns& columns, int begin, V code) const {
    const V some_code = larger(code, least_code_);
    V units{};
    if constexpr (std::is_same_v<Product, f32>) {
      // Products that are zero become numbers below 1.
      const Unsigned exponent = exponent_of_units(some_code);
      for (int i = begin; i < kGroup; i += kStep) {
        const Floats product = scaled_a_[element(i)][lane + behind(i)] * columns.values[i];
        const Unsigned bits = __builtin_bit_cast(Unsigned, product) + exponent;
        units += __builtin_convertvector(__builtin_bit_cast(Floats, bits), V);
      }
    } else {
      for (int i = begin; i < kGroup; i += kStep) {
        const f64 value = a_[element(i)][lane + behind(i)];
        for (int j = 0; j < kWidth; ++j) {
          const f64 scale = power_of_two(24 + kBias - (some_code[j] >> kExponentShift));
          units[j] += static_cast<i32>(value * f64{columns.values[i][j]} * scale);
        }
      }
    }
    return units;
  }

  /// What makes a product one in units, added to its exponent, where A is scaled.
  Unsigned exponent_of_units(V code) const {
    return scale_ - (__builtin_bit_cast(Unsigned, code) << (23 - kExponentShift));
  }

  // The total has a last place that neither the products nor C are rounded down to, where they lie above it: the larger
  // of 2^-24 under the largest exponent, and of 2^-32 under C's, at least 2^-157. Of the products and C that are added,
  // one has no bits below that. Rounded down to 31 fractional bits under its own exponent, a total loses bits only
  // where C's exponent is above that of the products, as the rule wants it.
  static constexpr i32 kProductsPlace = -24 - kBias, kPlaceOfC = -32 - 127, kLeastBiased = 2;
  /// The bits of an f64 beyond 31 fractional ones.
  static constexpr u64 kDroppedBits = (u64{1} << 21) - 1;

  /// FP8 loses a C whose exponent is this much below that of the products. That denormals count as one less, and
  /// kLeastBiased as one more, does not matter: the products' exponent is far above.
  static constexpr i32 kLostBelow = 25;

  /// Adds to sums of finite values. Leaves them as they are, and returns false, where one is or becomes infinite or
  /// NaN.
  template <class Product>
  bool add_to(f32* sums, const Sums& products) const {
    if constexpr (kAddsNear<Product>) {
      if (add_to_near(sums, products)) [[likely]]
        return true;
    }
#if defined(WAVE_SIMD_AVX512)
    if constexpr (kWidth == 16) return add_to_16(sums, products);
#endif
    f32 results[kWidth];
    u32 special = 0;
    WAVE_LANES
    for (int j = 0; j < kWidth; ++j) {
      const i32 biased = static_cast<i32>(__builtin_bit_cast(u32, sums[j]) >> 23 & 0xff);
      const i32 code = products.code[j] >> kExponentShift;
      const f64 c = kIsFloat8 && code - kBias + 127 - kLostBelow > biased ? 0 : sums[j];
      const i32 place = std::max(code + kProductsPlace, std::max(biased, kLeastBiased) + kPlaceOfC);
      const f64 total = __builtin_floor(products.units[j] * power_of_two(code + kProductsPlace - place)) +
                        __builtin_floor(c * power_of_two(-place));
      const u64 bits = __builtin_bit_cast(u64, total), round_up = -(bits >> 63) & kDroppedBits;
      results[j] = static_cast<f32>(__builtin_bit_cast(f64, (bits + round_up) & ~kDroppedBits) * power_of_two(place));
      special |= biased == 0xff || code > kLargestCode ? 1u : 0u;
    }
    if (special != 0) return false;
    std::memcpy(sums, results, sizeof(results));
    return true;
  }

  /// The same where C's exponents are at most by 5 or 6 above those of the products, as mostly. Then the total's last
  /// place is that of the products, and counted in it the total has less than 32 bits. False where one does not, is
  /// infinite or NaN, or all of its products are zero.
  bool add_to_near(f32* sums, const Sums& products) const {
    // The products are eight at most, each below 4 * 2^24 units.
    static_assert(!kAddsNear<f32> || kGroup <= 8);
    const Unsigned exponent = exponent_of_units(larger(products.code, least_code_));
    const Floats in_units = load<Floats>(sums) * __builtin_bit_cast(Floats, exponent + unscaled_one_);
    const V magnitude = __builtin_bit_cast(V, in_units) & 0x7fffffff;
    if (any_outside(magnitude, largest_near_, products.code, least_code_)) [[unlikely]]
      return false;
    const Floats total = __builtin_convertvector(products.units + rounded_down(in_units), Floats);
    const Floats result = total * __builtin_bit_cast(Floats, kOne - exponent + (kOne - unscaled_one_));
    std::memcpy(sums, &result, sizeof(result));
    return true;
  }

  /// Whether any of `x` is above its limit, or of `y` below.
  static bool any_outside(V x, V most, V y, V least) {
#if defined(WAVE_SIMD_AVX512)
    if constexpr (sizeof(V) == 64)
      return (_mm512_cmpgt_epi32_mask(lanes(x), lanes(most)) | _mm512_cmplt_epi32_mask(lanes(y), lanes(least))) != 0;
#endif
    const V values = (most - x) | (y - least);
#if defined(WAVE_SIMD_AVX512) || defined(WAVE_SIMD_AVX2)
    if constexpr (sizeof(V) == 32) return _mm256_movemask_ps(__builtin_bit_cast(__m256, values)) != 0;
#endif
    i32 any = 0;
    for (int i = 0; i < kWidth; ++i) any |= values[i];
    return any < 0;
  }

  static V rounded_down(Floats values) {
#if defined(WAVE_SIMD_AVX512)
    constexpr int kDown = _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC;
    if constexpr (sizeof(V) == 64)
      return __builtin_bit_cast(V, _mm512_cvt_roundps_epi32(__builtin_bit_cast(__m512, values), kDown));
#endif
    const V truncated = __builtin_convertvector(values, V);
    return truncated + (__builtin_convertvector(truncated, Floats) > values);
  }

#if defined(WAVE_SIMD_AVX512)
  bool add_to_16(f32* sums, const Sums& products) const {
    constexpr int kDown = _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC;
    __m512 c = load<__m512>(sums);
    const V biased = __builtin_bit_cast(V, c) & infinity_;  // as f32 has it
    __mmask16 special = _mm512_cmpeq_epi32_mask(lanes(biased), lanes(infinity_));
    if constexpr (kIsWide)
      special |= _mm512_cmpgt_epi32_mask(lanes(products.code), _mm512_set1_epi32(high(kLargestCode)));
    if (special != 0) [[unlikely]]
      return false;
    const V exponent = biased >> (23 - kExponentShift);
    if constexpr (kIsFloat8) {
      const V least = products.code - high(kBias - 127 + kLostBelow);
      c = _mm512_maskz_mov_ps(_mm512_cmple_epi32_mask(lanes(least), lanes(exponent)), c);
    }
    // High halves of f64: the unit of the products, and 1.5 * 2^52 last places, which added to a number leave no bits
    // below them.
    const V unit = products.code + unit_;
    const V shifter = larger(products.code, larger(exponent, least_exponent_) + place_of_c_) + shifter_;
    const auto half = [&](__m512i dwords, __m256i units, __m256 addend) {
      const auto widen = [&](V highs) {
        return _mm512_castsi512_pd(_mm512_maskz_permutexvar_epi32(0xaaaa, dwords, lanes(highs)));
      };
      const __m512d sum = _mm512_fmadd_round_pd(_mm512_cvtepi32_pd(units), widen(unit), _mm512_cvtps_pd(addend), kDown);
      const __m512d wide_shifter = widen(shifter);
      const __m512d total = _mm512_sub_pd(_mm512_add_round_pd(sum, wide_shifter, kDown), wide_shifter);
      const __m512i bits = _mm512_castpd_si512(total);
      const __m512i away = _mm512_mask_add_epi64(bits, _mm512_movepi64_mask(bits), bits, dropped_bits_);
      return _mm512_cvtpd_ps(_mm512_castsi512_pd(_mm512_andnot_si512(dropped_bits_, away)));
    };
    const __m512i units = lanes(products.units);
    const __m256 low = half(low_dwords_, _mm512_castsi512_si256(units), _mm512_castps512_ps256(c));
    const __m256 high = half(high_dwords_, _mm512_extracti64x4_epi64(units, 1), _mm512_extractf32x8_ps(c, 1));
    std::memcpy(sums, &low, sizeof(low));
    std::memcpy(sums + 8, &high, sizeof(high));
    return true;
  }

  static __m512i lanes(V value) { return __builtin_bit_cast(__m512i, value); }
#endif

  /// For infinities, NaNs, and what becomes infinite.
  void add_one_by_one(int lane, const Columns& columns, f32* sums) const {
    constexpr ExactSums kSums = {A::kMinExponent, B::kMinExponent, kIsFloat8};
    for (int j = 0; j < kWidth; ++j) {
      f32 a[kGroup], b[kGroup];
      for (int i = 0; i < kGroup; ++i) {
        a[i] = a_[element(i)][lane + behind(i)];
        b[i] = b_[element(i)][columns.lane + behind(i) + j];
      }
      sums[j] = add_exactly(kSums, a, b, kGroup, sums[j]);
    }
  }

  const f32 (&a_)[Shape::kPerLane][kLanes];
  const f32 (&b_)[Shape::kPerLane][kLanes];
  ExponentCodes<Shape::kPerLane, A::kMinExponent> codes_a_;
  ExponentCodes<Shape::kPerLane, B::kMinExponent> codes_b_;
  alignas(64) f32 scaled_a_[Shape::kPerLane][kLanes];

  V high_half_ = kept(V{} - 0x10000), least_code_ = kept(V{} + high(2 * kLeastCode));
  static constexpr u32 kOne = 127u << 23;  ///< as f32
  Unsigned scale_ = kept(Unsigned{} + (static_cast<u32>(24 + kBias + kDownscale) << 23));
  Unsigned unscaled_one_ = kept(Unsigned{} + (kOne - (u32{kDownscale} << 23)));
  V largest_near_ = kept(V{} + (kOne + (30 << 23) + (1 << 22) - 1));  ///< below 1.5 * 2^30
#if defined(WAVE_SIMD_AVX512)
  V infinity_ = kept(V{} + (0xff << 23)), unit_ = kept(V{} + high(kProductsPlace + 1023));
  V least_exponent_ = kept(V{} + high(kLeastBiased)), place_of_c_ = kept(V{} + high(kPlaceOfC - kProductsPlace));
  V shifter_ = kept(V{} + (high(kProductsPlace + 52 + 1023) | 1 << 19));
  __m512i dropped_bits_ = kept(_mm512_set1_epi64(kDroppedBits));
  __m512i low_dwords_ = kept(_mm512_setr_epi32(0, 0, 0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0, 7));
  __m512i high_dwords_ = kept(_mm512_setr_epi32(0, 8, 0, 9, 0, 10, 0, 11, 0, 12, 0, 13, 0, 14, 0, 15));
#endif
};

}  // namespace

}  // namespace wave::emulator::WAVE_SIMD
