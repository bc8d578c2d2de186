// Kernel launches.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/emulator_options.h"
#include "base/host_threads.h"
#include "hip_emulator/runtime.h"

namespace wave::hip_emulator {

using Counts = std::array<uint64_t, 3>;

/// Arguments are packed, so that pointers may lie at multiples of four.
constexpr size_t kPointerStep = 4;

/// A launch as programs ask for it.
struct LaunchRequest {
  std::shared_ptr<KernelFunction> function;
  Counts grid;  ///< workgroups
  Counts block;
  uint64_t shared_memory;
  hip::Stream stream;
  void** parameters;
  void** extra;
  bool cooperative = false;
  bool counts_items = false;   ///< the grid's extents are work-items
  const void* host = nullptr;  ///< the host function where the program named the kernel by it
  Counts remainder{};          ///< work-items of a smaller workgroup at the grid's end, along an axis that has one
};

/// A launch with everything checked and packed.
struct PackedLaunch {
  std::shared_ptr<KernelFunction> function;
  const void* host;
  std::array<uint32_t, 3> grid;
  std::array<uint32_t, 3> block;
  std::array<uint32_t, 3> remainder;  ///< of emulator::Dispatch
  uint32_t shared_memory;
  bool cooperative;
  std::vector<uint8_t> arguments;
  EmulatorOptions options;  ///< as the environment said at the call
  Parallel parallel;
};

/// The same as an operation, for the stream's device. Throws Failure.
StreamOperation launch_operation(const LaunchRequest& request, int device);

/// A launch that is cooperative, or no longer. Throws hipErrorCooperativeLaunchTooLarge.
StreamOperation launch_operation(PackedLaunch launch, bool cooperative);

/// Checks, packs the arguments, and enqueues. Throws Failure.
void launch(const LaunchRequest& request);
/// The same, with events recorded before and behind it where they are not nullptr.
void launch_between(const LaunchRequest& request, hip::Event start, hip::Event stop);

/// Has this thread's launches fail with hipErrorStreamCaptureUnsupported, or no longer.
void refuse_launches(bool refused);

/// Takes over what attributes ask for. Throws hipErrorNotSupported for clusters of several workgroups.
void apply_attributes(LaunchRequest& request, const hip::LaunchAttribute* attributes, uint32_t count);

}  // namespace wave::hip_emulator
