// Where the elements of a matrix instruction's operands lie (the AMD Matrix Instruction Calculator's equations), and
// its modifiers.
#pragma once

#include "emulator/op.h"

namespace wave::emulator {

/// kBlocks independent products of a kSize x kDepth by a kDepth x kSize matrix. Accumulators lie in groups of
/// kGroupRows consecutive rows: 4, of f64 1.
template <int kSizeOf, int kDepthOf, int kBlocksOf, int kGroupRows>
struct MatrixShape {
  static constexpr int kSize = kSizeOf, kDepth = kDepthOf, kBlocks = kBlocksOf;

  /// A lane holds a row of A (column of B) and kPerLane consecutive k. The k beyond are in the lanes behind those of
  /// all blocks, kSplits times.
  static constexpr int kSplits = kLanes / (kSize * kBlocks);
  static constexpr int kPerLane = kDepth / kSplits;
  static constexpr int input_lane(int block, int split) { return (split * kBlocks + block) * kSize; }

  /// Accumulators in a lane.
  static constexpr int kAccumulators = kSize * kSize * kBlocks / kLanes;

  /// Where a row of C and D begins, counted over the lanes of consecutive accumulators.
  static constexpr int output(int block, int row) {
    constexpr int kSlices = kLanes / kSize;  // rows that lie side by side in one register
    constexpr int kBlockSlices = kSize / kGroupRows < kSlices ? kSize / kGroupRows : kSlices;
    constexpr int kSideBySide = kSlices / kBlockSlices;  // blocks that share registers
    constexpr int kBlockRegisters = kAccumulators * kSideBySide / kBlocks;
    const int group = row / kGroupRows;
    const int reg = block / kSideBySide * kBlockRegisters + group / kBlockSlices * kGroupRows + row % kGroupRows;
    const int slice = group % kBlockSlices * kSideBySide + block % kSideBySide;
    return reg * kLanes + slice * kSize;
  }
};

/// CBSZ, ABID and BLGP.
class MatrixModifiers {
 public:
  explicit MatrixModifiers(const MatrixOperands& operands) : operands_(operands) {}

  u32 cbsz() const { return operands_.cbsz; }
  u32 abid() const { return operands_.abid; }
  u32 blgp() const { return operands_.blgp; }
  bool any() const { return (cbsz() | abid() | blgp()) != 0; }

  /// Throws Fault for values that have no defined meaning in a dense instruction.
  void check(int blocks, bool takes_cbsz, bool takes_blgp) const {
    const int broadcast = 1 << cbsz();
    if ((cbsz() | abid()) != 0 && !takes_cbsz) fault("cbsz and abid have no meaning for this instruction");
    if (broadcast > blocks) fault("cbsz asks for more blocks than the instruction has");
    if (static_cast<int>(abid()) >= broadcast) fault("abid is not one of the blocks that cbsz groups");
    if (blgp() != 0 && !takes_blgp) fault("blgp has no meaning for this instruction");
  }

  /// The block of A that stands in for `block`: of each group of 2^CBSZ the one that ABID names.
  int a_block(int block) const { return block >> cbsz() << cbsz() | static_cast<int>(abid()); }

  /// Which of the `sets` of indices in a register a sparse instruction uses.
  u32 index_set(u32 sets) const { return (cbsz() & 3) == 0 ? abid() % sets : 0; }

  /// The lane of B that stands in for `lane`: BLGP 1 and 2 broadcast a half, 3 rotates by 16 lanes, 4 to 7 broadcast a
  /// quarter.
  int b_lane(int lane) const {
    const int pattern = static_cast<int>(blgp());
    if (pattern == 0) return lane;
    if (pattern == 3) return (lane + 16) % kLanes;
    return pattern < 3 ? lane % 32 + (pattern - 1) * 32 : lane % 16 + (pattern - 4) * 16;
  }

 private:
  const MatrixOperands& operands_;
};

}  // namespace wave::emulator
