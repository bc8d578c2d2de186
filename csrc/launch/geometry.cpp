#include "launch/geometry.h"

#include <algorithm>
#include <string>

#include "base/error.h"

namespace wave {

namespace {

constexpr char kAxes[] = "xyz";

std::string dims_text(const Extents& dims) { return text("(", dims[0], ", ", dims[1], ", ", dims[2], ")"); }

Extents extents(const Dims& dims) { return {dims[0], dims[1], dims[2]}; }

int64_t product(const Extents& dims) { return dims[0] * dims[1] * dims[2]; }

/// Checks one launch. The messages are made only where a check fails.
class Check {
 public:
  Check(const DeviceFunction& function, const LaunchOptions& options, const Extents& block)
      : function_(function), options_(options), block_(block) {}

  void all() const {
    positive("grid", options_.grid);
    positive("block", block_);
    block();
    grid();
    shared_memory();
    if (options_.has_attributes()) attributes();
  }

 private:
  template <class... Parts>
  [[noreturn]] void refuse(const Parts&... parts) const {
    throw ValueError(text(kernel_text(function_.kernel->metadata.name), ": ", parts...));
  }
  /// "cuda:0 (NVIDIA H200)".
  std::string device() const { return text(function_.place.text(), " (", function_.device->name, ")"); }

  void positive(const char* what, const Extents& dims) const {
    for (const int64_t extent : dims) {
      if (extent >= 1) continue;
      const bool is_empty = extent == 0 && std::string_view(what) == "grid";
      refuse(what, " ", dims_text(dims), " has an extent below 1",
             is_empty
                 ? ": where there may be nothing to do, as for empty tensors, launch at least one workgroup, or do "
                   "not launch"
                 : "");
    }
  }

  void block() const {
    const auto& required = function_.kernel->metadata.reqd_workgroup_size;
    if (required && block_ != extents(*required)) {
      refuse("block ", dims_text(block_), " given, but the kernel was compiled for ", dims_text(extents(*required)),
             " (.reqd_workgroup_size)");
    }
    // Each extent alone must fit, so that the product cannot overflow.
    bool fits = true;
    for (int axis = 0; axis < 3; ++axis) fits &= block_[axis] <= function_.limits.max_block_size;
    if (!fits || product(block_) > function_.limits.max_block_size) too_large_block();
    for (int axis = 0; axis < 3; ++axis) {
      if (block_[axis] > function_.device->max_block[axis]) {
        refuse("block ", dims_text(block_), " is more than the ", dims_text(extents(function_.device->max_block)),
               " that ", device(), " can launch");
      }
    }
  }

  [[noreturn]] void too_large_block() const {
    const uint32_t limit = function_.limits.max_block_size;
    if (limit == function_.kernel->metadata.max_flat_workgroup_size) {
      refuse("block ", dims_text(block_), " has more than the ", limit,
             " work-items that the kernel was compiled for (.max_flat_workgroup_size)");
    }
    refuse("block ", dims_text(block_), " has more than the ", limit, " work-items that ", device(),
           " can launch of this kernel, which uses ", function_.info.registers, " registers");
  }

  void grid() const {
    const Extents& grid = options_.grid;
    for (int axis = 0; axis < 3; ++axis) {
      if (grid[axis] > function_.limits.max_work_items / block_[axis]) {
        refuse("grid ", dims_text(grid), " times block ", dims_text(block_), " is 2^32 or more work-items in ",
               kAxes[axis], ", more than AMD hardware can launch (the grid counts workgroups)");
      }
      if (grid[axis] > function_.device->max_grid[axis]) {
        refuse("grid ", dims_text(grid), " is more than the ", function_.device->max_grid[axis], " workgroups in ",
               kAxes[axis], " that ", device(), " can launch");
      }
    }
  }

  void shared_memory() const {
    if (options_.shared_memory < 0) refuse("shared_memory ", options_.shared_memory, " is negative");
    if (options_.shared_memory > function_.limits.max_shared_memory) {
      refuse(function_.info.shared_memory,
             " bytes of its own shared memory (LDS) and shared_memory=", options_.shared_memory, " are more than the ",
             function_.device->shared_memory, " bytes that ", function_.device->target.processor,
             " has for a workgroup");
    }
  }

