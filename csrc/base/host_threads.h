// Threads for programs that have no pool of their own to lend.
#pragma once

#include "base/parallel.h"

namespace wave {

/// Runs on threads of its own, started for each call: WAVE_RUNTIME_EMULATOR_THREADS of them (read once), else one for
/// each core. Empty where that is one.
Parallel host_threads();

}  // namespace wave
