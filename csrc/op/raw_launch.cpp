#include "op/raw_launch.h"

#include <algorithm>
#include <atomic>
#include <mutex>

#include "base/error.h"
#include "base/fork_safe.h"
#include "op/device.h"

namespace wave {

namespace {

/// What launches look up, from many threads at once: who looks takes no lock, and an entry stays where it is.
class RawFunctions {
 public:
  void add(uint64_t handle, const RawFunction& function) {
    const std::lock_guard lock(mutex_);
    if (find(handle) != nullptr) return;
    std::atomic<const Entry*>& first = bucket(handle);
    first.store(new Entry{handle, function, first.load(std::memory_order_relaxed)}, std::memory_order_release);
  }
  const RawFunction* find(uint64_t handle) {
    const Entry* entry = bucket(handle).load(std::memory_order_acquire);
    while (entry != nullptr && entry->handle != handle) entry = entry->next;
    return entry == nullptr ? nullptr : &entry->function;
  }

 private:
  struct Entry {
    uint64_t handle;
    RawFunction function;
    const Entry* next;
  };
  static constexpr int kBucketBits = 10;

  std::atomic<const Entry*>& bucket(uint64_t handle) {
    return buckets_[handle * 0x9e3779b97f4a7c15u >> (64 - kBucketBits)];
  }

  Mutex mutex_;
  std::atomic<const Entry*> buckets_[size_t{1} << kBucketBits] = {};
};

/// Never destroyed: launches may come from static destructors.
RawFunctions& functions = *new RawFunctions();

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
  functions.add(handle, {&kernel, end});
  return handle;
}

const RawFunction& find_raw(uint64_t handle) {
  if (const RawFunction* const function = functions.find(handle)) return *function;
  throw ValueError(text("gpu_func ", hex(handle), " is no function that load_binary() has returned"));
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
