// Buffer memory: MUBUF without formats (ISA document, "Vector Memory Buffer Instructions"). buffer.h has the operands.
#include <algorithm>
#include <cstring>
#include <iterator>

#include "emulator/atomics.h"
#include "emulator/bodies.h"
#include "emulator/buffer.h"
#include "emulator/workgroup.h"

#define WAVE_SOURCE "emulator/exec_buffer.cpp"
#include "emulator/each_simd_level.h"
#include "emulator/vector_memory.inl"

namespace wave::emulator::WAVE_SIMD {

namespace {

/// The lanes of a buffer instruction that accesses `size` bytes: those whose bytes lie in range and together, those of
/// which that is to be found out dword by dword, and those that are out of range.
struct BufferLanes {
  BufferLanes(const Wave& wave, const BufferOperands& operands, u32 size)
      : buffer(wave, operands), rows(&wave.v[operands.address]) {
    if (!buffer.indexed && !buffer.add_lane) {
      find_by_offset(wave, size);
    } else {
      find_by_index(wave, size);
    }
    any_within = addresses.find_range(within);
    u32 others = 0, some = 0;
    for (int i = 0; i < kLanes; ++i) {
      others |= wave.exec_lanes.lane[i] & ~within.lane[i];
      some |= partly.lane[i];
    }
    any_others = others != 0;
    any_partly = some != 0;
  }

  u64 index(int lane) const { return buffer.index(rows, lane); }
  u64 byte(int lane) const { return buffer.byte(rows, lane); }

  Buffer buffer;
  const LaneRow* rows;
  Addresses<u64> addresses;
  LaneRow within;  ///< ~0 for the lanes of `addresses`
  LaneRow partly;  ///< ~0 for the lanes to look at dword by dword
  bool any_within, any_partly;
  bool any_others;  ///< than those within

 private:
  /// No index: whether a lane is in range depends on its offset alone.
  void find_by_offset(const Wave& wave, u32 size) {
    const u64 fixed = buffer.scalar_offset + buffer.offset, first = std::min<u64>(size, sizeof(u32));
    const AddressSpan range(0, buffer.records);
    const bool whole = range.contains({fixed, size}), some = range.contains({fixed, first});
    const u32 last_whole = whole ? static_cast<u32>(buffer.records - fixed - size) : 0;
    const u32 last_some = some ? static_cast<u32>(buffer.records - fixed - first) : 0;
    for (int i = 0; i < kLanes; ++i) {
      const u32 offset = buffer.offset_enabled ? rows->lane[i] : 0;
      within.lane[i] = whole && offset <= last_whole ? wave.exec_lanes.lane[i] : 0;
      partly.lane[i] = some && offset <= last_some ? wave.exec_lanes.lane[i] & ~within.lane[i] : 0;
      addresses.lane[i] = buffer.base + fixed + offset;
    }
  }

