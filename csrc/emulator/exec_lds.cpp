// LDS reads and writes (ISA document, "LDS Instructions").
//
// Operands of an Op: src[0] is the row of the byte address, src[1] and src[2] the rows of the data, dst the row of the
// result, imm the offset in bytes; of two-address forms OFFSET0 in the low half and OFFSET1 in the high half.
#include <cstring>

#include "emulator/bodies.h"
#include "emulator/workgroup.h"

namespace wave::emulator {

namespace {

template <int kDwords>
void load(Wave& wave, u64 address, u32* to, int lane) {
  if (address + 4 * kDwords <= wave.group->lds_size()) [[likely]] {
    std::memcpy(to, wave.group->lds() + address, 4 * kDwords);
  } else {
    wave.group->read_lds(address, to, 4 * kDwords, lane);
  }
}

template <int kDwords>
void store(Wave& wave, const Op* op, u32 first_row, u64 offset, int lane) {
  const u64 address = wave.v[op->src[0]].lane[lane] + offset;
  u32 value[kDwords];
  for (int k = 0; k < kDwords; ++k) value[k] = wave.v[first_row + k].lane[lane];
  if (address + 4 * kDwords <= wave.group->lds_size()) [[likely]] {
    std::memcpy(wave.group->lds() + address, value, 4 * kDwords);
  } else {
    wave.group->write_lds(address, value, 4 * kDwords, lane);
  }
}

template <int kDwords>
const Op* ds_read(Wave& wave, const Op* op) {
  for (int i = 0; i < kLanes; ++i) {
    if (wave.exec_lanes.lane[i] == 0) continue;
    u32 value[kDwords];
    load<kDwords>(wave, u64{wave.v[op->src[0]].lane[i]} + op->imm, value, i);
    for (int k = 0; k < kDwords; ++k) wave.v[op->dst + k].lane[i] = value[k];
  }
  return op + op->size;
}

template <int kDwords>
const Op* ds_write(Wave& wave, const Op* op) {
  for (int i = 0; i < kLanes; ++i) {
    if (wave.exec_lanes.lane[i] != 0) store<kDwords>(wave, op, op->src[1], op->imm, i);
  }
  return op + op->size;
}

u64 first_offset(const Op* op, u32 unit) { return u64{op->imm & 0xffff} * unit; }
u64 second_offset(const Op* op, u32 unit) { return u64{op->imm >> 16} * unit; }

/// Two addresses, OFFSET0 and OFFSET1 in units of kUnit bytes. The result may overwrite the address, so both are read
/// first.
template <int kDwords, u32 kUnit>
const Op* ds_read2(Wave& wave, const Op* op) {
  for (int i = 0; i < kLanes; ++i) {
    if (wave.exec_lanes.lane[i] == 0) continue;
    const u64 base = wave.v[op->src[0]].lane[i];
    u32 value[2 * kDwords];
    load<kDwords>(wave, base + first_offset(op, kUnit), value, i);
    load<kDwords>(wave, base + second_offset(op, kUnit), value + kDwords, i);
    for (int k = 0; k < 2 * kDwords; ++k) wave.v[op->dst + k].lane[i] = value[k];
  }
  return op + op->size;
}

template <int kDwords, u32 kUnit>
const Op* ds_write2(Wave& wave, const Op* op) {
  for (int i = 0; i < kLanes; ++i) {
    if (wave.exec_lanes.lane[i] == 0) continue;
    store<kDwords>(wave, op, op->src[1], first_offset(op, kUnit), i);
    store<kDwords>(wave, op, op->src[2], second_offset(op, kUnit), i);
  }
  return op + op->size;
}

constexpr Body kBodies[] = {
    {"ds_read_b32", ds_read<1>},
    {"ds_read_b64", ds_read<2>},
    {"ds_read_b96", ds_read<3>},
    {"ds_read_b128", ds_read<4>},
    {"ds_write_b32", ds_write<1>},
    {"ds_write_b64", ds_write<2>},
    {"ds_write_b96", ds_write<3>},
    {"ds_write_b128", ds_write<4>},
    {"ds_read2_b32", ds_read2<1, 4>},
    {"ds_read2_b64", ds_read2<2, 8>},
    {"ds_read2st64_b32", ds_read2<1, 256>},
    {"ds_read2st64_b64", ds_read2<2, 512>},
    {"ds_write2_b32", ds_write2<1, 4>},
    {"ds_write2_b64", ds_write2<2, 8>},
    {"ds_write2st64_b32", ds_write2<1, 256>},
    {"ds_write2st64_b64", ds_write2<2, 512>},
};

}  // namespace

std::span<const Body> lds_bodies() { return kBodies; }

}  // namespace wave::emulator
