// Which loads wait for another wave. LDS has no instructions for atomic loads and stores, and neither has memory for
// the scope of a workgroup whose waves share a cache, on most processors: a flag that is polled looks as other data do,
// but for the loop around it.
#pragma once

#include "emulator/isa/memory_order.h"
#include "emulator/wave.h"

namespace wave::emulator {

/// Whether an instruction loads again and again from one address, in a loop that stores nothing: of what is
/// neither volatile nor atomic a compiler makes no such loop. A load like it before the loop is its first turn. Or a
/// FLAT load says that it is atomic.
bool is_poll(const Wave& wave, u64 pc);

/// Whether the function that a wave is in has such instructions for LDS, or calls functions that may have some. Long
/// code is not looked at.
bool may_poll(const Wave& wave);

/// The same of loads of memory, where they may be for waves that share a cache.
bool may_poll_in_memory(const Wave& wave);

/// Whether the waves of a workgroup share a compute unit's cache, which serves them in the order in which they issue.
bool shares_cache(const Wave& wave);

/// For whom an access of memory is atomic. Where the workgroup's scope looks as none, loads that poll have it, and each
/// store may have it.
isa::Scope scope_of(const Wave& wave, const isa::Instruction& instruction, u64 pc);

/// The same, or has atomics that return what was in LDS.
bool may_acquire_in_lds(const Wave& wave);

/// Whether the function that a wave is in has a loop that reads memory by atomics and stores nothing there: what it
/// waits for another workgroup may have to do.
bool waits_for_memory(const Wave& wave);

}  // namespace wave::emulator
