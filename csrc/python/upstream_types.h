// The types of upstream's wave_runtime: KernelLaunchInfo, Int64Vector, Int32Vector. Made anew for every launch, so they
// are plain C types.
#pragma once

#include <optional>

#include "launch/geometry.h"
#include "python/object.h"

namespace wave {

/// What a KernelLaunchInfo says.
struct LaunchInfo {
  uint64_t function;
  Extents grid, block, cluster;
  int64_t shared_memory;
  std::optional<void*> stream;
};

/// Throws TypeError for an object of another type.
LaunchInfo read_launch_info(PyObject* object);

}  // namespace wave
