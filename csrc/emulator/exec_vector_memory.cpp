// Global, flat and scratch memory (ISA document, "Flat Memory Instructions").
//
// Operands of an Op: src[0] is the row of the address (or kNoOperand), src[1] the row of the data, src[2] the scalar
// address (or kNoOperand), imm the signed offset, dst the row of the result.
#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "emulator/bodies.h"
#include "emulator/workgroup.h"

namespace wave::emulator {

namespace {

bool enabled(const Wave& wave, int lane) { return wave.exec_lanes.lane[lane] != 0; }
u64 offset_of(const Op* op) { return static_cast<u64>(static_cast<i64>(static_cast<i32>(op->imm))); }
const Memory& memory_of(const Wave& wave) { return wave.group->launch().memory(); }

/// The addresses that the lanes access, and the range that those of the enabled lanes span.
struct Addresses {
  u64 lane[kLanes];
  u64 low = ~u64{0};
  u64 high = 0;  ///< of the first byte of the last access

  void find_range(const Wave& wave) {
    for (int i = 0; i < kLanes; ++i) {
      const u64 mask = static_cast<u64>(static_cast<i64>(static_cast<i32>(wave.exec_lanes.lane[i])));
      low = std::min(low, lane[i] | ~mask);
      high = std::max(high, lane[i] & mask);
    }
  }
};

/// GLOBAL: a 64-bit vector address, or a scalar address and a 32-bit vector offset.
struct Global {
  static void find_addresses(const Wave& wave, const Op* op, Addresses& addresses) {
    const u64 offset = offset_of(op);
    const Row* row = &wave.v[op->src[0]];
    if (op->src[2] == kNoOperand) {
      for (int i = 0; i < kLanes; ++i) addresses.lane[i] = (u64{row[1].lane[i]} << 32 | row[0].lane[i]) + offset;
    } else {
      const u64 base = wave.pair(op->src[2]) + offset;
      for (int i = 0; i < kLanes; ++i) addresses.lane[i] = base + row->lane[i];
    }
    addresses.find_range(wave);
  }
  static bool covers(const Wave& wave, const Addresses& addresses, u32 size, bool write) {
    return memory_of(wave).covers(addresses.low, addresses.high + size, write);
  }
  static void read(Wave& wave, u64 address, void* to, u32 size, int lane) {
    memory_of(wave).read(address, to, size, lane);
  }
  static void write(Wave& wave, u64 address, const void* from, u32 size, int lane) {
    memory_of(wave).write(address, from, size, lane);
  }
};

/// SCRATCH: each lane has bytes of its own, from address 0 on.
struct Scratch {
  static void find_addresses(const Wave& wave, const Op* op, Addresses& addresses) {
    const u64 base = offset_of(op) + (op->src[2] == kNoOperand ? 0 : wave.s[op->src[2]]);
    const Row* row = op->src[0] == kNoOperand ? nullptr : &wave.v[op->src[0]];
    for (int i = 0; i < kLanes; ++i) addresses.lane[i] = static_cast<u32>(base + (row == nullptr ? 0 : row->lane[i]));
  }
  static bool covers(const Wave&, const Addresses&, u32, bool) { return false; }  // not memory that lanes share
  static void read(Wave& wave, u64 address, void* to, u32 size, int lane) {
    std::memcpy(to, at(wave, address, size, "a load of ", lane), size);
  }
  static void write(Wave& wave, u64 address, const void* from, u32 size, int lane) {
    std::memcpy(at(wave, address, size, "a store of ", lane), from, size);
  }

 private:
  static u8* at(Wave& wave, u64 address, u32 size, const char* verb, int lane) {
    if (address + size > wave.scratch_size) {
      fault_at(text(verb, size, " bytes of scratch, of which a work-item has ", wave.scratch_size, " bytes"), lane,
               address);
    }
    return wave.scratch + static_cast<u64>(lane) * wave.scratch_size + address;
  }
};

/// FLAT: a 64-bit address that is in LDS or scratch where its upper half says so.
struct Flat : Global {
  static bool covers(const Wave& wave, const Addresses& addresses, u32 size, bool write) {
    return Global::covers(wave, addresses, size, write);  // the apertures are in no region
  }
  static void read(Wave& wave, u64 address, void* to, u32 size, int lane) {
    if (in(kPrivateAperture, address)) return Scratch::read(wave, address - kPrivateAperture, to, size, lane);
    if (in(kSharedAperture, address)) return wave.group->read_lds(address - kSharedAperture, to, size, lane);
    Global::read(wave, address, to, size, lane);
  }
  static void write(Wave& wave, u64 address, const void* from, u32 size, int lane) {
    if (in(kPrivateAperture, address)) return Scratch::write(wave, address - kPrivateAperture, from, size, lane);
    if (in(kSharedAperture, address)) return wave.group->write_lds(address - kSharedAperture, from, size, lane);
    Global::write(wave, address, from, size, lane);
  }

