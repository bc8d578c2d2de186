// add_exactly() (matrix_exact.h) for a row of sums at a time. Included once for each SIMD level (each_simd_level.h),
// inside no namespace.

namespace wave::emulator::WAVE_SIMD {

namespace {

/// Finite values as significand * 2^(exponent - 10). The types that are summed exactly have no longer significands.
template <int kRows>
struct SplitFactors {
  alignas(64) i32 significand[kRows][kLanes];
  alignas(64) i32 exponent[kRows][kLanes];

  /// Splits the values, whose type's smallest normal number is given. False where one is infinite or a NaN.
  bool split(const f32 (&values)[kRows][kLanes], int min_exponent) {
    u32 infinite = 0;
    for (int k = 0; k < kRows; ++k) {
      WAVE_LANES
      for (int i = 0; i < kLanes; ++i) {
        const u32 bits = __builtin_bit_cast(u32, values[k][i]);
        const i32 biased = static_cast<i32>(bits >> 23 & 0xff), least = std::max(biased, 1) - 127;
        const i32 magnitude = static_cast<i32>(bits & 0x7fffff) | (biased != 0 ? 1 << 23 : 0);
        const i32 nearest = std::max(least, min_exponent);
        const i32 shifted = magnitude >> std::min(13 + nearest - least, 31);
        significand[k][i] = bits >> 31 ? -shifted : shifted;
        exponent[k][i] = magnitude == 0 ? kNoExponent : nearest;
        infinite |= biased == 0xff ? 1u : 0u;
      }
    }
    return infinite == 0;
  }
};

template <class A, class B, class Shape>
class ExactProduct {
 public:
  /// Adds A * B, as [element of the lane][lane], to D.
  static void add(const f32 (&a)[Shape::kPerLane][kLanes], const f32 (&b)[Shape::kPerLane][kLanes], f32* d) {
    ExactProduct product(a, b);
    for (int block = 0; block < Shape::kBlocks; ++block) {
      for (int row = 0; row < Shape::kSize; ++row) {
        for (int column = 0; column < Shape::kSize; column += kWidth) {
          f32* sums = d + Shape::output(block, row) + column;
          for (int k = 0; k < Shape::kDepth; k += kGroup) product.add_group({block, row, column, k}, sums);
        }
      }
    }
  }

 private:
  static constexpr int kGroup = std::min(A::kExactGroup, Shape::kDepth);
  static constexpr int kWidth = std::min(Shape::kSize, kVectorBytes / int{sizeof(i32)});
  static constexpr bool kIsFloat8 = A::kRows == 4;
  using V = typename VectorOf<i32, kWidth>::Type;

  /// Which sums, and which products.
  struct Place {
    int block, row, column, first;
    static int element(int k) { return k % Shape::kPerLane; }
    int lane_a(int k) const { return Shape::input_lane(block, k / Shape::kPerLane) + row; }
    int lane_b(int k) const { return Shape::input_lane(block, k / Shape::kPerLane) + column; }
  };

  /// units * 2^(exponent - 24).
  struct Sums {
    V units, exponent;
  };

  ExactProduct(const f32 (&a)[Shape::kPerLane][kLanes], const f32 (&b)[Shape::kPerLane][kLanes]) : a_(a), b_(b) {
    is_finite_ = split_a_.split(a, A::kMinExponent);
    is_finite_ &= split_b_.split(b, B::kMinExponent);
  }

  static V larger(V x, V y) { return x > y ? x : y; }
  static V at_most(V x, i32 limit) { return x < limit ? x : limit - V{}; }

  /// Every `step`-th product of the group, each truncated to 24 fractional bits under the largest exponent.
  template <int kStep>
  Sums add_products(const Place& at, int begin) const {
    V exponents[kGroup / kStep], largest = V{} + kLeastExponent;
    for (int i = 0; i < kGroup / kStep; ++i) {
      const int k = at.first + begin + i * kStep;
      exponents[i] = split_a_.exponent[Place::element(k)][at.lane_a(k)] +
                     load<V>(&split_b_.exponent[Place::element(k)][at.lane_b(k)]);
      largest = larger(largest, exponents[i]);
    }
    V units{};
    for (int i = 0; i < kGroup / kStep; ++i) {
      const int k = at.first + begin + i * kStep;
      const V product = split_a_.significand[Place::element(k)][at.lane_a(k)] *
                        load<V>(&split_b_.significand[Place::element(k)][at.lane_b(k)]);  // in units of 2^-20
      const V sign = product >> 31, magnitude = (product ^ sign) - sign;
      units += (((magnitude << 4) >> at_most(largest - exponents[i], 31)) ^ sign) - sign;
    }
    return {units, largest};
  }

