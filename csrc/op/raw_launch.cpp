#include "op/raw_launch.h"

#include <algorithm>
#include <unordered_map>

#include "base/error.h"
#include "base/fork_safe.h"
#include "op/device.h"

namespace wave {

namespace {

struct Table {
  SharedMutex mutex;
  std::unordered_map<uint64_t, RawFunction> functions;
};

/// Never destroyed: launches may come from static destructors.
Table& table = *new Table();

}  // namespace

const Kernel& raw_kernel(CodeObjects variants, std::string_view name) {
  KernelOptions options;
  options.strides = StridePolicy::Any;
  const KernelMetadata& metadata = variants.front()->kernel(name).metadata;
  if (!metadata.arguments) {
    const uint32_t size = metadata.kernarg_segment_size;
    options.signature = size == 0 ? "" : text("bytes[", size, "]");
  }
  return register_kernel(std::make_unique<const Kernel>(std::move(variants), name, options));
}

uint64_t raw_handle(const Kernel& kernel) {
  uint32_t end = 0;
  for (const Parameter& parameter : kernel.signature().parameters) {
    end = std::max(end, parameter.offset + parameter.size);
  }
  const uint64_t handle = reinterpret_cast<uint64_t>(&kernel);
  std::unique_lock lock(table.mutex);
  table.functions.try_emplace(handle, RawFunction{&kernel, end});
  return handle;
}

RawFunction find_raw(uint64_t handle) {
  std::shared_lock lock(table.mutex);
  const auto found = table.functions.find(handle);
  if (found == table.functions.end()) {
    throw ValueError(text("gpu_func ", hex(handle), " is no function that load_binary() has returned"));
  }
  return found->second;
}

c10::Device current_device(const Kernel& kernel) {
  const bool is_gpu_code = kernel.code().format() != Format::AmdGpu || gpu_driver() == DriverKind::Hip;
  return is_gpu_code ? current_gpu().value_or(c10::kCPU) : c10::kCPU;
}

void preload(const Kernel& kernel, c10::Device device) { const FunctionUse load(kernel, place_of(device)); }

void set_raw_options(Call& call, const Extents& grid, const Extents& block, const Extents& cluster,
                     int64_t shared_memory) {
  call.options.grid = grid;
  call.options.block = block;
  if (std::ranges::find(cluster, 0) == cluster.end()) call.options.cluster = cluster;
  call.options.shared_memory = shared_memory;
  call.options.shared_memory_is_all = true;
  call.may_write_all = true;
  if (!call.has_tensors()) call.wanted_device = current_device(call.kernel);
}

}  // namespace wave
