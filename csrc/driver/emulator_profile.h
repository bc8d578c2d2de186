// What the emulator says of a launch beyond driver.h.
#pragma once

#include <memory>

#include "base/launch_profile.h"

namespace wave {

/// Of the last launch of this thread on the emulator, where WAVE_RUNTIME_STATS asked for it; else nullptr.
std::shared_ptr<const LaunchProfile> last_launch_profile();

}  // namespace wave
