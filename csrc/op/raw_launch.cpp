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

/// A kernel's own shared memory counts towards what the caller asks for: Wave's compiler tells callers of the memory
/// that it has declared in the binary.
int64_t dynamic_shared_memory(const DeviceFunction& function, int64_t wanted) {
  return wanted <= 0 ? wanted : std::max<int64_t>(0, wanted - function.info.shared_memory);
}

Geometry geometry_of(const DeviceFunction& function, const RawOptions& options) {
  LaunchOptions wanted;
  wanted.grid = options.grid;
  wanted.block = options.block;
  wanted.shared_memory = dynamic_shared_memory(function, options.shared_memory);
  if (std::ranges::find(options.cluster, 0) == options.cluster.end()) wanted.cluster = options.cluster;
  return check_geometry(function, wanted);
}

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

std::vector<std::string> launch_raw(const RawFunction& function, const RawOptions& options,
                                    std::span<const uint8_t> arguments, const TensorArguments& tensors,
                                    bool has_addresses) {
  const Kernel& kernel = *function.kernel;
  const bool has_tensors = !tensors.items().empty();
  const c10::Device device = has_tensors ? tensors.device() : current_device(kernel);
  const FunctionUse use(kernel, place_of(device));
  const Geometry geometry = geometry_of(*use, options);
  if (has_tensors) tensors.tell_autograd();
  const LaunchSite site{kernel, *use, geometry, options.stream ? *options.stream : current_stream(device)};
  if (use->place.kind != DriverKind::Emulator) return run(site, arguments, {});
  std::vector<MemoryRange> memory = tensors.memory();
  // Wave's compiler says "read_only" of tensors that only atomic operations change.
  for (MemoryRange& range : memory) range.writable = true;
  return run(site, arguments, {std::move(memory), has_addresses});
}

}  // namespace wave
