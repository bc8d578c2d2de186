// Scalar memory (ISA document, "SMEM Instructions").
#include <algorithm>
#include <cstring>
#include <iterator>

#include "emulator/atomics.h"
#include "emulator/bodies.h"
#include "emulator/scalar.h"
#include "emulator/workgroup.h"

namespace wave::emulator {

namespace {

/// Where an instruction accesses memory, and how many bytes from there on are in range.
struct ScalarAccess {
  u64 address;
  u64 bytes;

  AddressSpan first(u64 size) const { return {address, std::min(size, bytes & ~u64{3})}; }
};

u64 register_offset(const Wave& wave, const ScalarMemoryOperands& operands) {
  return operands.offset_register == kNoOperand ? 0 : read_code32(wave, operands.offset_register);
}
u64 offset_of(const Wave& wave, const ScalarMemoryOperands& operands) {
  return static_cast<u64>(i64{operands.offset}) + register_offset(wave, operands);
}

struct ScalarGlobal {
  static ScalarAccess find(const Wave& wave, const ScalarMemoryOperands& operands) {
    return {(wave.pair(operands.base) + offset_of(wave, operands)) & ~u64{3}, ~u64{0}};
  }
  static ScalarAccess find_part(const Wave& wave, const ScalarMemoryOperands& operands) {
    return {wave.pair(operands.base) + offset_of(wave, operands), ~u64{0}};
  }
};

/// S_SCRATCH_*: the same, but that the register has an offset in units of 64 bytes.
struct ScalarScratch {
  static ScalarAccess find(const Wave& wave, const ScalarMemoryOperands& operands) {
    const u64 offset = static_cast<u64>(i64{operands.offset}) + 64 * register_offset(wave, operands);
    return {(wave.pair(operands.base) + offset) & ~u64{3}, ~u64{0}};
  }
};

/// A buffer's NUM_RECORDS counts bytes, or records where there is a stride. What is out of range reads as zero.
struct ScalarBuffer {
  static ScalarAccess find(const Wave& wave, const ScalarMemoryOperands& operands) {
    return at(wave, operands, offset_of(wave, operands) & ~u64{3});
  }
  static ScalarAccess find_part(const Wave& wave, const ScalarMemoryOperands& operands) {
    return at(wave, operands, offset_of(wave, operands));
  }

