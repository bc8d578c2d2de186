#include <cwchar>

#include "emulator/scalar.h"
#include "emulator/vector.h"

namespace wave::emulator {

namespace {

/// By the C library's function for wide characters: it writes the host's widest vectors, which bodies then read as
/// such.
void fill(LaneRow& row, u32 value) {
  static_assert(sizeof(wchar_t) == sizeof(u32));
  std::wmemset(reinterpret_cast<wchar_t*>(row.lane), static_cast<wchar_t>(value), kLanes);
}

}  // namespace

const LaneRow* broadcast_source(Wave& wave, const Op* op, int index, LaneType kind) {
  LaneRow* rows = wave.temp[index];
  if (kind == LaneType::Mask) {
    Wave::spread(read_scalar64(wave, op->vector, index), rows[0]);
  } else if (dwords(kind) == 1) {
    fill(rows[0], read_scalar32(wave, op->vector, index));
  } else {
    const u64 value = read_scalar64(wave, op->vector, index);
    fill(rows[0], static_cast<u32>(value));
    fill(rows[1], static_cast<u32>(value >> 32));
  }
  return rows;
}

}  // namespace wave::emulator
