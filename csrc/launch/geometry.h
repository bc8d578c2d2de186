// Grid, block, shared memory and attributes of a launch.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "launch/device_function.h"

namespace wave {

using Extents = std::array<int64_t, 3>;

/// What a caller asks for, unchecked.
struct LaunchOptions {
  Extents grid{1, 1, 1};              ///< workgroups
  std::optional<Extents> block;       ///< work-items of a workgroup; without: what the binary requires
  int64_t shared_memory = 0;          ///< bytes, dynamic,
  bool shared_memory_is_all = false;  ///< or with what the kernel declares itself: at least so many a workgroup gets
  Extents cluster{1, 1, 1};           ///< workgroups
  bool cooperative = false;
  bool programmatic = false;
  std::optional<int64_t> priority;

  bool has_attributes() const {
    const bool clusters = ((cluster[0] - 1) | (cluster[1] - 1) | (cluster[2] - 1)) != 0;
    return cooperative || programmatic || priority.has_value() || clusters;
  }
};

/// The same, checked.
struct Geometry {
  Dims grid;
  Dims block;
  uint32_t shared_memory;
  std::optional<LaunchAttributes> attributes;
};

/// Whether a launch without attributes is within the limits: what check_geometry finds, for most launches, at less
/// cost.
inline bool fits(const LaunchLimits& limits, const Extents& grid, const Extents& block, int64_t shared_memory) {
  if (shared_memory < 0 || shared_memory > limits.max_shared_memory) return false;
  int64_t size = 1;
  for (int axis = 0; axis < 3; ++axis) {
    if (grid[axis] < 1 || grid[axis] > limits.max_grid[axis]) return false;
    if (block[axis] < limits.min_block[axis] || block[axis] > limits.max_block[axis]) return false;
    // Neither product overflows: no device has blocks of 2^31 work-items along an axis.
    if (grid[axis] * block[axis] > limits.max_work_items) return false;
    size *= block[axis];
  }
  return size <= limits.max_block_size;
}

inline Dims narrowed(const Extents& dims) {
  return {static_cast<uint32_t>(dims[0]), static_cast<uint32_t>(dims[1]), static_cast<uint32_t>(dims[2])};
}

/// What check_geometry does where the block is not given, a launch has attributes or does not fit.
[[gnu::cold]] Geometry check_unusual_geometry(const DeviceFunction& function, const LaunchOptions& options);

/// Checks the options against kernel and device. Throws TypeError where the block is missing, and ValueError: an extent
/// below 1; a grid beyond the device's, or on AMD of 2^32 or more work-items in an axis; a block other than the
/// required one, or larger than binary and device allow; more shared memory than the device has; a cluster that does
/// not divide the grid, or that the device cannot launch; a cooperative grid that is not resident at once; an attribute
/// that the device has not.
[[gnu::always_inline]] inline Geometry check_geometry(const DeviceFunction& function, const LaunchOptions& options) {
  int64_t shared_memory = options.shared_memory;
  if (options.shared_memory_is_all) {
    const bool is_declared = shared_memory >= 0 && shared_memory <= function.limits.own_shared_memory;
    shared_memory = is_declared ? 0 : -1;  // what does not fit here is looked at more closely
  }
  if (!options.block || options.has_attributes() || !fits(function.limits, options.grid, *options.block, shared_memory))
      [[unlikely]] {
    return check_unusual_geometry(function, options);
  }
  return {narrowed(options.grid), narrowed(*options.block), static_cast<uint32_t>(shared_memory), {}};
}

}  // namespace wave
