// Moves between single lanes and scalar registers (ISA document, "V_READFIRSTLANE_B32" and its siblings).
#include <bit>
#include <utility>

#include "emulator/bodies.h"
#include "emulator/scalar.h"

namespace wave::emulator {

namespace {

const LaneRow& vector_row(const Wave& wave, const Op* op) { return wave.v[op->src[0] - sreg::kVgpr0]; }

/// Of no enabled lane, lane 0 is read.
const Op* v_readfirstlane_b32(Wave& wave, const Op* op) {
  const int lane = wave.exec() == 0 ? 0 : std::countr_zero(wave.exec());
  write_scalar32(wave, op->dst2, vector_row(wave, op).lane[lane]);
  return next(op);
}

/// EXEC does not matter. A wave has kCount lanes.
template <int kCount>
const Op* v_readlane_b32(Wave& wave, const Op* op) {
  write_scalar32(wave, op->dst2, vector_row(wave, op).lane[read_scalar32(wave, op, 1) % kCount]);
  return next(op);
}

template <int kCount>
const Op* v_writelane_b32(Wave& wave, const Op* op) {
  const u32 lane = read_scalar32(wave, op, 1) % kCount;
  wave.v[op->dst].lane[lane] = read_scalar32(wave, op, 0);
  return next(op);
}

/// Both operands are written: src[0] is the other one.
const Op* v_swap_b32(Wave& wave, const Op* op) {
  LaneRow &a = wave.v[op->dst], &b = wave.v[op->src[0] - sreg::kVgpr0];
  for (int i = 0; i < kLanes; ++i) {
    if (wave.exec_lanes.lane[i] != 0) std::swap(a.lane[i], b.lane[i]);
  }
  return next(op);
}

constexpr Body kBodies[] = {
    {"v_readfirstlane_b32", v_readfirstlane_b32},
    {"v_readlane_b32", v_readlane_b32<32>, Variant::Lanes32},
    {"v_readlane_b32", v_readlane_b32<64>, Variant::Lanes64},
    {"v_writelane_b32", v_writelane_b32<32>, Variant::Lanes32},
    {"v_writelane_b32", v_writelane_b32<64>, Variant::Lanes64},
    {"v_swap_b32", v_swap_b32},
};

}  // namespace

std::span<const Body> lane_bodies() { return kBodies; }

}  // namespace wave::emulator
