// Global, flat and scratch memory (ISA document, "Flat Memory Instructions").
//
// Operands of an Op: src[0] is the row of the address (or kNoOperand), src[1] the row of the data, src[2] the scalar
// address (or kNoOperand), imm the signed offset, dst the row of the result.
#include <algorithm>
#include <cstring>
#include <iterator>

#include "base/error.h"
#include "emulator/atomics.h"
#include "emulator/bodies.h"
#include "emulator/workgroup.h"

#define WAVE_SOURCE "emulator/exec_vector_memory.cpp"
#include "emulator/each_simd_level.h"
#include "emulator/vector_memory.inl"

namespace wave::emulator::WAVE_SIMD {

namespace {

/// GLOBAL: a 64-bit vector address, or a scalar address and a 32-bit vector offset.
struct Global : GlobalMemory {
  static bool find(const Wave& wave, const Op* op, Addresses<u64>& addresses) {
    const u64 offset = sign_extend(op->imm);
    const Row* row = &wave.v[op->src[0]];
    if (op->src[2] == kNoOperand) {
      for (int i = 0; i < kLanes; ++i) addresses.lane[i] = (u64{row[1].lane[i]} << 32 | row[0].lane[i]) + offset;
    } else {
      const u64 base = wave.pair(op->src[2]) + offset;
      for (int i = 0; i < kLanes; ++i) addresses.lane[i] = base + row->lane[i];
    }
    return addresses.find_range(wave.exec_lanes);
  }
};

/// SCRATCH: each lane has bytes of its own, from address 0 on.
struct Scratch {
  using Address = u64;
  static bool find(const Wave& wave, const Op* op, Addresses<u64>& addresses) {
    const u64 base = sign_extend(op->imm) + (op->src[2] == kNoOperand ? 0 : wave.s[op->src[2]]);
    const Row* row = op->src[0] == kNoOperand ? nullptr : &wave.v[op->src[0]];
    for (int i = 0; i < kLanes; ++i) addresses.lane[i] = static_cast<u32>(base + (row == nullptr ? 0 : row->lane[i]));
    return addresses.find_range(wave.exec_lanes);
  }
  static bool covers(const Wave&, const Addresses<u64>&, u32, bool) { return false; }   // not memory that lanes share
  static u8* host(const Wave&, u64 address) { return reinterpret_cast<u8*>(address); }  // not called
  static void read(Wave& wave, u64 address, void* to, u32 size, int lane) {
    std::memcpy(to, at(wave, address, size, "a load of ", lane), size);
  }
  static void write(Wave& wave, u64 address, const void* from, u32 size, int lane) {
    std::memcpy(at(wave, address, size, "a store of ", lane), from, size);
  }
  static u8* atomic(Wave& wave, u64 address, u32 size, int lane) {
    check_atomic(address, size, lane);
    return at(wave, address, size, "an atomic access of ", lane);
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

/// FLAT: a 64-bit address that is in LDS or scratch where its upper half says so. Those apertures are in no region of
/// the launch's memory, so addresses that it covers need no look at them.
struct Flat : Global {
  static void read(Wave& wave, u64 address, void* to, u32 size, int lane) {
    if (in(kPrivateAperture, address)) return Scratch::read(wave, address - kPrivateAperture, to, size, lane);
    if (in(kSharedAperture, address)) return LdsMemory::read(wave, address - kSharedAperture, to, size, lane);
    Global::read(wave, address, to, size, lane);
  }
  static void write(Wave& wave, u64 address, const void* from, u32 size, int lane) {
    if (in(kPrivateAperture, address)) return Scratch::write(wave, address - kPrivateAperture, from, size, lane);
    if (in(kSharedAperture, address)) return LdsMemory::write(wave, address - kSharedAperture, from, size, lane);
    Global::write(wave, address, from, size, lane);
  }
  static u8* atomic(Wave& wave, u64 address, u32 size, int lane) {
    if (in(kPrivateAperture, address)) return Scratch::atomic(wave, address - kPrivateAperture, size, lane);
    if (in(kSharedAperture, address)) return LdsMemory::atomic(wave, address - kSharedAperture, size, lane);
    return Global::atomic(wave, address, size, lane);
  }

 private:
  static bool in(u64 aperture, u64 address) { return address - aperture < kApertureSize; }
};

constexpr Body kBodies[] = {
    WAVE_LOADS_AND_STORES("global", load, store, Global),
    WAVE_LOADS_AND_STORES("flat", load, store, Flat),
    WAVE_LOADS_AND_STORES("scratch", load, store, Scratch),
    {"global_load_lds_ubyte", load_lds<Global, u8>},
    {"global_load_lds_sbyte", load_lds<Global, i8>},
    {"global_load_lds_ushort", load_lds<Global, u16>},
    {"global_load_lds_sshort", load_lds<Global, i16>},
    {"global_load_lds_dword", load_lds<Global, u32>},
    {"scratch_load_lds_ubyte", load_lds<Scratch, u8>},
    {"scratch_load_lds_sbyte", load_lds<Scratch, i8>},
    {"scratch_load_lds_ushort", load_lds<Scratch, u16>},
    {"scratch_load_lds_sshort", load_lds<Scratch, i16>},
    {"scratch_load_lds_dword", load_lds<Scratch, u32>},
    WAVE_INTEGER_ATOMICS("global", atomic, Global),
    WAVE_INTEGER_ATOMICS("flat", atomic, Flat),
    WAVE_FLOAT_ATOMICS("global", atomic, Global),
    WAVE_FLOAT_ATOMICS("flat", atomic, Flat),
};

}  // namespace

std::span<const Body> vector_memory_bodies() { return kBodies; }

}  // namespace wave::emulator::WAVE_SIMD
