#include "launch/geometry.h"

#include <string>

#include "base/error.h"

namespace wave {

namespace {

constexpr char kAxes[] = "xyz";

std::string dims_text(const std::array<int64_t, 3>& dims) {
  return text("(", dims[0], ", ", dims[1], ", ", dims[2], ")");
}

void check_positive(const Kernel& kernel, const char* what, const std::array<int64_t, 3>& dims) {
  for (int64_t extent : dims) {
    if (extent < 1) {
      throw ValueError(text("kernel '", kernel.name(), "': ", what, " ", dims_text(dims), " has an extent below 1"));
    }
  }
}

void check_block(const Kernel& kernel, const std::array<int64_t, 3>& block) {
  const KernelMetadata& metadata = kernel.info().metadata;
  if (const auto& required = metadata.reqd_workgroup_size) {
    for (int axis = 0; axis < 3; ++axis) {
      if (block[axis] != (*required)[axis]) {
        throw ValueError(text("kernel '", kernel.name(), "': block ", dims_text(block),
                              " given, but the kernel was compiled for (", (*required)[0], ", ", (*required)[1], ", ",
                              (*required)[2], ") (.reqd_workgroup_size)"));
      }
    }
  }
  const int64_t limit = metadata.max_flat_workgroup_size != 0 ? metadata.max_flat_workgroup_size : 1024;
  // Each extent alone must fit, so that the product cannot overflow.
  bool fits = true;
  for (int64_t extent : block) fits &= extent <= limit;
  if (!fits || block[0] * block[1] * block[2] > limit) {
    throw ValueError(text("kernel '", kernel.name(), "': block ", dims_text(block), " has more than the ", limit,
                          " work-items that the kernel was compiled for (.max_flat_workgroup_size)"));
  }
}

void check_grid(const Kernel& kernel, const std::array<int64_t, 3>& grid, const std::array<int64_t, 3>& block) {
  constexpr int64_t kLimit = int64_t{1} << 32;
  for (int axis = 0; axis < 3; ++axis) {
    if (grid[axis] >= kLimit || grid[axis] * block[axis] >= kLimit) {
      throw ValueError(text("kernel '", kernel.name(), "': grid ", dims_text(grid), " times block ", dims_text(block),
                            " is 2^32 or "
                            "more work-items in ",
                            kAxes[axis], ", more than AMD hardware can launch (the grid counts workgroups)"));
    }
  }
}

void check_shared_memory(const Kernel& kernel, int64_t shared_memory) {
  if (shared_memory < 0)
    throw ValueError(text("kernel '", kernel.name(), "': shared_memory ", shared_memory, " is negative"));
  const Target& target = kernel.code().target();
  const ProcessorLimits* limits = find_processor_limits(target.processor);
  const int64_t available = limits != nullptr ? limits->lds_bytes : 64 * 1024;
  const int64_t own = kernel.info().metadata.group_segment_fixed_size;
  if (shared_memory > available - own) {
    throw ValueError(text("kernel '", kernel.name(), "': ", own,
                          " bytes of its own LDS and shared_memory=", shared_memory, " are more than the ", available,
                          " bytes that ", target.processor, " has for a workgroup"));
  }
}

std::array<uint32_t, 3> narrowed(const std::array<int64_t, 3>& dims) {
  return {static_cast<uint32_t>(dims[0]), static_cast<uint32_t>(dims[1]), static_cast<uint32_t>(dims[2])};
}

}  // namespace

Geometry check_geometry(const Kernel& kernel, const std::array<int64_t, 3>& grid, const std::array<int64_t, 3>& block,
                        int64_t shared_memory) {
  check_positive(kernel, "grid", grid);
  check_positive(kernel, "block", block);
  check_block(kernel, block);
  check_grid(kernel, grid, block);
  check_shared_memory(kernel, shared_memory);
  return {narrowed(grid), narrowed(block), static_cast<uint32_t>(shared_memory)};
}

}  // namespace wave
