// What waves of 32 lanes do otherwise than those of 64 (RDNA3 and RDNA4 ISA documents): masks of lanes are single
// registers, exchanges between lanes stay within 32, and instructions of their own have registers relative to M0.
#include <bit>

#include "base/error.h"
#include "emulator/bodies.h"
#include "emulator/scalar.h"
#include "emulator/workgroup.h"

namespace wave::emulator {

namespace {

constexpr int kLanes32 = 32;

u32 exec32(const Wave& wave) { return wave.s[sreg::kExec]; }

u32 combine_and(u32 a, u32 exec) { return a & exec; }
u32 combine_or(u32 a, u32 exec) { return a | exec; }
u32 combine_xor(u32 a, u32 exec) { return a ^ exec; }
u32 combine_nand(u32 a, u32 exec) { return ~(a & exec); }
u32 combine_nor(u32 a, u32 exec) { return ~(a | exec); }
u32 combine_xnor(u32 a, u32 exec) { return ~(a ^ exec); }
u32 combine_and_not1(u32 a, u32 exec) { return a & ~exec; }
u32 combine_or_not1(u32 a, u32 exec) { return a | ~exec; }
u32 combine_and_not0(u32 a, u32 exec) { return ~a & exec; }
u32 combine_or_not0(u32 a, u32 exec) { return ~a | exec; }

/// Combines a mask with EXEC, and returns what EXEC was.
template <u32 (*kCombine)(u32, u32)>
u32 saveexec(u32 a, Wave& wave, bool& scc) {
  const u32 exec = exec32(wave);
  wave.set_exec(kCombine(a, exec));
  scc = exec32(wave) != 0;
  return exec;
}
/// The same, but returns the new EXEC.
template <u32 (*kCombine)(u32, u32)>
u32 wrexec(u32 a, Wave& wave, bool& scc) {
  wave.set_exec(kCombine(a, exec32(wave)));
  scc = exec32(wave) != 0;
  return exec32(wave);
}

/// As s_cbranch_vccz: where the target lies in another function it is looked up.
template <bool kIfZero>
const Op* branch_on_vcc(Wave& wave, const Op* op) {
  if ((wave.s[sreg::kVcc] == 0) != kIfZero) return next(op);
  if (op->target != nullptr) return op->target;
  return wave.jump(wave.address(op) + static_cast<u64>(i64{static_cast<i16>(op->imm)} * 4 + 4));
}

const LaneRow& source_row(const Wave& wave, const Op* op) { return wave.v[op->src[0] - sreg::kVgpr0]; }

/// Each lane of a row of 16 reads one of its row, or of the other row of its 32 lanes (X); 16 numbers of 4 bits in two
/// scalar sources say which. OP_SEL is FI and BOUND_CTRL: a lane that is not enabled is read all the same, is taken
/// for zero, or leaves the destination as it is.
template <bool kOtherRow>
const Op* permlane16(Wave& wave, const Op* op) {
  const u64 select = u64{read_scalar32(wave, op, 2)} << 32 | read_scalar32(wave, op, 1);
  const bool fetch_inactive = op->modifiers != nullptr && (op->modifiers->op_sel & 1);
  const bool bound_control = op->modifiers != nullptr && (op->modifiers->op_sel & 2);
  const LaneRow from = source_row(wave, op);
  LaneRow& to = wave.v[op->dst];
  for (int i = 0; i < kLanes32; ++i) {
    if (wave.exec_lanes.lane[i] == 0) continue;
    const int row = (i & 16) ^ (kOtherRow ? 16 : 0), lane = row + static_cast<int>(select >> 4 * (i & 15) & 15);
    const bool is_valid = fetch_inactive || wave.exec_lanes.lane[lane] != 0;
    if (is_valid || bound_control) to.lane[i] = is_valid ? from.lane[lane] : 0;
  }
  return next(op);
}

/// A vector register whose number is relative to M0.
LaneRow& relative_row(Wave& wave, u32 row, u32 offset) {
  check_relative_register(wave, u64{row} + offset);
  return wave.v[row + offset];
}

const Op* move_relative(Wave& wave, const Op* op, u32 source_offset, u32 destination_offset) {
  if (op->modifiers != nullptr) fault("modifiers of a move between relative registers, which are not implemented");
  LaneRow& to = relative_row(wave, op->dst, destination_offset);
  const u32 source = op->src[0];
  const LaneRow* from = source < sreg::kVgpr0 ? nullptr : &relative_row(wave, source - sreg::kVgpr0, source_offset);
  for (int i = 0; i < kLanes32; ++i) {
    if (wave.exec_lanes.lane[i] != 0) to.lane[i] = from != nullptr ? from->lane[i] : read_scalar32(wave, op, 0);
  }
  return next(op);
}

const Op* v_movrels_b32(Wave& wave, const Op* op) { return move_relative(wave, op, wave.s[sreg::kM0], 0); }
const Op* v_movreld_b32(Wave& wave, const Op* op) { return move_relative(wave, op, 0, wave.s[sreg::kM0]); }
const Op* v_movrelsd_b32(Wave& wave, const Op* op) {
  return move_relative(wave, op, wave.s[sreg::kM0], wave.s[sreg::kM0]);
}
/// With an offset for each.
const Op* v_movrelsd_2_b32(Wave& wave, const Op* op) {
  const u32 m0 = wave.s[sreg::kM0];
  return move_relative(wave, op, m0 & 0x3ff, m0 >> 16 & 0x3ff);
}

constexpr Body kBodies[] = {
    {"s_and_saveexec_b32", scalar<saveexec<combine_and>>, Variant::Lanes32},
    {"s_or_saveexec_b32", scalar<saveexec<combine_or>>, Variant::Lanes32},
    {"s_xor_saveexec_b32", scalar<saveexec<combine_xor>>, Variant::Lanes32},
    {"s_nand_saveexec_b32", scalar<saveexec<combine_nand>>, Variant::Lanes32},
    {"s_nor_saveexec_b32", scalar<saveexec<combine_nor>>, Variant::Lanes32},
    {"s_xnor_saveexec_b32", scalar<saveexec<combine_xnor>>, Variant::Lanes32},
    {"s_and_not1_saveexec_b32", scalar<saveexec<combine_and_not1>>, Variant::Lanes32},
    {"s_or_not1_saveexec_b32", scalar<saveexec<combine_or_not1>>, Variant::Lanes32},
    {"s_and_not0_saveexec_b32", scalar<saveexec<combine_and_not0>>, Variant::Lanes32},
    {"s_or_not0_saveexec_b32", scalar<saveexec<combine_or_not0>>, Variant::Lanes32},
    {"s_and_not1_wrexec_b32", scalar<wrexec<combine_and_not1>>, Variant::Lanes32},
    {"s_and_not0_wrexec_b32", scalar<wrexec<combine_and_not0>>, Variant::Lanes32},
    {"s_cbranch_vccz", branch_on_vcc<true>, Variant::Lanes32},
    {"s_cbranch_vccnz", branch_on_vcc<false>, Variant::Lanes32},
    {"v_permlane16_b32", permlane16<false>, Variant::Lanes32},
    {"v_permlanex16_b32", permlane16<true>, Variant::Lanes32},
    {"v_permlane64_b32", nothing, Variant::Lanes32},  // exchanges the halves of waves of 64 lanes
    {"v_movrels_b32", v_movrels_b32, Variant::Lanes32},
    {"v_movreld_b32", v_movreld_b32, Variant::Lanes32},
    {"v_movrelsd_b32", v_movrelsd_b32, Variant::Lanes32},
    {"v_movrelsd_2_b32", v_movrelsd_2_b32, Variant::Lanes32},
};

}  // namespace

std::span<const Body> wave32_bodies() { return kBodies; }

}  // namespace wave::emulator
