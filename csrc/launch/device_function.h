// Kernels loaded on devices: loaded at the first launch there, once for each code object, and unloaded when nobody in
// Python holds the code object any more.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "driver/driver.h"
#include "launch/place.h"

namespace wave {

class Kernel;
struct ModuleRecord;

/// What launches of a kernel on a device are checked against, in one cache line: most of what they read lies in others.
struct alignas(64) LaunchLimits {
  Dims max_grid;               ///< workgroups
  Dims min_block, max_block;   ///< work-items, by dimension: both what the binary requires, where it does
  uint32_t max_block_size;     ///< work-items, by binary, driver and device
  uint32_t own_shared_memory;  ///< bytes, static
  int64_t max_shared_memory;   ///< bytes, dynamic
  int64_t max_work_items;      ///< along an axis of the grid
};
static_assert(sizeof(LaunchLimits) == 64);

/// A kernel on a device. What launches read comes first.
struct DeviceFunction {
  LaunchLimits limits;
  Place place;
  bool in_host_memory;  ///< whether its tensors are on the CPU, though the driver works asynchronously
  std::unique_ptr<LoadedFunction> function;
  ModuleRecord* module;
  const KernelInfo* kernel;  ///< of the build that runs there
  const CodeObject* code;
  const DeviceInfo* device;
  FunctionInfo info;
};

/// Where a kernel keeps its function on one device. Launches count themselves in while they use it, in one of several
/// counters, so that threads that launch the same kernel do not wait for each other's cache lines.
struct FunctionSlot {
  struct alignas(64) Users {
    std::atomic<uint32_t> count{0};
  };
  static constexpr int kStripes = 8;

  std::atomic<DeviceFunction*> function{nullptr};
  Users users[kStripes];

  /// The counter of the calling thread, told by where its stack lies.
  std::atomic<uint32_t>& users_of_thread() {
    const char here = 0;
    const uint64_t address = reinterpret_cast<uint64_t>(&here) >> 16;
    return users[address * 0x9e3779b97f4a7c15 >> 61].count;
  }
};

/// A kernel's functions on all devices.
class FunctionSlots {
 public:
  FunctionSlots() = default;
  ~FunctionSlots();
  FunctionSlots(const FunctionSlots&) = delete;
  FunctionSlots& operator=(const FunctionSlots&) = delete;

  /// The slot for a place; made where it is not there yet.
  FunctionSlot& at(const Place& place) const {
    FunctionSlot* slot = find(place);
    return slot != nullptr ? *slot : make(place);
  }
  FunctionSlot* find(const Place& place) const {
    return slots_[place.device][static_cast<int>(place.kind)].load(std::memory_order_acquire);
  }

 private:
  FunctionSlot& make(const Place& place) const;

  mutable std::atomic<FunctionSlot*> slots_[Driver::kMaxDevices][kDriverKinds] = {};
};

/// Loads the kernel there, and sets its slot's function, where that is not done. Throws ValueError where the kernel has
/// no build for the device, and what Driver::load throws.
[[gnu::cold]] void load_function(const Kernel& kernel, const Place& place);

/// The emulated device is another processor: of kernels with several builds the next launch takes the one for that.
void choose_builds_anew();

/// Tells that a launch of the function went into a graph, which keeps raw pointers to it: its module stays until the
/// process ends.
void pin(const DeviceFunction& function);
bool is_pinned(const DeviceFunction& function);

/// A variable in device memory, and what keeps unload() from taking it away.
struct GlobalView {
  Global global;
  std::shared_ptr<const void> held;
};

/// A variable of a code object on a device, which is loaded there where it is not; nothing where there is none of this
/// name. Throws ValueError where it is not clear which is meant.
std::optional<GlobalView> find_global(const std::shared_ptr<const CodeObject>& code, const Place& place,
                                      const std::string& name);

/// Unloads a code object from all devices, but where a graph or a GlobalView may hold it; waits for launches under way
/// to be enqueued. It is loaded again when it is launched again. Returns from how many devices. Throws RuntimeError
/// inside a launch of this thread, which would wait for itself: in a hook, or in a signal handler while the emulator
/// runs. The caller must hold no lock that a launch may wait for.
size_t unload(const CodeObject& code);

/// Marks a scope of this thread as inside a launch that may call into other code.
class InsideLaunch {
 public:
  InsideLaunch();
  ~InsideLaunch();
  InsideLaunch(const InsideLaunch&) = delete;
  InsideLaunch& operator=(const InsideLaunch&) = delete;
};

/// As long as somebody holds what this returns for a code object of the same contents, it stays loaded. Then it is
/// unloaded, at once or, where a launch is under way, when modules are next loaded or listed: letting go never waits.
std::shared_ptr<const void> hold_loaded(const std::shared_ptr<const CodeObject>& code);

/// Runs a function that waits until another thread has loaded or unloaded code.
using WaitRunner = void (*)(const std::function<void()>& wait);

/// Sets what such waits run in: it lets go of what launches on other threads may need, as an interpreter's lock.
void set_wait_runner(WaitRunner runner);

struct LoadedInfo {
  Place place;
  std::string sha256;
  std::string target;
  std::vector<std::string> kernels;  ///< that were looked up on the device
  bool pinned;                       ///< a graph may hold it
};
std::vector<LoadedInfo> loaded_modules();

}  // namespace wave
