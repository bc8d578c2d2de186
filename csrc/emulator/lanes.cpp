#include "emulator/lanes.h"

#include <bit>

#include "emulator/scalar.h"

namespace wave::emulator {

namespace {

/// Of a wave of 32 lanes. Higher numbers, as -1 is one, do not come from 64 lanes.
bool is_beyond_wave(u32 lane) { return lane >= kHalfLanes && lane < kLanes; }

}  // namespace

/// Lanes are numbered modulo 32. So the second wave of a workgroup may say 32 to 63 for its own lanes, by the numbers
/// of its work-items; the same of every other wave where these are counted modulo 64.
void LaneChecker::before(const Wave& wave, const Op* op) {
  if (wave.lanes == kLanes || wave.index % 2 != 0) return;
  if ((op->flags & kMovesMemory) != 0) return exchange(wave, op);
  const u32 named = read_scalar32(wave, op->vector, 1);
  if (is_beyond_wave(named)) report(wave, op, -1, named);
}

/// Through LDS, where each lane names another one by an address. Rotations name some lanes behind the last one, and
/// mean those at its beginning; code for 64 lanes that goes to the other half names none but those that are missing.
void LaneChecker::exchange(const Wave& wave, const Op* op) {
  const u64 enabled = wave.exec();
  if (std::popcount(enabled) < 2) return;
  const auto named = [&](int lane) { return (wave.v[op->lds.address].lane[lane] + op->lds.offset[0]) / 4; };
  for (u64 left = enabled; left != 0; left &= left - 1) {
    if (!is_beyond_wave(named(std::countr_zero(left)))) return;
  }
  const int first = std::countr_zero(enabled);
  report(wave, op, first, named(first));
}

void LaneChecker::report(const Wave& wave, const Op* op, int lane, u32 named) {
  const Sighting sighting{.tool = kLanesTool, .kind = "beyond-wave", .pc = wave.address(op), .lane = lane};
  findings_.add(wave, sighting, [&] {
    return text(lane < 0 ? "names" : "all lanes name some that the wave does not have, the first one", " lane ", named,
                " of a wave of ", kHalfLanes, " lanes, which is taken for lane ", named % kHalfLanes,
                ": code for waves of 64 lanes; count them by warpSize, or compile with -mwavefrontsize64");
  });
}

}  // namespace wave::emulator