 private:
  static bool in(u64 aperture, u64 address) { return address - aperture < kApertureSize; }
};

/// Loads T for each enabled lane into kDwords rows: T is u32, or a narrower type that is extended.
template <class Space, class T, int kDwords>
const Op* load(Wave& wave, const Op* op) {
  constexpr u32 kSize = sizeof(T) * kDwords;
  if (wave.exec() == 0) return op + op->size;
  Addresses addresses;
  Space::find_addresses(wave, op, addresses);
  Row* rows = &wave.v[op->dst];
  const bool covered = Space::covers(wave, addresses, kSize, false);
  for (int i = 0; i < kLanes; ++i) {
    if (!enabled(wave, i)) continue;
    T value[kDwords];
    if (covered) [[likely]] {
      std::memcpy(value, reinterpret_cast<const void*>(addresses.lane[i]), kSize);
    } else {
      Space::read(wave, addresses.lane[i], value, kSize, i);
    }
    for (int k = 0; k < kDwords; ++k) rows[k].lane[i] = static_cast<u32>(static_cast<i32>(value[k]));
  }
  return op + op->size;
}

/// Stores kDwords rows as T for each enabled lane, from bit kShift on.
template <class Space, class T, int kDwords, int kShift = 0>
const Op* store(Wave& wave, const Op* op) {
  constexpr u32 kSize = sizeof(T) * kDwords;
  if (wave.exec() == 0) return op + op->size;
  Addresses addresses;
  Space::find_addresses(wave, op, addresses);
  const Row* rows = &wave.v[op->src[1]];
  const bool covered = Space::covers(wave, addresses, kSize, true);
  for (int i = 0; i < kLanes; ++i) {
    if (!enabled(wave, i)) continue;
    T value[kDwords];
    for (int k = 0; k < kDwords; ++k) value[k] = static_cast<T>(rows[k].lane[i] >> kShift);
    if (covered) [[likely]] {
      std::memcpy(reinterpret_cast<void*>(addresses.lane[i]), value, kSize);
    } else {
      Space::write(wave, addresses.lane[i], value, kSize, i);
    }
  }
  return op + op->size;
}

u32 atomic_add(u32& memory, u32 value) { return __atomic_fetch_add(&memory, value, __ATOMIC_RELAXED); }

/// A read-modify-write of 32 bits for each enabled lane, in lane order.
template <u32 (*kModify)(u32&, u32)>
const Op* global_atomic(Wave& wave, const Op* op) {
  Addresses addresses;
  Global::find_addresses(wave, op, addresses);
  for (int i = 0; i < kLanes; ++i) {
    if (!enabled(wave, i)) continue;
    u32* target = reinterpret_cast<u32*>(memory_of(wave).atomic(addresses.lane[i], sizeof(u32), i));
    const u32 old = kModify(*target, wave.v[op->src[1]].lane[i]);
    if (op->flags & kReturns) wave.v[op->dst].lane[i] = old;
  }
  return op + op->size;
}

constexpr Body kBodies[] = {
    {"global_load_ubyte", load<Global, u8, 1>},       {"global_load_sbyte", load<Global, i8, 1>},
    {"global_load_ushort", load<Global, u16, 1>},     {"global_load_sshort", load<Global, i16, 1>},
    {"global_load_dword", load<Global, u32, 1>},      {"global_load_dwordx2", load<Global, u32, 2>},
    {"global_load_dwordx3", load<Global, u32, 3>},    {"global_load_dwordx4", load<Global, u32, 4>},
    {"global_store_byte", store<Global, u8, 1>},      {"global_store_byte_d16_hi", store<Global, u8, 1, 16>},
    {"global_store_short", store<Global, u16, 1>},    {"global_store_short_d16_hi", store<Global, u16, 1, 16>},
    {"global_store_dword", store<Global, u32, 1>},    {"global_store_dwordx2", store<Global, u32, 2>},
    {"global_store_dwordx3", store<Global, u32, 3>},  {"global_store_dwordx4", store<Global, u32, 4>},
    {"global_atomic_add", global_atomic<atomic_add>}, {"flat_load_dword", load<Flat, u32, 1>},
    {"flat_store_dword", store<Flat, u32, 1>},        {"scratch_load_dword", load<Scratch, u32, 1>},
    {"scratch_store_dword", store<Scratch, u32, 1>},
};

}  // namespace

std::span<const Body> vector_memory_bodies() { return kBodies; }

}  // namespace wave::emulator
