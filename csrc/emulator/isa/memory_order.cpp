#include "emulator/isa/memory_order.h"

#include "emulator/isa/operand.h"

namespace wave::isa {

namespace {

/// Of SCOPE: SCOPE_CU, SCOPE_SE, SCOPE_DEV, SCOPE_SYS.
constexpr uint32_t kEngineScope = 1, kDeviceScope = 2;

/// BUFFER_INV and BUFFER_WBL2 with SC1 are of agent scope or beyond, BUFFER_INV with SC0 alone of the workgroup's.
CacheControl control_gfx9(const Instruction& instruction) {
  constexpr uint16_t kWriteBack = 0x28, kInvalidate = 0x29, kInvalidateL1 = 0x3e, kInvalidateL1Volatile = 0x3f;
  const uint16_t opcode = instruction.row->opcode;
  if (precedes_gfx940(*instruction.row)) {
    const bool invalidates = opcode == kInvalidateL1 || opcode == kInvalidateL1Volatile;
    return {false, invalidates, invalidates};
  }
  if (instruction.row->format != Format::MUBUF) return {};
  const bool is_of_agent = instruction[Field::SC1] != 0, is_of_group = is_of_agent || instruction[Field::SC0] != 0;
  return {opcode == kWriteBack && is_of_agent, opcode == kInvalidate && is_of_group,
          opcode == kInvalidate && is_of_agent};
}

/// The workgroup's scope takes BUFFER_GL0_INV, the agent's BUFFER_GL1_INV and then it (LLVM AMDGPU usage guide, "Memory
/// Model GFX10-GFX11").
CacheControl control_gfx10(const Instruction& instruction) {
  constexpr uint16_t kInvalidateGl0 = 0x71, kInvalidateGl1 = 0x72;
  const Row& row = *instruction.row;
  if (row.format != Format::MUBUF) return {};
  return {false, row.opcode == kInvalidateGl0, row.opcode == kInvalidateGl1};
}

CacheControl control_gfx11(const Instruction& instruction) {
  constexpr uint16_t kInvalidateGl0 = 0x2b, kInvalidateGl1 = 0x2c;
  const Row& row = *instruction.row;
  if (row.format != Format::MUBUF) return {};
  return {false, row.opcode == kInvalidateGl0, row.opcode == kInvalidateGl1};
}

CacheControl control_gfx12(const Instruction& instruction) {
  constexpr uint16_t kInvalidate = 0x2b, kWriteBack = 0x2c, kBoth = 0x4f;
  const uint16_t opcode = instruction.row->opcode;
  if (instruction.row->format != Format::GLOBAL) return {};
  const uint32_t scope = instruction[Field::SCOPE];
  const bool invalidates = opcode == kInvalidate || opcode == kBoth,
             writes_back = opcode == kWriteBack || opcode == kBoth;
  return {writes_back && scope >= kDeviceScope, invalidates && scope >= kEngineScope,
          invalidates && scope >= kDeviceScope};
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

bool reads_past_own_cache(const Instruction& instruction) {
  switch (instruction.row->generation) {
    case Generation::GFX9:
      return instruction[Field::SC0] != 0 || (!precedes_gfx940(*instruction.row) && instruction[Field::SC1] != 0);
    case Generation::GFX10:
    case Generation::GFX11:
      return instruction[Field::GLC] != 0;
    case Generation::GFX12:
      return instruction[Field::SCOPE] >= kEngineScope;
  }
  return false;
}

const char* own_invalidation_text(const Row& row) {
  if (row.generation == Generation::GFX9) return precedes_gfx940(row) ? "buffer_wbinvl1_vol" : "buffer_inv sc0";
  return row.generation == Generation::GFX12 ? "global_inv scope:SCOPE_SE" : "buffer_gl0_inv";
}

bool has_equal_stores(const Row& row) {
  return row.generation == Generation::GFX10 || row.generation == Generation::GFX11 || precedes_gfx940(row);
}

bool hides_group_scope(const Row& row) { return row.generation != Generation::GFX9 || precedes_gfx940(row); }

Scope atomic_scope(const Instruction& instruction) {
  const Row& row = *instruction.row;
  if (row.memory.direction == MemoryAccess::Direction::Atomic) return Scope::Agent;
  if (row.memory.direction == MemoryAccess::Direction::Store && has_equal_stores(row)) return Scope::Agent;
  const auto scope = [](uint32_t agent, uint32_t workgroup) {
    return agent != 0 ? Scope::Agent : workgroup != 0 ? Scope::Workgroup : Scope::None;
  };
  switch (row.generation) {
    case Generation::GFX9:
      if (precedes_gfx940(row)) return scope(instruction[Field::SC0], 0);
      return scope(instruction[Field::SC1], instruction[Field::SC0]);
    case Generation::GFX10:
    case Generation::GFX11:
      return scope(instruction[Field::GLC], 0);
    case Generation::GFX12:
      return scope(instruction[Field::SCOPE] >= kDeviceScope, instruction[Field::SCOPE] >= kEngineScope);
  }
  return Scope::None;
}

/// Volatile ones have both bits, or the widest scope. Those of gfx90a look like atomic ones.
bool is_atomic_load(const Instruction& instruction) {
  const Row& row = *instruction.row;
  if (row.memory.direction != MemoryAccess::Direction::Load) return false;
  switch (row.generation) {
    case Generation::GFX9:
      return !precedes_gfx940(row) && instruction[Field::SC0] != instruction[Field::SC1];
    case Generation::GFX10:
    case Generation::GFX11:
      return instruction[Field::GLC] != 0 && instruction[Field::DLC] == 0;
    case Generation::GFX12:
      return instruction[Field::SCOPE] == kEngineScope || instruction[Field::SCOPE] == kDeviceScope;
  }
  return false;
}

}  // namespace wave::isa
