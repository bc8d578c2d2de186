// What the emulator runs besides code for the device that it describes itself as.
#pragma once

#include <vector>

#include "code_object/target.h"

namespace wave {

/// The targets whose code the emulator runs, the device's own first.
std::vector<Target> emulator_targets();

}  // namespace wave
