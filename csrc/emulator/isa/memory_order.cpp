#include "emulator/isa/memory_order.h"

#include "emulator/isa/operand.h"

namespace wave::isa {

namespace {

constexpr uint32_t kDeviceScope = 2;  ///< of SCOPE: SCOPE_DEV, and above it SCOPE_SYS

/// BUFFER_INV and BUFFER_WBL2 with SC1 are of agent scope or beyond; without they are for the compute unit alone.
CacheControl control_gfx9(const Instruction& instruction) {
  constexpr uint16_t kWriteBack = 0x28, kInvalidate = 0x29, kInvalidateL1 = 0x3e, kInvalidateL1Volatile = 0x3f;
  const uint16_t opcode = instruction.row->opcode;
  if (precedes_gfx940(*instruction.row)) return {false, opcode == kInvalidateL1 || opcode == kInvalidateL1Volatile};
  if (instruction.row->format != Format::MUBUF || instruction[Field::SC1] == 0) return {};
  return {opcode == kWriteBack, opcode == kInvalidate};
}

/// BUFFER_GL0_INV is for the workgroup, BUFFER_GL1_INV for the device (LLVM AMDGPU usage guide, "Memory Model
/// GFX10-GFX11").
CacheControl control_gfx10(const Instruction& instruction) {
  constexpr uint16_t kInvalidateGl1 = 0x72;
  return {false, instruction.row->format == Format::MUBUF && instruction.row->opcode == kInvalidateGl1};
}

CacheControl control_gfx11(const Instruction& instruction) {
  constexpr uint16_t kInvalidateGl1 = 0x2c;
  return {false, instruction.row->format == Format::MUBUF && instruction.row->opcode == kInvalidateGl1};
}

CacheControl control_gfx12(const Instruction& instruction) {
  constexpr uint16_t kInvalidate = 0x2b, kWriteBack = 0x2c, kBoth = 0x4f;
  if (instruction.row->format != Format::GLOBAL || instruction[Field::SCOPE] < kDeviceScope) return {};
  const uint16_t opcode = instruction.row->opcode;
  return {opcode == kWriteBack || opcode == kBoth, opcode == kInvalidate || opcode == kBoth};
}

}  // namespace

CacheControl cache_control(const Instruction& instruction) {
  const Row& row = *instruction.row;
  if (row.kind != Kind::VectorMemory || row.memory.direction != MemoryAccess::Direction::None) return {};
  switch (row.generation) {
    case Generation::GFX9:
      return control_gfx9(instruction);
    case Generation::GFX10:
      return control_gfx10(instruction);
    case Generation::GFX11:
      return control_gfx11(instruction);
    case Generation::GFX12:
      return control_gfx12(instruction);
  }
  return {};
}

bool must_write_back(const Row& row) { return row.generation == Generation::GFX9 && !precedes_gfx940(row); }

bool has_equal_stores(const Row& row) {
  return row.generation == Generation::GFX10 || row.generation == Generation::GFX11 || precedes_gfx940(row);
}

bool is_coherent(const Instruction& instruction) {
  const Row& row = *instruction.row;
  if (row.memory.direction == MemoryAccess::Direction::Atomic) return true;
  if (row.memory.direction == MemoryAccess::Direction::Store && has_equal_stores(row)) return true;
  switch (row.generation) {
    case Generation::GFX9:
      return instruction[precedes_gfx940(row) ? Field::SC0 : Field::SC1] != 0;
    case Generation::GFX10:
    case Generation::GFX11:
      return instruction[Field::GLC] != 0;
    case Generation::GFX12:
      return instruction[Field::SCOPE] >= kDeviceScope;
  }
  return false;
}

}  // namespace wave::isa
