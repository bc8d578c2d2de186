// Kernel launches.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "hip_emulator/runtime.h"

namespace wave::hip_emulator {

using Counts = std::array<uint64_t, 3>;

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
  bool counts_items = false;  ///< the grid's extents are work-items
};

/// Checks, packs the arguments, and enqueues. Throws Failure.
void launch(const LaunchRequest& request);
/// The same, with events recorded before and behind it where they are not nullptr.
void launch_between(const LaunchRequest& request, hip::Event start, hip::Event stop);

/// Takes over what attributes ask for. Throws hipErrorNotSupported for clusters of several workgroups.
void apply_attributes(LaunchRequest& request, const hip::LaunchAttribute* attributes, uint32_t count);

}  // namespace wave::hip_emulator
