#include "emulator/isa/memory_order.h"

#include "emulator/isa/operand.h"

namespace wave::isa {

namespace {

/// Of SCOPE: SCOPE_CU, SCOPE_SE, SCOPE_DEV, SCOPE_SYS.
constexpr uint32_t kEngineScope = 1, kDeviceScope = 2;

}  // namespace

// On gfx942 and gfx950 BUFFER_INV and BUFFER_WBL2 with SC1 are of agent scope or beyond, BUFFER_INV with SC0 alone of
// the workgroup's. On RDNA the workgroup's scope takes BUFFER_GL0_INV, the agent's BUFFER_GL1_INV and then it (LLVM
// AMDGPU usage guide, "Memory Model GFX10-GFX11").
CacheControl cache_control(const Instruction& instruction) {
  const Row& row = *instruction.row;
  const bool writes_back = (row.traits & kWritesBack) != 0, invalidates = (row.traits & kInvalidates) != 0,
             invalidates_next = (row.traits & kInvalidatesNext) != 0;
  if (!writes_back && !invalidates && !invalidates_next) return {};
  bool is_of_group = true, is_of_agent = true;
  if (row.generation == Generation::GFX12) {
    is_of_group = instruction[Field::SCOPE] >= kEngineScope;
    is_of_agent = instruction[Field::SCOPE] >= kDeviceScope;
  } else if (must_write_back(row)) {
    is_of_agent = instruction[Field::SC1] != 0;
    is_of_group = is_of_agent || instruction[Field::SC0] != 0;
  } else {
    return {false, invalidates, invalidates_next};
  }
  return {writes_back && is_of_agent, invalidates && is_of_group, invalidates && is_of_agent};
}

bool must_write_back(const Row& row) { return row.generation == Generation::GFX9 && !row.precedes_gfx940; }

bool reads_past_own_cache(const Instruction& instruction) {
  switch (instruction.row->generation) {
    case Generation::GFX9:
      return instruction[Field::SC0] != 0 || (!instruction.row->precedes_gfx940 && instruction[Field::SC1] != 0);
    case Generation::GFX10:
    case Generation::GFX11:
      return instruction[Field::GLC] != 0;
    case Generation::GFX12:
      return instruction[Field::SCOPE] >= kEngineScope;
  }
  return false;
}

const char* own_invalidation_text(const Row& row) {
  if (row.generation == Generation::GFX9) return row.precedes_gfx940 ? "buffer_wbinvl1_vol" : "buffer_inv sc0";
  return row.generation == Generation::GFX12 ? "global_inv scope:SCOPE_SE" : "buffer_gl0_inv";
}

bool has_equal_stores(const Row& row) {
  return row.generation == Generation::GFX10 || row.generation == Generation::GFX11 || row.precedes_gfx940;
}

bool hides_group_scope(const Row& row) { return row.generation != Generation::GFX9 || row.precedes_gfx940; }

Scope atomic_scope(const Instruction& instruction) {
  const Row& row = *instruction.row;
  if (row.memory.direction == MemoryAccess::Direction::Atomic) return Scope::Agent;
  if (row.memory.direction == MemoryAccess::Direction::Store && has_equal_stores(row)) return Scope::Agent;
  const auto scope = [](uint32_t agent, uint32_t workgroup) {
    return agent != 0 ? Scope::Agent : workgroup != 0 ? Scope::Workgroup : Scope::None;
  };
  switch (row.generation) {
    case Generation::GFX9:
      if (row.precedes_gfx940) return scope(instruction[Field::SC0], 0);
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
      return !row.precedes_gfx940 && instruction[Field::SC0] != instruction[Field::SC1];
    case Generation::GFX10:
    case Generation::GFX11:
      return instruction[Field::GLC] != 0 && instruction[Field::DLC] == 0;
    case Generation::GFX12:
      return instruction[Field::SCOPE] == kEngineScope || instruction[Field::SCOPE] == kDeviceScope;
  }
  return false;
}

}  // namespace wave::isa
