// Functions that are called before and after each launch. They cost one load where there are none.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "launch/function_use.h"
#include "launch/geometry.h"

namespace wave {

/// A launch but for its arguments. Borrowed: valid during the launch only.
struct LaunchSite {
  const Kernel& kernel;
  const DeviceFunction& function;  ///< the kernel where it runs
  const Geometry& geometry;        ///< checked for the function
  void* stream;                    ///< the driver's handle
};

/// What a hook is told. Borrowed: valid during the call only.
struct LaunchEvent {
  const LaunchSite& site;
  std::span<const uint8_t> arguments;  ///< packed as the signature's offsets say; pointers are device addresses
};

/// Either may be empty. They are called on the thread that launches, which may be any; what they throw ends the launch.
/// `exit` is called when the launch is enqueued (on the emulator: done), and not where it failed.
struct LaunchHook {
  std::function<void(const LaunchEvent&)> enter;
  std::function<void(const LaunchEvent&)> exit;
};

/// Adds a hook, called after those that are there, and returns what remove_hook takes. Thread-safe.
uint64_t add_hook(LaunchHook hook);
/// Removes a hook; launches under way may still call it. Thread-safe.
void remove_hook(uint64_t id);

namespace detail {
enum Watching : uint8_t { kHooks = 1, kSynchronous = 2 };
/// Why launches are not left to themselves: most look at this alone.
extern std::atomic<uint8_t> watching;
}  // namespace detail

inline bool has_hooks() { return (detail::watching.load(std::memory_order_relaxed) & detail::kHooks) != 0; }

void call_enter_hooks(const LaunchEvent& event);
void call_exit_hooks(const LaunchEvent& event);

}  // namespace wave
