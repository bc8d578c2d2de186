// What of an instruction orders memory between waves: scopes, and what is done to caches (LLVM AMDGPU usage guide,
// "Memory Model" of gfx90a, gfx942, gfx10, gfx11 and gfx12).
#pragma once

#include "emulator/isa/isa.h"

namespace wave::isa {

/// What becomes of caches, as far as workgroups on other compute units can tell.
struct CacheControl {
  bool writes_back = false;  ///< BUFFER_WBL2, GLOBAL_WB
  bool invalidates = false;  ///< BUFFER_INV, BUFFER_GL1_INV, GLOBAL_INV
};

CacheControl cache_control(const Instruction& instruction);

/// Whether a release at agent scope takes an instruction that writes back: else waits are enough.
bool must_write_back(const Row& row);

/// Whether a load or store goes past what a compute unit caches for itself, as atomic ones of agent scope or beyond do,
/// and volatile ones. Instructions that modify memory always do.
bool is_coherent(const Instruction& instruction);

/// Whether atomic stores of agent scope look like all others, so that is_coherent() is true of all stores.
bool has_equal_stores(const Row& row);

}  // namespace wave::isa
