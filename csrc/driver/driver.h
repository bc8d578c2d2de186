// What a driver does for the launch layer: devices, code loaded on them, launches. Three implement it: hip, cuda and
// the emulator.
//
//   Driver --load(code, device)--> LoadedModule --function(kernel)--> LoadedFunction --launch(...)
//
// The one who asked owns modules and functions; a function must not outlive its module. Everything may be used from any
// thread, whatever context or device is current on it, and leaves that as it was.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/access_trace.h"
#include "base/emulator_options.h"
#include "base/launch_report.h"
#include "base/memory_range.h"
#include "base/parallel.h"
#include "code_object/code_object.h"

namespace wave {

using Dims = std::array<uint32_t, 3>;

/// What a device is, and the most that a launch may ask of it.
struct DeviceInfo {
  std::string name;         ///< "NVIDIA H200"
  Target target;            ///< "gfx942:sramecc+:xnack-", "sm_90"
  Dims max_grid;            ///< workgroups
  Dims max_block;           ///< work-items, by dimension
  uint32_t max_block_size;  ///< work-items in all
  uint32_t shared_memory;   ///< bytes of a workgroup, static and dynamic together
  uint32_t multiprocessors;
  bool cooperative;      ///< whether it launches cooperative grids
  uint32_t max_cluster;  ///< workgroups of a cluster; 1: it has none
  bool programmatic;     ///< whether a launch may begin before the one ahead of it in its stream has ended
  bool priority;         ///< whether a launch may have a priority
};

/// What the device's driver says of a loaded kernel. Sizes in bytes.
struct FunctionInfo {
  uint32_t registers;      ///< of a work-item; 0 where the driver does not say
  uint32_t shared_memory;  ///< static
  uint32_t local_memory;   ///< of a work-item: spills, arrays (AMD: scratch)
  uint32_t constant_memory;
  uint32_t max_block_size;  ///< work-items that it can be launched with
};

/// What few launches ask for.
struct LaunchAttributes {
  Dims cluster{1, 1, 1};  ///< workgroups of a cluster
  bool cooperative = false;
  bool programmatic = false;  ///< programmatic dependent launch
  std::optional<int32_t> priority;
};

/// What a driver that computes on the host needs and says.
struct HostLaunch {
  HostMemory memory;                 ///< what the arguments point to
  Parallel parallel;                 ///< threads; empty: the calling one only
  bool strict = false;               ///< reads past an end are faults, too
  AccessTrace* trace = nullptr;      ///< where accesses are noted
  const EmulatorOptions& options;    ///< what else the launch is asked for
  LaunchReport& report;              ///< filled by the launch
  std::vector<MemoryRange> nulls{};  ///< the arguments that are null pointers: nothing, with a name for messages
};

/// One launch, checked and packed. Borrowed: valid during LoadedFunction::launch only.
struct Launch {
  Dims grid;                                     ///< workgroups
  Dims block;                                    ///< work-items of a workgroup
  uint32_t shared_memory;                        ///< bytes, dynamic
  void* stream;                                  ///< the driver's own handle; nullptr: its default stream
  std::span<const uint8_t> arguments;            ///< the kernarg segment up to the hidden arguments
  const LaunchAttributes* attributes = nullptr;  ///< nullptr: none of them
  HostLaunch* host = nullptr;                    ///< for the emulator
  bool is_on_current_device = false;             ///< the driver was asked just now: nobody has to ask it again
};

/// A kernel on a device.
class LoadedFunction {
 public:
  virtual ~LoadedFunction() = default;

  /// Returns when the launch is enqueued; on the emulator, when it is done. Throws RuntimeError with the driver's own
  /// name of the error, and KernelFault where the emulated kernel does what it must not.
  virtual void launch(const Launch& launch) = 0;

  virtual FunctionInfo info() const = 0;
  /// Workgroups that a multiprocessor holds at once; 0: the block cannot be launched.
  virtual uint32_t occupancy(uint32_t block_size, uint32_t shared_memory) const = 0;
  /// Workgroups that the device holds at once: so many a cooperative grid may have.
  virtual uint64_t resident_workgroups(const DeviceInfo& device, uint32_t block_size, uint32_t shared_memory) const {
    return uint64_t{device.multiprocessors} * occupancy(block_size, shared_memory);
  }
};

/// A variable of a module in device memory.
struct Global {
  void* address;
  uint64_t size;  ///< bytes
};

/// A code object on a device. The destructor unloads it and reports errors to stderr; where kernels of it are still
/// running, waiting for them is left to the driver's library.
class LoadedModule {
 public:
  virtual ~LoadedModule() = default;
  /// Throws RuntimeError where the driver does not find the kernel.
  virtual std::unique_ptr<LoadedFunction> function(const KernelInfo& kernel) = 0;
  /// Nothing where there is no variable of this name. Throws ValueError where it is not clear which is meant.
  virtual std::optional<Global> global(const std::string& name) = 0;
};

/// A way to run code objects. Lives until the process ends.
class Driver {
 public:
  static constexpr int kMaxDevices = 64;

  virtual ~Driver() = default;
  /// "hip", "cuda", "emulator".
  virtual const char* name() const = 0;
  /// The library file and its version, for people. Throws RuntimeError where it cannot be used, with the reason.
  virtual std::string describe() = 0;
  /// Throws RuntimeError where the driver cannot be used.
  virtual int device_count() = 0;
  /// Throws RuntimeError where there is no such device.
  virtual const DeviceInfo& device(int index) = 0;
  /// The device that is current on the calling thread; -1 where none is, or the driver has not been used yet.
  virtual int current_device() const { return -1; }
  /// The device as code that it runs finds it: the emulator is another processor for code of another one.
  virtual const DeviceInfo& device_for(const Target&, int index) { return device(index); }
  /// Loads code that was built for the device; while graphs are captured, too. Throws RuntimeError with the driver's
  /// own name of the error and, for PTX, what its compiler says.
  virtual std::unique_ptr<LoadedModule> load(std::shared_ptr<const CodeObject> code, int device) = 0;
  /// Whether launches on the stream go into a graph.
  virtual bool is_capturing(void* stream) = 0;
  /// The device that an address belongs to: for memory of the host that devices may access, the one it was made for.
  /// Nothing for memory that the driver does not know.
  virtual std::optional<int> device_of(const void* address) = 0;
  /// Waits for the stream. Throws RuntimeError where a kernel on it failed.
  virtual void synchronize(int device, void* stream) = 0;
};

/// The emulator, for tensors in the host's memory. Always there; one device.
Driver& emulator_driver();
Driver& hip_driver();
Driver& cuda_driver();

/// Sets what launches on the host call now and then on the thread that made them; it may throw to stop the launch.
void set_interrupt_check(void (*check)());
/// Calls it, where there is any.
void check_interrupt();

}  // namespace wave
