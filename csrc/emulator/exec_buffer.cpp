// Buffer memory: MUBUF without formats (ISA document, "Vector Memory Buffer Instructions").
#include <algorithm>
#include <cstring>
#include <iterator>

#include "emulator/atomics.h"
#include "emulator/bodies.h"
#include "emulator/buffer.h"
#include "emulator/observer.h"
#include "emulator/workgroup.h"

#define WAVE_SOURCE "emulator/exec_buffer.cpp"
#include "emulator/each_simd_level.h"
#include "emulator/vector_memory.inl"

namespace wave::emulator::WAVE_SIMD {

namespace {

/// What a descriptor leads to: global memory, and through the private segment buffer a wave's scratch. That window is
/// in no region of the launch's memory, so addresses that it covers need no look at it.
struct BufferMemory : GlobalMemory {
  static void read(Wave& wave, AddressSpan span, void* to, int lane) {
    if (is_scratch(wave, span)) {
      std::memcpy(to, scratch(wave, span, ScratchAccess::Load, lane), span.size());
    } else {
      GlobalMemory::read(wave, span, to, lane);
    }
  }
  static void write(Wave& wave, AddressSpan span, const void* from, int lane) {
    if (is_scratch(wave, span)) {
      std::memcpy(scratch(wave, span, ScratchAccess::Store, lane), from, span.size());
    } else {
      GlobalMemory::write(wave, span, from, lane);
    }
  }
  static AtomicTarget atomic(Wave& wave, const AtomicAccess& access) {
    if (!is_scratch(wave, access.span)) return GlobalMemory::atomic(wave, access);
    check_atomic(access.span, access.lane);
    return {scratch(wave, access.span, ScratchAccess::Atomic, access.lane)};
  }

 private:
  /// Of processors whose kernels are given the buffer; elsewhere the window is no memory.
  static bool is_scratch(const Wave& wave, AddressSpan span) {
    return AddressSpan(kScratchWindow, kApertureSize * kLanes).contains(span.begin()) &&
           wave.group->launch().module.processor().kernels_set_up_scratch;
  }
  /// Dwords of the lanes lie side by side; what begins within one goes on in the lane's next, as compilers count on.
  static u8* scratch(Wave& wave, AddressSpan span, ScratchAccess access, int lane) {
    const u64 row_size = wave.lanes * sizeof(u32);
    const u64 at = span.begin() - kScratchWindow, row = at / row_size, byte = at % sizeof(u32);
    if (at % row_size / sizeof(u32) != static_cast<u64>(lane)) {
      fault_at(text(verb(access), span.size(), " bytes of another lane's scratch"), lane, span.begin(),
               "out-of-bounds");
    }
    return wave.group->scratch(wave, {row * sizeof(u32) + byte, span.size()}, access, lane);
  }
};

/// The lanes of a buffer instruction that accesses `size` bytes: those whose bytes lie in range and together, those of
/// which that is to be found out dword by dword, and those that are out of range.
struct BufferLanes {
  [[gnu::noinline]] BufferLanes(const Wave& wave, const BufferOperands& operands, const BufferRules& rules, u32 size)
      : buffer(wave, operands, rules), rows(&wave.v[operands.address]) {
    if (buffer.checks_bytes && !buffer.indexed && !buffer.add_lane && !buffer.swizzled) {
      find_by_offset(wave, size);
    } else {
      find_by_index(wave, size);
    }
    u32 others = 0, some = 0;
    for (int i = 0; i < kLanes; ++i) {
      others |= wave.exec_lanes.lane[i] & ~within.lane[i];
      some |= partly.lane[i];
    }
    any_others = others != 0;
    any_within = addresses.find_range(within, any_others ? 0 : count_of_first(wave.exec()));
    any_partly = some != 0;
  }

  /// Takes lanes as a whole, or not at all: those of which `size` bytes are in range are within. False where none are.
  [[gnu::noinline]] bool take_whole(const Wave& wave, u32 size) {
    for (int i = 0; i < kLanes; ++i) {
      within.lane[i] = buffer.contains(index(i), byte(i), size) ? wave.exec_lanes.lane[i] : 0;
    }
    return addresses.find_range(within, 0);
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
    const u64 fixed = buffer.scalar_offset, first = std::min<u64>(size, sizeof(u32));
    const AddressSpan range(0, buffer.records);
    const bool whole = range.contains({fixed, size}), some = range.contains({fixed, first});
    const u32 last_whole = whole ? static_cast<u32>(buffer.records - fixed - size) : 0;
    const u32 last_some = some ? static_cast<u32>(buffer.records - fixed - first) : 0;
    for (int i = 0; i < kLanes; ++i) {
      const u32 offset = buffer.offset + (buffer.offset_enabled ? rows->lane[i] : 0);
      within.lane[i] = whole && offset <= last_whole ? wave.exec_lanes.lane[i] : 0;
      partly.lane[i] = some && offset <= last_some ? wave.exec_lanes.lane[i] & ~within.lane[i] : 0;
      addresses.lane[i] = buffer.base + fixed + offset;
    }
  }

