// What of an instruction orders memory between waves: scopes, and what is done to caches (LLVM AMDGPU usage guide,
// "Memory Model" of gfx90a, gfx942, gfx10, gfx11 and gfx12).
#pragma once

#include "emulator/isa/isa.h"

namespace wave::isa {

/// What becomes of caches, as far as waves on other compute units can tell.
struct CacheControl {
  bool writes_back = false;         ///< BUFFER_WBL2, GLOBAL_WB
  bool invalidates_own = false;     ///< what the compute unit has for itself: BUFFER_INV, BUFFER_GL0_INV, GLOBAL_INV
  bool invalidates_shared = false;  ///< what lies behind that: the same of a wider scope, BUFFER_GL1_INV
};

CacheControl cache_control(const Instruction& instruction);

/// Whether a release at agent scope takes an instruction that writes back: else waits are enough.
bool must_write_back(const Row& row);

/// For whom an access is atomic.
enum class Scope : uint8_t { None, Workgroup, Agent };

/// Agent also where the scope is a wider one, for volatile accesses, and for instructions that modify memory. Scopes
/// that look alike count as the wider one, but Workgroup as None where nothing tells it.
Scope atomic_scope(const Instruction& instruction);

/// Whether accesses of the workgroup's scope look like all others where its waves share a compute unit's cache.
bool hides_group_scope(const Row& row);

/// Whether a load from memory says that it is atomic, for the workgroup or the agent, rather than volatile.
bool is_atomic_load(const Instruction& instruction);

/// Whether a load goes past what the compute unit has cached for itself, as atomic ones of the workgroup's scope do
/// where its waves may be on several.
bool reads_past_own_cache(const Instruction& instruction);

/// What invalidates that cache, as an assembler has it.
const char* own_invalidation_text(const Row& row);

/// Whether atomic stores of agent scope look like all others, so that atomic_scope() is Agent for all stores.
bool has_equal_stores(const Row& row);

}  // namespace wave::isa
