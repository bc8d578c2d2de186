// The one way to a driver: hooks, the launch, and what its errors say.
#pragma once

#include "base/error.h"
#include "launch/hooks.h"

namespace wave {

/// Gives a launch to the driver. Errors name kernel, device and geometry. With WAVE_RUNTIME_SYNC=1 in the environment
/// (read once) it waits for the kernel, so that a failure shows at the launch that made it. `host` is for the emulator,
/// else nullptr. `is_on_current_device`: the driver has just said that the function's device is the thread's current
/// one.
inline void enqueue(const LaunchSite& site, std::span<const uint8_t> arguments, HostLaunch* host,
                    bool is_on_current_device = false);

/// The same where somebody looks on, or the launch is not as most are.
void enqueue_observed(const LaunchSite& site, std::span<const uint8_t> arguments, HostLaunch* host);

/// Whether WAVE_RUNTIME_SYNC is 1. Throws ValueError where it is neither 0 nor 1.
bool is_synchronous();
/// False where it certainly is not: what launches look at first.
inline bool may_be_synchronous() {
  return (detail::watching.load(std::memory_order_relaxed) & detail::kSynchronous) != 0;
}

/// Throws the driver's error with what the launch was.
[[noreturn, gnu::cold]] void rethrow_launch_error(const RuntimeError& error, const LaunchSite& site,
                                                  std::span<const uint8_t> arguments);

// Nothing but the driver's call where nobody looks on. The null stream takes no part in captures.
inline void enqueue(const LaunchSite& site, std::span<const uint8_t> arguments, HostLaunch* host,
                    bool is_on_current_device) {
  const Geometry& geometry = site.geometry;
  if (detail::watching.load(std::memory_order_relaxed) != 0 || host != nullptr || site.stream != nullptr ||
      geometry.attributes || site.function.in_host_memory) {
    return enqueue_observed(site, arguments, host);
  }
  try {
    site.function.function->launch({geometry.grid, geometry.block, geometry.shared_memory, nullptr, arguments, nullptr,
                                    nullptr, is_on_current_device});
  } catch (const RuntimeError& error) {
    rethrow_launch_error(error, site, arguments);
  }
}

/// The packed arguments as text: "a=0x7f6e40000000, n=1024, alpha=0.5".
std::string arguments_text(const Kernel& kernel, std::span<const uint8_t> arguments);

}  // namespace wave
