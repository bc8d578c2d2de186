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
  hip::Function function;
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

}  // namespace wave::hip_emulator
