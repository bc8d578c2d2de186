// Accesses of memory that are faults, and what becomes of a wave that goes on behind them.
#pragma once

#include "emulator/checks.h"
#include "emulator/op.h"

namespace wave::emulator {

/// Whether a fault is one of an access of memory, behind which a wave can go on.
bool is_of_access(const Wave& wave, const Fault& fault);

/// Carries out the instruction that the wave stands at, an access that has thrown `fault`, for those of its lanes whose
/// part of it is none. The others get poison where they would have loaded. The wave stands behind it then. `note` is
/// called for each lane's fault.
void carry_out_rest(Wave& wave, const Fault& fault, const std::function<void(const Fault&)>& note);

}  // namespace wave::emulator
