// Moves between lanes, between single lanes and scalar registers, and between registers relative to M0 (ISA documents,
// "V_READFIRSTLANE_B32" and its siblings; of RDNA3 and RDNA4 "V_PERMLANE16_B32" and "V_MOVRELS_B32").
#include <bit>
#include <utility>

#include "emulator/bodies.h"
#include "emulator/scalar.h"
#include "emulator/step.h"
#include "emulator/workgroup.h"

namespace wave::emulator {

namespace {

const LaneRow& vector_row(const Wave& wave, const Op* op) { return wave.v[op->vector.src[0] - sreg::kVgpr0]; }

/// Of no enabled lane, lane 0 is read.
const Op* v_readfirstlane_b32(Wave& wave, const Op* op) {
  const int lane = wave.exec() == 0 ? 0 : std::countr_zero(wave.exec());
  write_scalar32(wave, op->vector.scalar_dst, vector_row(wave, op).lane[lane]);
  return go_on(wave, op);
}

/// EXEC does not matter. A wave has kCount lanes.
template <int kCount>
const Op* v_readlane_b32(Wave& wave, const Op* op) {
  write_scalar32(wave, op->vector.scalar_dst, vector_row(wave, op).lane[read_scalar32(wave, op->vector, 1) % kCount]);
  return go_on(wave, op);
}

template <int kCount>
const Op* v_writelane_b32(Wave& wave, const Op* op) {
  const u32 lane = read_scalar32(wave, op->vector, 1) % kCount;
  wave.v[op->vector.dst].lane[lane] = read_scalar32(wave, op->vector, 0);
  return go_on(wave, op);
}

/// Both operands are written: src[0] is the other one.
const Op* v_swap_b32(Wave& wave, const Op* op) {
  LaneRow &a = wave.v[op->vector.dst], &b = wave.v[op->vector.src[0] - sreg::kVgpr0];
  for (int i = 0; i < kLanes; ++i) {
    if (wave.exec_lanes.lane[i] != 0) std::swap(a.lane[i], b.lane[i]);
  }
  return go_on(wave, op);
}

/// The same of halves of registers, which may be those of one; as of all operands of 16 bits the modifiers say which.
const Op* v_swap_b16(Wave& wave, const Op* op) {
  const u32 a_shift = op->vector.modifiers->destination.shift, b_shift = op->vector.modifiers->source[0].shift;
  LaneRow &a = wave.v[op->vector.dst], &b = wave.v[op->vector.src[0] - sreg::kVgpr0];
  for (int i = 0; i < kLanes; ++i) {
    if (wave.exec_lanes.lane[i] == 0) continue;
    const u32 difference = (a.lane[i] >> a_shift ^ b.lane[i] >> b_shift) & 0xffff;
    a.lane[i] ^= difference << a_shift;
    b.lane[i] ^= difference << b_shift;
  }
  return go_on(wave, op);
}

/// Each lane of a row of 16 reads one of its row, or of the other row of its 32 lanes (X); numbers of 4 bits say which.
/// OP_SEL is FI and BOUND_CTRL: a lane that is not enabled is read all the same, is taken for zero, or leaves the
/// destination as it is.
template <bool kOtherRow, class Select>
const Op* permute_rows(Wave& wave, const Op* op, Select&& select) {
  const bool fetch_inactive = op->vector.modifiers != nullptr && (op->vector.modifiers->op_sel & 1);
  const bool bound_control = op->vector.modifiers != nullptr && (op->vector.modifiers->op_sel & 2);
  const LaneRow from = vector_row(wave, op);
  LaneRow& to = wave.v[op->vector.dst];
  for (int i = 0; i < kLanes; ++i) {
    if (wave.exec_lanes.lane[i] == 0) continue;
    const int row = (i & ~15) ^ (kOtherRow ? 16 : 0), lane = row + static_cast<int>(select(i) & 15);
    const bool is_valid = fetch_inactive || wave.exec_lanes.lane[lane] != 0;
    if (is_valid || bound_control) to.lane[i] = is_valid ? from.lane[lane] : 0;
  }
  return next(op);
}

template <bool kOtherRow>
const Op* permlane16(Wave& wave, const Op* op) {
  const u64 numbers = u64{read_scalar32(wave, op->vector, 2)} << 32 | read_scalar32(wave, op->vector, 1);
  return permute_rows<kOtherRow>(wave, op, [numbers](int lane) { return numbers >> 4 * (lane & 15); });
}

/// GFX12: each lane has its number in a vector register.
template <bool kOtherRow>
const Op* permlane16_var(Wave& wave, const Op* op) {
  const LaneRow numbers = wave.v[op->vector.src[1] - sreg::kVgpr0];
  return permute_rows<kOtherRow>(wave, op, [&numbers](int lane) { return numbers.lane[lane]; });
}

/// Exchanges the halves of a wave; one of 32 lanes has none.
const Op* v_permlane64_b32(Wave& wave, const Op* op) {
  if (wave.lanes == 32) return go_on(wave, op);
  const LaneRow from = vector_row(wave, op);
  LaneRow& to = wave.v[op->vector.dst];
  for (int i = 0; i < kLanes; ++i) {
    if (wave.exec_lanes.lane[i] != 0) to.lane[i] = from.lane[i ^ 32];
  }
  return go_on(wave, op);
}

/// A vector register whose number is relative to M0.
LaneRow& relative_row(Wave& wave, u32 row, u32 offset) {
  check_relative_register(wave, u64{row} + offset);
  return wave.v[row + offset];
}

const Op* move_relative(Wave& wave, const Op* op, u32 source_offset, u32 destination_offset) {
  if (op->vector.modifiers != nullptr)
    fault("modifiers of a move between relative registers, which are not implemented");
  LaneRow& to = relative_row(wave, op->vector.dst, destination_offset);
  const u32 source = op->vector.src[0];
  const LaneRow* from = source < sreg::kVgpr0 ? nullptr : &relative_row(wave, source - sreg::kVgpr0, source_offset);
  for (int i = 0; i < kLanes; ++i) {
    if (wave.exec_lanes.lane[i] != 0) to.lane[i] = from != nullptr ? from->lane[i] : read_scalar32(wave, op->vector, 0);
  }
  return go_on(wave, op);
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

/// The same, but that the two change places.
const Op* v_swaprel_b32(Wave& wave, const Op* op) {
  const u32 m0 = wave.s[sreg::kM0];
  LaneRow& a = relative_row(wave, op->vector.dst, m0 >> 16 & 0x3ff);
  LaneRow& b = relative_row(wave, op->vector.src[0] - sreg::kVgpr0, m0 & 0x3ff);
  for (int i = 0; i < kLanes; ++i) {
    if (wave.exec_lanes.lane[i] != 0) std::swap(a.lane[i], b.lane[i]);
  }
  return go_on(wave, op);
}

constexpr Body kBodies[] = {
    {"v_readfirstlane_b32", v_readfirstlane_b32},
    {"v_readlane_b32", v_readlane_b32<32>, Variant::Lanes32},
    {"v_readlane_b32", v_readlane_b32<64>, Variant::Lanes64},
    {"v_writelane_b32", v_writelane_b32<32>, Variant::Lanes32},
    {"v_writelane_b32", v_writelane_b32<64>, Variant::Lanes64},
    {"v_swap_b32", v_swap_b32},
    {"v_swap_b16", v_swap_b16},
    {"v_permlane16_b32", permlane16<false>},
    {"v_permlanex16_b32", permlane16<true>},
    {"v_permlane16_var_b32", permlane16_var<false>},
    {"v_permlanex16_var_b32", permlane16_var<true>},
    {"v_permlane64_b32", v_permlane64_b32},
    {"v_movrels_b32", v_movrels_b32},
    {"v_movreld_b32", v_movreld_b32},
    {"v_movrelsd_b32", v_movrelsd_b32},
    {"v_movrelsd_2_b32", v_movrelsd_2_b32},
    {"v_swaprel_b32", v_swaprel_b32},
};

}  // namespace

std::span<const Body> lane_bodies() { return kBodies; }

bool moves_relative_rows(Execute body) {
  return body == v_movrels_b32 || body == v_movreld_b32 || body == v_movrelsd_b32 || body == v_movrelsd_2_b32 ||
         body == v_swaprel_b32;
}

}  // namespace wave::emulator
