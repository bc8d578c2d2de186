// WAVE_RUNTIME_DUMP: launches that fail are written to disk.
#pragma once

#include <functional>

#include "hip_emulator/launch.h"

namespace wave::hip_emulator {

/// Runs a launch, and writes it where options.dump says if it ends with a KernelFault: with the allocations that its
/// arguments point to, and those that pointers in these lead to.
void run_dumped(const PackedLaunch& launch, const std::function<void()>& run);

}  // namespace wave::hip_emulator
