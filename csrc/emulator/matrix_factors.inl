// The factors of dense matrix instructions. Included once for each SIMD level (each_simd_level.h) behind matrix.inl,
// inside no namespace.

namespace wave::emulator::WAVE_SIMD {

namespace {

/// CBSZ and ABID choose which lanes' rows of A, BLGP which lanes' columns of B are taken.
template <class Shape>
[[gnu::noinline]] void swizzle(MatrixModifiers modifiers, int registers, const LaneRow* from_a, const LaneRow* from_b,
                               LaneRow* to_a, LaneRow* to_b) {
  for (int lane = 0; lane < kLanes; ++lane) {
    const int slice = lane / Shape::kSize, block = slice % Shape::kBlocks, split = slice / Shape::kBlocks;
    const int lane_a = Shape::input_lane(modifiers.a_block(block), split) + lane % Shape::kSize;
    const int lane_b = modifiers.b_lane(lane);
    for (int i = 0; i < registers; ++i) {
      to_a[i].lane[lane] = from_a[i].lane[lane_a];
      to_b[i].lane[lane] = from_b[i].lane[lane_b];
    }
  }
}

/// A and B of one instruction.
template <class A, class B, class Shape>
struct Factors {
  static constexpr int kRowsA = Shape::kPerLane / A::kPacked, kRowsB = Shape::kPerLane / B::kPacked;
  static constexpr int kRegisters = kRowsA / A::kRows * A::kRegisters;
  static_assert(kRowsA == kRowsB);

  alignas(64) typename A::Factor a[kRowsA][kLanes];
  alignas(64) typename B::Factor b[kRowsB][kLanes];

  Factors(const Wave& wave, const Op* op) {
    const LaneRow *from_a = register_rows(wave, op, 0), *from_b = register_rows(wave, op, 1);
    [[maybe_unused]] LaneRow rows_a[kRegisters], rows_b[kRegisters];
    if constexpr (A::kSwizzles) {
      if (const MatrixModifiers modifiers(op->matrix); modifiers.any()) [[unlikely]] {
        modifiers.check(Shape::kBlocks, Shape::kBlocks > 1, Shape::kBlocks > 1 || A::kTakesBlgp);
        swizzle<Shape>(modifiers, kRegisters, from_a, from_b, rows_a, rows_b);
        from_a = rows_a, from_b = rows_b;
      }
    }
    unpack<A>(from_a, kRegisters, a);
    unpack<B>(from_b, kRegisters, b);
  }
};

}  // namespace

}  // namespace wave::emulator::WAVE_SIMD
