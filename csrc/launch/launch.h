// The one way to a driver: hooks, the launch, and what its errors say.
#pragma once

#include "launch/hooks.h"

namespace wave {

/// Launches. Errors name kernel, device and geometry. With WAVE_RUNTIME_SYNC=1 in the environment (read once) it waits
/// for the kernel, so that a failure shows at the launch that made it. `host` is for the emulator, else nullptr.
void launch(const LaunchSite& site, std::span<const uint8_t> arguments, HostLaunch* host);

/// The packed arguments as text: "a=0x7f6e40000000, n=1024, alpha=0.5".
std::string arguments_text(const Kernel& kernel, std::span<const uint8_t> arguments);

}  // namespace wave