  void find_by_index(const Wave& wave, u32 size) {
    const bool together = !buffer.swizzled || buffer.has_long_elements() || size <= sizeof(u32);
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
  const u64 index = lanes.index(lane), byte = lanes.byte(lane);
  const u32 at = static_cast<u32>(k) * sizeof(T);
  T value{};
  if (lanes.buffer.contains(index, byte + at, sizeof(T)))
    BufferMemory::read(wave, {lanes.buffer.address(index, byte, at), sizeof(T)}, &value, lane);
  return value;
}

template <class T>
void write_checked(Wave& wave, const BufferLanes& lanes, T value, int lane, int k) {
  const u64 index = lanes.index(lane), byte = lanes.byte(lane);
  const u32 at = static_cast<u32>(k) * sizeof(T);
  if (lanes.buffer.contains(index, byte + at, sizeof(T)))
    BufferMemory::write(wave, {lanes.buffer.address(index, byte, at), sizeof(T)}, &value, lane);
}

/// Loads kCount values of type T for each enabled lane into as many rows.
template <class T, int kCount, Part kPart>
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
  if (lanes.any_within) load_rows<BufferMemory, T, kCount, kPart>(wave, lanes.addresses, rows);
}

// What families have in common is compiled once: their bodies differ by the lanes that they hand on.

template <class T, int kCount, Part kPart>
[[gnu::noinline]] const Op* load_lanes(Wave& wave, const Op* op, const BufferLanes& lanes) {
  if (!op->buffer.to_lds) {
    buffer_load_rows<T, kCount, kPart>(wave, lanes, &wave.v[op->buffer.data]);
    return next(op);
  }
  LaneRow values[kCount] = {};
  buffer_load_rows<T, kCount, kPart>(wave, lanes, values);
  for (int i = 0; i < kLanes; ++i) {
    if (wave.exec_lanes.lane[i] != 0) write_lds_slots(wave, op->buffer.offset, values, i);
  }
  return next(op);
}

template <class T, int kCount, Part kPart>
[[gnu::noinline]] const Op* store_lanes(Wave& wave, const Op* op, const BufferLanes& lanes) {
  const LaneRow* rows = &wave.v[op->buffer.data];
  if (lanes.any_within) store_rows<BufferMemory, T, kCount, kPart>(wave, lanes.addresses, rows);
  for (int i = 0; lanes.any_partly && i < kLanes; ++i) {
    if (lanes.partly.lane[i] == 0) continue;
    for (int k = 0; k < kCount; ++k) {
      write_checked(wave, lanes, static_cast<T>(get_part<kPart>(rows[k].lane[i])), i, k);
    }
  }
  return next(op);
}

/// Atomics are in range as a whole or not at all, and at the address of their first byte.
template <auto kModify>
[[gnu::noinline]] const Op* modify_lanes(Wave& wave, const Op* op, BufferLanes& lanes) {
  using T = typename Atomic<kModify>::Value;
  LaneRow* data = &wave.v[op->buffer.data];
  if (lanes.take_whole(wave, sizeof(T))) {
    modify_rows<BufferMemory, kModify>(wave, lanes.addresses, data, second_operand<kModify>(data),
                                       op->buffer.returns ? data : nullptr);
  }
  for (int i = 0; i < kLanes; ++i) {
    const bool outside = (wave.exec_lanes.lane[i] & ~lanes.within.lane[i]) != 0;
    if (outside && op->buffer.returns) set_value(data, T{}, i);
  }
  return next(op);
}

template <BufferRules kRules, class T, int kCount = 1, Part kPart = Part::Whole>
const Op* buffer_load(Wave& wave, const Op* op) {
  return load_lanes<T, kCount, kPart>(wave, op, BufferLanes(wave, op->buffer, kRules, sizeof(T) * kCount));
}
template <BufferRules kRules, class T, int kCount = 1, Part kPart = Part::Whole>
const Op* buffer_store(Wave& wave, const Op* op) {
  return store_lanes<T, kCount, kPart>(wave, op, BufferLanes(wave, op->buffer, kRules, sizeof(T) * kCount));
}
/// A dword of LDS for each lane, from where loads to LDS put it.
const Op* buffer_store_lds(Wave& wave, const Op* op) {
  const BufferLanes lanes(wave, op->buffer, kGfx9Buffers, sizeof(u32));
  LaneRow values{};
  for (int i = 0; i < kLanes; ++i) {
    if (lanes.within.lane[i] == 0) continue;
    wave.group->read_lds(lds_slot(wave, op->buffer.offset, i, 1), &values.lane[i], i);
  }
  if (lanes.any_within) store_rows<BufferMemory, u32, 1, Part::Whole>(wave, lanes.addresses, &values);
  return next(op);
}

template <BufferRules kRules, auto kModify>
const Op* buffer_atomic(Wave& wave, const Op* op) {
  BufferLanes lanes(wave, op->buffer, kRules, sizeof(typename Atomic<kModify>::Value));
  return modify_lanes<kModify>(wave, op, lanes);
}

// clang-format off
#define WAVE_RDNA_BUFFERS(prefix, kRules)                                      \
  WAVE_LOADS_AND_STORES(prefix, buffer_load, buffer_store, kRules),            \
  WAVE_HALF_LOADS(prefix, "", buffer_load, kRules, Part::Low, Part::High),     \
  WAVE_INTEGER_ATOMICS(prefix, buffer_atomic, kRules),                         \
  {prefix "_atomic_sub_clamp_u32", buffer_atomic<kRules, atomics::sub_clamp>}
// clang-format on

constexpr Body kBodies[] = {
    WAVE_LOADS_AND_STORES("buffer", buffer_load, buffer_store, kGfx9Buffers),
    WAVE_HALF_LOADS("buffer", "_alone", buffer_load, kGfx9Buffers, Part::LowAlone, Part::HighAlone),
    WAVE_INTEGER_ATOMICS("buffer", buffer_atomic, kGfx9Buffers),
    WAVE_FLOAT_ATOMICS("buffer", buffer_atomic, kGfx9Buffers),
    {"buffer_atomic_add_f32", buffer_atomic<kGfx9Buffers, atomics::add<f32>>},
    {"buffer_atomic_pk_add_bf16", buffer_atomic<kGfx9Buffers, atomics::pk_add_bf16>},
    {"buffer_atomic_add_f32_without_denormals", buffer_atomic<kGfx9Buffers, atomics::add_without_denormals>},
    {"buffer_store_lds_dword", buffer_store_lds},
    WAVE_RDNA_BUFFERS("buffer_gfx10", kGfx10Buffers),
    {"buffer_gfx10_atomic_min_f32", buffer_atomic<kGfx10Buffers, atomics::min<f32>>},
    {"buffer_gfx10_atomic_max_f32", buffer_atomic<kGfx10Buffers, atomics::max<f32>>},
    {"buffer_gfx10_atomic_cmpswap_f32", buffer_atomic<kGfx10Buffers, atomics::cmpswap<f32>>},
    {"buffer_gfx10_atomic_cmpswap_f64", buffer_atomic<kGfx10Buffers, atomics::cmpswap<f64>>},
    {"buffer_gfx10_atomic_min_f64", buffer_atomic<kGfx10Buffers, atomics::min<f64>>},
    {"buffer_gfx10_atomic_max_f64", buffer_atomic<kGfx10Buffers, atomics::max<f64>>},
    WAVE_RDNA_BUFFERS("buffer_gfx11", kGfx11Buffers),
    {"buffer_gfx11_atomic_min_f32", buffer_atomic<kGfx11Buffers, atomics::min<f32>>},
    {"buffer_gfx11_atomic_max_f32", buffer_atomic<kGfx11Buffers, atomics::max<f32>>},
    {"buffer_gfx11_atomic_add_f32", buffer_atomic<kGfx11Buffers, atomics::add<f32>>},
    {"buffer_gfx11_atomic_cmpswap_f32", buffer_atomic<kGfx11Buffers, atomics::cmpswap<f32>>},
    WAVE_RDNA_BUFFERS("buffer_gfx12", kGfx12Buffers),
    {"buffer_gfx12_atomic_min_num_f32", buffer_atomic<kGfx12Buffers, atomics::min_num<f32>>},
    {"buffer_gfx12_atomic_max_num_f32", buffer_atomic<kGfx12Buffers, atomics::max_num<f32>>},
    {"buffer_gfx12_atomic_add_f32", buffer_atomic<kGfx12Buffers, atomics::add<f32>>},
    {"buffer_gfx12_atomic_cond_sub_u32", buffer_atomic<kGfx12Buffers, atomics::cond_sub>},
    {"buffer_gfx12_atomic_pk_add_f16", buffer_atomic<kGfx12Buffers, atomics::pk_add_f16>},
    {"buffer_gfx12_atomic_pk_add_bf16", buffer_atomic<kGfx12Buffers, atomics::pk_add_bf16>},
    {"buffer_wbl2", order_memory},
    {"buffer_inv", order_memory},
};

}  // namespace

std::span<const Body> buffer_bodies() { return kBodies; }

}  // namespace wave::emulator::WAVE_SIMD
