// What a launch on the emulator executed, and has to say.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/launch_profile.h"

namespace wave {

struct LaunchReport {
  uint64_t instructions = 0;  ///< by waves
  uint64_t waves = 0;
  uint64_t workgroups = 0;
  std::shared_ptr<const LaunchProfile> profile;  ///< nullptr but where EmulatorOptions::statistics asked for it
  std::vector<std::string> warnings;             ///< for the user
};

}  // namespace wave
