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
  Extents grid{1, 1, 1};         ///< workgroups
  std::optional<Extents> block;  ///< work-items of a workgroup; without: what the binary requires
  int64_t shared_memory = 0;     ///< bytes, dynamic
  Extents cluster{1, 1, 1};      ///< workgroups
  bool cooperative = false;
  bool programmatic = false;
  std::optional<int64_t> priority;

  bool has_attributes() const {
    return cooperative || programmatic || priority.has_value() || cluster != Extents{1, 1, 1};
  }
};

/// The same, checked.
struct Geometry {
  Dims grid;
  Dims block;
  uint32_t shared_memory;
  std::optional<LaunchAttributes> attributes;
};

/// Checks the options against kernel and device. Throws TypeError where the block is missing, and ValueError: an extent
/// below 1; a grid beyond the device's, or on AMD of 2^32 or more work-items in an axis; a block other than the
/// required one, or larger than binary and device allow; more shared memory than the device has; a cluster that does
/// not divide the grid, or that the device cannot launch; a cooperative grid that is not resident at once; an attribute
/// that the device has not.
Geometry check_geometry(const DeviceFunction& function, const LaunchOptions& options);

}  // namespace wave
