// Launches by numbers: for callers that hold a kernel as an integer and its arguments as packed bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "launch/geometry.h"
#include "launch/kernel.h"
#include "op/call.h"

namespace wave {

/// A kernel that callers may launch by its handle.
struct RawFunction {
  const Kernel* kernel;
  uint32_t argument_end;  ///< bytes of the kernarg segment up to the hidden arguments
};

/// A kernel whose arguments nobody checks but by their size: of any strides, and of any signature where the binary has
/// no argument metadata. `variants` are builds of it for several targets, at least one. Throws what Kernel's
/// constructor throws.
const Kernel& raw_kernel(CodeObjects variants, std::string_view name);

/// The handle of a kernel, which stays valid until the process ends, as kernels do. Thread-safe.
uint64_t raw_handle(const Kernel& kernel);

/// The kernel with this handle. Throws ValueError for a number that is none. Thread-safe.
RawFunction find_raw(uint64_t handle);

/// How to launch.
struct RawOptions {
  Extents grid{1, 1, 1};        ///< workgroups
  Extents block{1, 1, 1};       ///< work-items of a workgroup
  Extents cluster{1, 1, 1};     ///< workgroups; without a cluster where an extent is 0
  int64_t shared_memory = 0;    ///< bytes that a workgroup needs at least, the kernel's own among them
  std::optional<void*> stream;  ///< the driver's handle, nullptr for its default stream; without: torch's current one
};

/// Where addresses without a tensor point to: torch's current GPU where it has one whose driver takes the kernel's kind
/// of code, else the CPU.
c10::Device current_device(const Kernel& kernel);

/// Loads the kernel on a device where it is not. Takes long, and may wait for other threads' launches.
void preload(const Kernel& kernel, c10::Device device);

/// Launches on the tensors' device, or on the current one where there are none. Returns warnings for the user.
///
/// `arguments` are as long as the kernel says (Kernel::argument_bytes). The emulator lets the kernel touch the storages
/// of `tensors` and, with `has_addresses`, whatever else the process has mapped. Throws what check_geometry,
/// TensorArguments and the drivers throw.
std::vector<std::string> launch_raw(const RawFunction& function, const RawOptions& options,
                                    std::span<const uint8_t> arguments, const TensorArguments& tensors,
                                    bool has_addresses);

}  // namespace wave