 private:
  static ScalarAccess at(const Wave& wave, const ScalarMemoryOperands& operands, u64 offset) {
    const u32* word = &wave.s[operands.base];
    const u64 base = u64{word[1] & 0xffffu} << 32 | word[0], stride = word[1] >> 16 & 0x3fffu;
    const u64 size = stride == 0 ? word[2] : stride * word[2];
    return {base + offset, offset < size ? size - offset : 0};
  }
};

template <class Space, int kDwords>
const Op* s_load(Wave& wave, const Op* op) {
  const ScalarAccess access = Space::find(wave, op->scalar_memory);
  const AddressSpan span = access.first(sizeof(u32) * kDwords);
  u32 words[kDwords] = {};
  if (wave.group->covers_memory(span, false)) [[likely]] {
    std::memcpy(words, reinterpret_cast<const void*>(span.begin()), span.size());
  } else {
    wave.group->read_memory(span, words, -1);
  }
  for (int i = 0; i < kDwords; ++i) write_scalar32(wave, op->scalar_memory.data + i, words[i]);
  return next(op);
}

/// GFX12: less than a dword, from anywhere.
template <class Space, class T>
const Op* s_load_part(Wave& wave, const Op* op) {
  T value{};
  const ScalarAccess access = Space::find_part(wave, op->scalar_memory);
  if (access.bytes >= sizeof(value)) wave.group->read_memory({access.address, sizeof(value)}, &value, -1);
  write_scalar32(wave, op->scalar_memory.data, static_cast<u32>(static_cast<i32>(value)));
  return next(op);
}

template <class Space, int kDwords>
const Op* s_store(Wave& wave, const Op* op) {
  const ScalarAccess access = Space::find(wave, op->scalar_memory);
  const AddressSpan span = access.first(sizeof(u32) * kDwords);
  if (!span.is_empty()) wave.group->write_memory(span, &wave.s[op->scalar_memory.data], -1);
  return go_on(wave, op);
}

template <class Space, auto kModify>
const Op* s_atomic(Wave& wave, const Op* op) {
  using T = typename Atomic<kModify>::Value;
  const ScalarAccess access = Space::find(wave, op->scalar_memory);
  T data[2] = {}, old{};
  std::memcpy(data, &wave.s[op->scalar_memory.data], Atomic<kModify>::kHasTwo ? sizeof(data) : sizeof(T));
  if (access.bytes >= sizeof(T)) {
    const AddressSpan span(access.address, sizeof(T));
    const AtomicTarget target = wave.group->atomic_memory(Atomic<kModify>::access(span, data[0], data[1], -1));
    old = Atomic<kModify>::apply(wave, target, data[0], data[1], -1);
  }
  if (op->scalar_memory.returns) std::memcpy(&wave.s[op->scalar_memory.data], &old, sizeof(T));
  return next(op);
}

template <u64 (LaunchState::*kTime)() const>
const Op* s_time(Wave& wave, const Op* op) {
  wave.set_pair(op->scalar_memory.data, (wave.group->launch().*kTime)());
  return go_on(wave, op);
}

constexpr Body kBodies[] = {
    {"s_load_dword", s_load<ScalarGlobal, 1>},
    {"s_load_dwordx2", s_load<ScalarGlobal, 2>},
    {"s_load_dwordx3", s_load<ScalarGlobal, 3>},
    {"s_load_dwordx4", s_load<ScalarGlobal, 4>},
    {"s_load_dwordx8", s_load<ScalarGlobal, 8>},
    {"s_load_dwordx16", s_load<ScalarGlobal, 16>},
    {"s_load_u8", s_load_part<ScalarGlobal, u8>},
    {"s_load_i8", s_load_part<ScalarGlobal, i8>},
    {"s_load_u16", s_load_part<ScalarGlobal, u16>},
    {"s_load_i16", s_load_part<ScalarGlobal, i16>},
    {"s_buffer_load_u8", s_load_part<ScalarBuffer, u8>},
    {"s_buffer_load_i8", s_load_part<ScalarBuffer, i8>},
    {"s_buffer_load_u16", s_load_part<ScalarBuffer, u16>},
    {"s_buffer_load_i16", s_load_part<ScalarBuffer, i16>},
    {"s_buffer_load_dword", s_load<ScalarBuffer, 1>},
    {"s_buffer_load_dwordx2", s_load<ScalarBuffer, 2>},
    {"s_buffer_load_dwordx3", s_load<ScalarBuffer, 3>},
    {"s_buffer_load_dwordx4", s_load<ScalarBuffer, 4>},
    {"s_buffer_load_dwordx8", s_load<ScalarBuffer, 8>},
    {"s_buffer_load_dwordx16", s_load<ScalarBuffer, 16>},
    {"s_store_dword", s_store<ScalarGlobal, 1>},
    {"s_store_dwordx2", s_store<ScalarGlobal, 2>},
    {"s_store_dwordx4", s_store<ScalarGlobal, 4>},
    {"s_buffer_store_dword", s_store<ScalarBuffer, 1>},
    {"s_buffer_store_dwordx2", s_store<ScalarBuffer, 2>},
    {"s_buffer_store_dwordx4", s_store<ScalarBuffer, 4>},
    {"s_scratch_load_dword", s_load<ScalarScratch, 1>},
    {"s_scratch_load_dwordx2", s_load<ScalarScratch, 2>},
    {"s_scratch_load_dwordx4", s_load<ScalarScratch, 4>},
    {"s_scratch_store_dword", s_store<ScalarScratch, 1>},
    {"s_scratch_store_dwordx2", s_store<ScalarScratch, 2>},
    {"s_scratch_store_dwordx4", s_store<ScalarScratch, 4>},
    WAVE_INTEGER_ATOMICS("s", s_atomic, ScalarGlobal),
    WAVE_INTEGER_ATOMICS("s_buffer", s_atomic, ScalarBuffer),
    {"s_memtime", s_time<&LaunchState::cycles>},
    {"s_memrealtime", s_time<&LaunchState::ticks>},
    {"s_dcache_inv", nothing},
    {"s_dcache_inv_vol", nothing},
    {"s_dcache_wb", nothing},
    {"s_dcache_wb_vol", nothing},
    {"s_dcache_discard", nothing},
    {"s_dcache_discard_x2", nothing},
    {"s_prefetch_inst", nothing},
    {"s_prefetch_inst_pc_rel", nothing},
    {"s_prefetch_data", nothing},
    {"s_prefetch_data_pc_rel", nothing},
    {"s_buffer_prefetch_data", nothing},
    {"s_atc_probe", nothing},
    {"s_atc_probe_buffer", nothing},
};

}  // namespace

std::span<const Body> scalar_memory_bodies() { return kBodies; }

}  // namespace wave::emulator
