// Grid, block and shared memory of a launch.
#pragma once

#include <array>
#include <cstdint>

#include "launch/kernel.h"

namespace wave {

struct Geometry {
  std::array<uint32_t, 3> grid;   ///< workgroups
  std::array<uint32_t, 3> block;  ///< work-items of a workgroup
  uint32_t shared_memory;         ///< bytes of dynamic LDS, on top of the kernel's own
};

/// Checks the values against the kernel and its target. Throws ValueError: a zero or negative extent; a grid times
/// block of 2^32 or more in an axis (HSA counts work-items in 32 bits); a block other than the required workgroup size,
/// or larger than max_flat_workgroup_size; static and dynamic LDS beyond what the target has.
Geometry check_geometry(const Kernel& kernel, const std::array<int64_t, 3>& grid, const std::array<int64_t, 3>& block,
                        int64_t shared_memory);

}  // namespace wave