  Sums add_products(const Place& at) const {
    if constexpr (!kIsFloat8) {
      return add_products<1>(at, 0);
    } else {
      const Sums even = add_products<2>(at, 0), odd = add_products<2>(at, 1);
      const V exponent = larger(even.exponent, odd.exponent);
      return {
          (even.units >> at_most(exponent - even.exponent, 31)) + (odd.units >> at_most(exponent - odd.exponent, 31)),
          exponent};
    }
  }

  void add_group(const Place& at, f32* sums) const {
    if (!is_finite_) [[unlikely]]
      return add_one_by_one(at, sums);
    const Sums products = add_products(at);
    i32 units[kWidth], exponents[kWidth];
    std::memcpy(units, &products.units, sizeof(units));
    std::memcpy(exponents, &products.exponent, sizeof(exponents));
    f32 results[kWidth];
    u32 special = 0;
    WAVE_LANES
    for (int j = 0; j < kWidth; ++j) {
      const u32 bits = __builtin_bit_cast(u32, sums[j]);
      const i32 biased = static_cast<i32>(bits >> 23 & 0xff), c_exponent = std::max(biased, 1) - 127;
      const i32 magnitude = static_cast<i32>(bits & 0x7fffff) | (biased != 0 ? 1 << 23 : 0);
      // Powers of two and whole numbers of 53 bits are exact in f64.
      const i32 c_units = bits >> 31 ? -magnitude : magnitude, exponent = exponents[j], above = exponent - c_exponent;
      const bool is_lost = kIsFloat8 && above > 25;
      const i32 addend = is_lost ? 0 : (2 * c_units) >> std::clamp(above, 0, 31);
      const f64 under_products = (units[j] + addend) * power_of_two(exponent - 24);
      const f64 total = __builtin_floor(units[j] * power_of_two(8 + above)) + c_units * 512.0;
      const i32 own_exponent = exponent_of(total) + c_exponent - 32;
      const i32 dropped = std::max(std::max(own_exponent, -126) - c_exponent + 1, 0);
      const f64 under_c = __builtin_floor(total * power_of_two(-dropped)) * power_of_two(c_exponent - 32 + dropped);
      results[j] = static_cast<f32>(above >= 0 ? under_products : under_c);
      special |= biased == 0xff || exponents[j] > 126 ? 1u : 0u;  // products of 2^128 are infinite
    }
    if (special != 0) [[unlikely]]
      return add_one_by_one(at, sums);
    std::memcpy(sums, results, sizeof(results));
  }

  static i32 exponent_of(f64 value) { return static_cast<i32>(__builtin_bit_cast(u64, value) >> 52 & 0x7ff) - 1023; }
  static f64 power_of_two(i32 exponent) { return __builtin_bit_cast(f64, static_cast<u64>(exponent + 1023) << 52); }

  /// For infinities, NaNs, and what becomes infinite.
  void add_one_by_one(const Place& at, f32* sums) const {
    constexpr ExactSums kSums = {A::kMinExponent, B::kMinExponent, kIsFloat8};
    for (int j = 0; j < kWidth; ++j) {
      f32 a[kGroup], b[kGroup];
      for (int i = 0; i < kGroup; ++i) {
        const int k = at.first + i;
        a[i] = a_[Place::element(k)][at.lane_a(k)];
        b[i] = b_[Place::element(k)][at.lane_b(k) + j];
      }
      sums[j] = add_exactly(kSums, a, b, kGroup, sums[j]);
    }
  }

  const f32 (&a_)[Shape::kPerLane][kLanes];
  const f32 (&b_)[Shape::kPerLane][kLanes];
  SplitFactors<Shape::kPerLane> split_a_, split_b_;
  bool is_finite_;
};

}  // namespace

}  // namespace wave::emulator::WAVE_SIMD
