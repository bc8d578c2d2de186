// The factors of dense matrix instructions. Included once for each SIMD level (each_simd_level.h) behind matrix.inl,
// inside no namespace.

namespace wave::emulator::WAVE_SIMD {

namespace {

/// A and B of one instruction.
template <class A, class B, class Shape>
struct Factors {
  static constexpr int kRowsA = Shape::kPerLane / A::kPacked, kRowsB = Shape::kPerLane / B::kPacked;
  static constexpr int kRegisters = kRowsA / A::kRows * A::kRegisters;
  static_assert(kRowsA == kRowsB);

  alignas(64) typename A::Factor a[kRowsA][kLanes];
  alignas(64) typename B::Factor b[kRowsB][kLanes];

  Factors(const Wave& wave, const Op* op) {
    if constexpr (A::kSwizzles) {
      if (const MatrixModifiers modifiers(op->matrix); modifiers.any()) [[unlikely]] {
        swizzle(wave, op, modifiers);
        return;
      }
    }
    unpack<A>(register_rows(wave, op, 0), kRegisters, a);
    unpack<B>(register_rows(wave, op, 1), kRegisters, b);
  }

 private:
  /// CBSZ and ABID choose which lanes' rows of A, BLGP which lanes' columns of B are taken.
  void swizzle(const Wave& wave, const Op* op, MatrixModifiers modifiers) {
    modifiers.check(Shape::kBlocks, Shape::kBlocks > 1, Shape::kBlocks > 1 || A::kTakesBlgp);
    const LaneRow *from_a = register_rows(wave, op, 0), *from_b = register_rows(wave, op, 1);
    LaneRow rows_a[kRegisters], rows_b[kRegisters];
    for (int lane = 0; lane < kLanes; ++lane) {
      const int slice = lane / Shape::kSize, block = slice % Shape::kBlocks, split = slice / Shape::kBlocks;
      const int lane_a = Shape::input_lane(modifiers.a_block(block), split) + lane % Shape::kSize;
      const int lane_b = modifiers.b_lane(lane);
      for (int i = 0; i < kRegisters; ++i) {
        rows_a[i].lane[lane] = from_a[i].lane[lane_a];
        rows_b[i].lane[lane] = from_b[i].lane[lane_b];
      }
    }
    unpack<A>(rows_a, kRegisters, a);
    unpack<B>(rows_b, kRegisters, b);
  }
};

}  // namespace

}  // namespace wave::emulator::WAVE_SIMD
