// Scalar memory loads (ISA document, "SMEM Instructions").
#include <cstring>

#include "emulator/bodies.h"
#include "emulator/scalar.h"
#include "emulator/workgroup.h"

namespace wave::emulator {

namespace {

/// s_load_dword*: src[0] is the base pair, src[1] the offset register or kNoOperand, imm the signed offset.
template <int kDwords>
const Op* s_load(Wave& wave, const Op* op) {
  u64 address = wave.pair(op->src[0]) + static_cast<u64>(static_cast<i64>(static_cast<i32>(op->imm)));
  if (op->src[1] != kNoOperand) address += read_scalar32(wave, op, 1);
  address &= ~u64{3};
  u32 words[kDwords];
  const Memory& memory = wave.group->launch().memory();
  if (memory.covers(address, address + sizeof(words), false)) [[likely]] {
    std::memcpy(words, reinterpret_cast<const void*>(address), sizeof(words));
  } else {
    memory.read(address, words, sizeof(words), -1);
  }
  for (int i = 0; i < kDwords; ++i) write_scalar32(wave, op->dst + i, words[i]);
  return op + op->size;
}

constexpr Body kBodies[] = {
    {"s_load_dword", s_load<1>},   {"s_load_dwordx2", s_load<2>},   {"s_load_dwordx4", s_load<4>},
    {"s_load_dwordx8", s_load<8>}, {"s_load_dwordx16", s_load<16>},
};

}  // namespace

std::span<const Body> scalar_memory_bodies() { return kBodies; }

}  // namespace wave::emulator
