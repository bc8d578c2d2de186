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

/// A kernel whose arguments nobody checks but by their size: of any strides, and of any signature where the binary has
/// no argument metadata. `variants` are builds of it for several targets, at least one. Throws what Kernel's
/// constructor throws.
const Kernel& raw_kernel(CodeObjects variants, std::string_view name);

/// The handle of a kernel, which stays valid until the process ends, as kernels do. Thread-safe.
uint64_t raw_handle(const Kernel& kernel);

/// The kernel with this handle. Throws ValueError for a number that is none. Takes no lock.
const Kernel& find_raw(uint64_t handle);

/// Where addresses without a tensor point to: torch's current GPU where it has one whose driver takes the kernel's kind
/// of code, else the CPU.
c10::Device current_device(const Kernel& kernel);

/// Loads the kernel on a device where it is not. Takes long, and may wait for other threads' launches.
void preload(const Kernel& kernel, c10::Device device);

/// What a caller of a kernel by its handle asks for. `shared_memory` are the bytes that a workgroup needs at least, the
/// kernel's own among them; there is no cluster where one of its extents is 0.
LaunchOptions raw_options(const Extents& grid, const Extents& block, const Extents& cluster, int64_t shared_memory);

/// Sets that, and where the call goes, all of whose tensors have been read. The emulator lets such kernels write
/// whatever they may touch: Wave's compiler says "read_only" of tensors that only atomic operations change.
void complete_raw(Call& call, const LaunchOptions& options);

}  // namespace wave