  void attributes() const {
    const DeviceInfo& device_info = *function_.device;
    positive("cluster", options_.cluster);
    cluster();
    if (options_.cooperative) cooperative();
    if (options_.programmatic && !device_info.programmatic) {
      refuse("programmatic=True: ", device(), " has no programmatic dependent launch (NVIDIA's sm_90 and later have)");
    }
    if (options_.priority && !device_info.priority) refuse("priority=: ", device(), " has no launch priorities");
  }

  void cluster() const {
    const Extents& cluster = options_.cluster;
    if (cluster == Extents{1, 1, 1}) return;
    const int64_t limit = function_.device->max_cluster;
    if (limit == 1) refuse("cluster=", dims_text(cluster), ": ", device(), " has no clusters");
    for (int axis = 0; axis < 3; ++axis) {
      if (cluster[axis] > limit || options_.grid[axis] % cluster[axis] != 0) {
        refuse("cluster=", dims_text(cluster), " does not divide the grid ", dims_text(options_.grid));
      }
    }
    if (product(cluster) > limit) {
      refuse("cluster=", dims_text(cluster), " is more than the ", limit, " workgroups that ", device(), " can launch");
    }
  }

  void cooperative() const {
    if (!function_.device->cooperative) refuse("cooperative=True: ", device(), " has no cooperative launches");
    const auto block_size = static_cast<uint32_t>(product(block_));
    const auto resident = static_cast<int64_t>(function_.function->resident_workgroups(
        *function_.device, block_size, static_cast<uint32_t>(options_.shared_memory)));
    const Extents& grid = options_.grid;
    // Each extent alone must fit, so that the product cannot overflow.
    if (grid[0] > resident || grid[1] > resident || grid[2] > resident || product(grid) > resident) {
      refuse("cooperative=True: the grid ", dims_text(grid), " must be resident at once, and ", device(), " holds ",
             resident, " workgroups of this kernel with block ", dims_text(block_));
    }
  }

  const DeviceFunction& function_;
  const LaunchOptions& options_;
  const Extents& block_;
};

Extents block_of(const DeviceFunction& function, const LaunchOptions& options) {
  if (options.block) return *options.block;
  if (const auto& required = function.kernel->metadata.reqd_workgroup_size) return extents(*required);
  throw TypeError(text(kernel_text(function.kernel->metadata.name),
                       ": block= is missing: the binary fixes no workgroup size (at most ",
                       function.limits.max_block_size, " work-items)"));
}

/// Wave's compiler tells callers of the memory that it has declared in the binary; or of more, counted before it let
/// allocations share memory: where there is not so much, what the binary declares is what the kernel uses.
int64_t dynamic_shared_memory(const DeviceFunction& function, const LaunchOptions& options) {
  const int64_t wanted = options.shared_memory;
  if (!options.shared_memory_is_all || wanted <= 0) return wanted;
  const int64_t declared = function.info.shared_memory;
  const int64_t dynamic = std::max<int64_t>(0, wanted - declared);
  return declared > 0 && dynamic > function.limits.max_shared_memory ? 0 : dynamic;
}

}  // namespace

Geometry check_unusual_geometry(const DeviceFunction& function, const LaunchOptions& given) {
  LaunchOptions options = given;
  options.shared_memory = dynamic_shared_memory(function, given);
  const Extents block = block_of(function, options);
  if (options.has_attributes() || !fits(function.limits, options.grid, block, options.shared_memory)) {
    Check(function, options, block).all();
  }
  Geometry geometry{narrowed(options.grid), narrowed(block), static_cast<uint32_t>(options.shared_memory), {}};
  if (options.has_attributes()) {
    geometry.attributes = LaunchAttributes{narrowed(options.cluster), options.cooperative, options.programmatic, {}};
    if (options.priority) geometry.attributes->priority = static_cast<int32_t>(*options.priority);
  }
  return geometry;
}

}  // namespace wave
