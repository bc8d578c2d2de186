// Exchanges between lanes that CDNA4 brought: halves and rows of lanes that two registers swap, and loads from LDS that
// transpose a matrix (its ISA document, "VOP1 Instructions" and "MFMA Transpose Load from LDS").
#include <utility>

#include "emulator/bodies.h"
#include "emulator/workgroup.h"

namespace wave::emulator {

namespace {

/// V_PERMLANE16_SWAP_B32 and V_PERMLANE32_SWAP_B32: of every 2 * kCount lanes, the upper ones of the destination change
/// places with the lower ones of the source. OP_SEL is FI and BOUND_CTRL: the value of a lane that is not enabled is
/// taken all the same, or is taken for zero, or leaves the other lane as it is.
template <int kCount>
const Op* permlane_swap(Wave& wave, const Op* op) {
  const bool fetch_inactive = op->vector.modifiers != nullptr && (op->vector.modifiers->op_sel & 1);
  const bool bound_control = op->vector.modifiers != nullptr && (op->vector.modifiers->op_sel & 2);
  LaneRow &first = wave.v[op->vector.dst], &second = wave.v[op->vector.src[0] - sreg::kVgpr0];
  const auto enabled = [&](int lane) { return wave.exec_lanes.lane[lane] != 0; };
  for (int lane = 0; lane < kLanes; ++lane) {
    if ((lane & kCount) != 0) continue;
    u32 &upper = first.lane[lane + kCount], &lower = second.lane[lane];
    const u32 to_lower = upper, to_upper = lower;
    const bool upper_counts = fetch_inactive || enabled(lane + kCount), lower_counts = fetch_inactive || enabled(lane);
    if (enabled(lane) && (upper_counts || bound_control)) lower = upper_counts ? to_lower : 0;
    if (enabled(lane + kCount) && (lower_counts || bound_control)) upper = lower_counts ? to_upper : 0;
  }
  return go_on(wave, op);
}

/// 16 lanes read rows of 16 elements of kBits, in turn: as many lanes as a row takes have one row of the matrix. Each
/// then has a column of it: element k of lane i is element i of row k. EXEC must be all ones (ISA document, above).
template <int kBits, int kDwords>
const Op* ds_read_transposed(Wave& wave, const Op* op) {
  constexpr int kColumns = 16, kElements = 32 * kDwords / kBits, kLanesOfRow = kColumns / kElements;
  if (~wave.exec() != 0) fault("EXEC must be all ones where a matrix is transposed");
  u32 loaded[kLanes][kDwords];
  for (int lane = 0; lane < kLanes; ++lane) {
    const u32 address = wave.v[op->lds.address].lane[lane] + op->lds.offset[0];
    wave.group->read_lds({address, sizeof(loaded[lane])}, loaded[lane], lane);
  }
  const auto element = [&](int lane, int index) {
    const int bit = kBits * index, shift = bit % 32;
    const u32* at = &loaded[lane][bit / 32];
    const u64 both = at[0] | (shift + kBits > 32 ? u64{at[1]} << 32 : 0);
    return static_cast<u32>(both >> shift) & ((1u << kBits) - 1);
  };
  for (int lane = 0; lane < kLanes; ++lane) {
    const int group = lane / kColumns * kColumns, column = lane % kColumns;
    u32 result[kDwords] = {};
    for (int k = 0; k < kElements; ++k) {
      const u32 value = element(group + kLanesOfRow * k + column / kElements, column % kElements);
      const int bit = kBits * k, shift = bit % 32;
      result[bit / 32] |= value << shift;
      if (shift + kBits > 32) result[bit / 32 + 1] |= value >> (32 - shift);
    }
    for (int i = 0; i < kDwords; ++i) wave.v[op->lds.dst + i].lane[lane] = result[i];
  }
  return next(op);
}

constexpr Body kBodies[] = {
    {"v_permlane16_swap_b32", permlane_swap<16>},    {"v_permlane32_swap_b32", permlane_swap<32>},
    {"ds_read_b64_tr_b4", ds_read_transposed<4, 2>}, {"ds_read_b96_tr_b6", ds_read_transposed<6, 3>},
    {"ds_read_b64_tr_b8", ds_read_transposed<8, 2>}, {"ds_read_b64_tr_b16", ds_read_transposed<16, 2>},
};

}  // namespace

std::span<const Body> exchange_cdna4_bodies() { return kBodies; }

}  // namespace wave::emulator