  void find_by_index(const Wave& wave, u32 size) {
    const bool together = !buffer.swizzled || size <= sizeof(u32);
    for (int i = 0; i < kLanes; ++i) {
      const bool in_range = together && buffer.contains(index(i), byte(i), size);
      within.lane[i] = in_range ? wave.exec_lanes.lane[i] : 0;
      partly.lane[i] = size > sizeof(u32) ? wave.exec_lanes.lane[i] & ~within.lane[i] : 0;
      addresses.lane[i] = buffer.address(index(i), byte(i));
    }
  }
};

/// Reads value `k` of a lane, or zero where it is out of range.
template <class T>
T read_checked(Wave& wave, const BufferLanes& lanes, int lane, int k) {
  const u64 index = lanes.index(lane), byte = lanes.byte(lane) + static_cast<u32>(k) * sizeof(T);
  T value{};
  if (lanes.buffer.contains(index, byte, sizeof(T)))
    GlobalMemory::read(wave, {lanes.buffer.address(index, byte), sizeof(T)}, &value, lane);
  return value;
}

template <class T>
void write_checked(Wave& wave, const BufferLanes& lanes, T value, int lane, int k) {
  const u64 index = lanes.index(lane), byte = lanes.byte(lane) + static_cast<u32>(k) * sizeof(T);
  if (lanes.buffer.contains(index, byte, sizeof(T)))
    GlobalMemory::write(wave, {lanes.buffer.address(index, byte), sizeof(T)}, &value, lane);
}

/// Loads kCount values of type T for each enabled lane into as many rows.
template <class Memory, class T, int kCount, Part kPart>
void buffer_load_rows(Wave& wave, const BufferLanes& lanes, LaneRow* rows) {
  if (lanes.any_others) {
    LaneRow zero{}, outside;
    for (int i = 0; i < kLanes; ++i)
      outside.lane[i] = wave.exec_lanes.lane[i] & ~lanes.within.lane[i] & ~lanes.partly.lane[i];
    for (int k = 0; k < kCount; ++k) set_rows<kPart>(rows[k], zero, outside);
  }
  for (int i = 0; lanes.any_partly && i < kLanes; ++i) {
    if (lanes.partly.lane[i] == 0) continue;
    T value[kCount];
    for (int k = 0; k < kCount; ++k) value[k] = read_checked<T>(wave, lanes, i, k);
    for (int k = 0; k < kCount; ++k) set_part<kPart>(rows[k].lane[i], value[k]);
  }
  if (lanes.any_within) load_rows<Memory, T, kCount, kPart>(wave, lanes.addresses, rows);
}

template <class Memory, class T, int kCount = 1, Part kPart = Part::Whole>
const Op* buffer_load(Wave& wave, const Op* op) {
  const BufferLanes lanes(wave, op->buffer, sizeof(T) * kCount);
  if (!op->buffer.to_lds) {
    buffer_load_rows<Memory, T, kCount, kPart>(wave, lanes, &wave.v[op->buffer.data]);
    return next(op);
  }
  LaneRow values[kCount] = {};
  buffer_load_rows<Memory, T, kCount, kPart>(wave, lanes, values);
  for (int i = 0; i < kLanes; ++i) {
    if (wave.exec_lanes.lane[i] != 0) write_lds_slots(wave, op->buffer.offset, values, i);
  }
  return next(op);
}

template <class Memory, class T, int kCount = 1, Part kPart = Part::Whole>
const Op* buffer_store(Wave& wave, const Op* op) {
  const BufferLanes lanes(wave, op->buffer, sizeof(T) * kCount);
  const LaneRow* rows = &wave.v[op->buffer.data];
  if (lanes.any_within) store_rows<Memory, T, kCount, kPart>(wave, lanes.addresses, rows);
  for (int i = 0; lanes.any_partly && i < kLanes; ++i) {
    if (lanes.partly.lane[i] == 0) continue;
    for (int k = 0; k < kCount; ++k) {
      write_checked(wave, lanes, static_cast<T>(get_part<kPart>(rows[k].lane[i])), i, k);
    }
  }
  return next(op);
}

/// Atomics are in range as a whole or not at all, and at the address of their first byte.
template <class Memory, auto kModify>
const Op* buffer_atomic(Wave& wave, const Op* op) {
  using T = typename Atomic<kModify>::Value;
  BufferLanes lanes(wave, op->buffer, sizeof(T));
  for (int i = 0; i < kLanes; ++i) {
    const bool in_range = lanes.buffer.contains(lanes.index(i), lanes.byte(i), sizeof(T));
    lanes.within.lane[i] = in_range ? wave.exec_lanes.lane[i] : 0;
  }
  LaneRow* data = &wave.v[op->buffer.data];
  if (lanes.addresses.find_range(lanes.within)) {
    modify_rows<Memory, kModify>(wave, lanes.addresses, data, second_operand<kModify>(data),
                                 op->buffer.returns ? data : nullptr);
  }
  for (int i = 0; i < kLanes; ++i) {
    const bool outside = (wave.exec_lanes.lane[i] & ~lanes.within.lane[i]) != 0;
    if (outside && op->buffer.returns) set_value(data, T{}, i);
  }
  return next(op);
}

constexpr Body kBodies[] = {
    WAVE_LOADS_AND_STORES("buffer", buffer_load, buffer_store, GlobalMemory),
    WAVE_INTEGER_ATOMICS("buffer", buffer_atomic, GlobalMemory),
    WAVE_FLOAT_ATOMICS("buffer", buffer_atomic, GlobalMemory),
    {"buffer_atomic_pk_add_bf16", buffer_atomic<GlobalMemory, atomics::pk_add_bf16>},
    {"buffer_wbl2", nothing},
    {"buffer_inv", nothing},
};

}  // namespace

std::span<const Body> buffer_bodies() { return kBodies; }

}  // namespace wave::emulator::WAVE_SIMD
