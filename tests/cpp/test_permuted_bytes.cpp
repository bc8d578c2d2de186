// emulator/exec_vector_integer: V_PERM_B32 with all 256 codes of a byte, in each place (ISA document, V_PERM_B32),
// where some lanes are disabled, and in waves of 32 lanes. At the host's SIMD level, or the one that WAVE_RUNTIME_SIMD
// names.

#include <cstdio>
#include <memory>
#include <random>
#include <vector>

#include "emulator/bodies.h"

namespace {

using namespace wave::emulator;

/// Bytes 0 to 3 are those of the second source, 4 to 7 those of the first. The next four codes repeat a sign: of the
/// second source's lower half, its upper one, and the same of the first.
u32 byte_of(u32 a, u32 b, u32 code) {
  const u32 bytes[] = {b & 0xff, b >> 8 & 0xff, b >> 16 & 0xff, b >> 24,
                       a & 0xff, a >> 8 & 0xff, a >> 16 & 0xff, a >> 24};
  if (code < 8) return bytes[code];
  if (code < 12) return (bytes[2 * (code - 8) + 1] & 0x80) != 0 ? 0xff : 0;
  return code == 12 ? 0 : 0xff;
}

}  // namespace

int main() {
  std::mt19937 random_numbers(1);
  std::vector<LaneRow> rows(4);
  const auto wave = std::make_unique<Wave>();
  Op op;
  op.vector.dst = 3;
  for (u32 i = 0; i < 3; ++i) op.vector.rows[i] = i * sizeof(LaneRow);
  int failures = 0;
  for (u32 first = 0; first < 256; ++first) {
    wave->v = rows.data();
    wave->lanes = first % 2 != 0 ? kLanes : kHalfLanes;
    const u64 all = ~u64{0} >> (kLanes - wave->lanes), enabled = all & ~(u64{1} << random_numbers() % wave->lanes);
    wave->spread_exec = ~enabled;
    wave->set_mode(0xf0);
    wave->set_exec(enabled);
    for (LaneRow& row : rows) {
      for (u32& dword : row.lane) dword = static_cast<u32>(random_numbers());
    }
    for (u32 lane = 0; lane < kLanes; ++lane) {
      u32& select = rows[2].lane[lane];
      select = (select & ~(0xffu << 8 * (lane % 4))) | first << 8 * (lane % 4);
      if (lane % 8 > 3) select &= 0x0f0f0f0f;  // codes that mean something
    }
    const std::vector<LaneRow> before = rows;
    bodies_named("v_perm_b32").front().forms.general(*wave, &op);
    for (u32 lane = 0; lane < wave->lanes; ++lane) {
      const u32 a = before[0].lane[lane], b = before[1].lane[lane], select = before[2].lane[lane];
      u32 wanted = 0;
      for (u32 at = 0; at < 32; at += 8) wanted |= byte_of(a, b, select >> at & 0xff) << at;
      if ((enabled >> lane & 1) == 0) wanted = before[3].lane[lane];
      if (rows[3].lane[lane] == wanted || ++failures > 5) continue;
      std::printf("%08x and %08x, permuted by %08x, are %08x, not %08x\n", a, b, select, rows[3].lane[lane], wanted);
    }
  }
  return failures != 0;
}
