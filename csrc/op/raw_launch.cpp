#include "op/raw_launch.h"

#include <atomic>
#include <mutex>

#include "base/error.h"
#include "base/fork_safe.h"
#include "op/device.h"

namespace wave {

namespace {

/// What launches look up, from many threads at once: who looks takes no lock, and an entry stays where it is.
class RawKernels {
 public:
  void add(const Kernel& kernel) {
    const std::lock_guard lock(mutex_);
    const uint64_t handle = handle_of(kernel);
    if (find(handle) != nullptr) return;
    std::atomic<const Entry*>& first = bucket(handle);
    first.store(new Entry{&kernel, first.load(std::memory_order_relaxed)}, std::memory_order_release);
  }
  const Kernel* find(uint64_t handle) {
    const Entry* entry = bucket(handle).load(std::memory_order_acquire);
    while (entry != nullptr && handle_of(*entry->kernel) != handle) entry = entry->next;
    return entry == nullptr ? nullptr : entry->kernel;
  }
  static uint64_t handle_of(const Kernel& kernel) { return reinterpret_cast<uint64_t>(&kernel); }

 private:
  struct Entry {
    const Kernel* kernel;
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
RawKernels& kernels = *new RawKernels();

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
  kernels.add(kernel);
  return RawKernels::handle_of(kernel);
}

const Kernel& find_raw(uint64_t handle) {
  if (const Kernel* const kernel = kernels.find(handle)) return *kernel;
  throw ValueError(text("gpu_func ", hex(handle), " is no function that load_binary() has returned"));
}

c10::Device current_device(const Kernel& kernel) {
  const bool is_gpu_code = !kernel.is_for_amd() || gpu_driver() == DriverKind::Hip;
  return is_gpu_code ? current_gpu().value_or(c10::kCPU) : c10::kCPU;
}

void preload(const Kernel& kernel, c10::Device device) { const FunctionUse load(kernel, place_of(device)); }

LaunchOptions raw_options(const Extents& grid, const Extents& block, const Extents& cluster, int64_t shared_memory) {
  LaunchOptions options;
  options.grid = grid;
  options.block = block;
  options.shared_memory = shared_memory;
  options.shared_memory_is_all = true;
  if (cluster[0] != 0 && cluster[1] != 0 && cluster[2] != 0) options.cluster = cluster;
  return options;
}

void complete_raw(Call& call, const LaunchOptions& options) {
  call.options = options;
  call.may_write_all = true;
  if (!call.has_tensors()) call.wanted_device = current_device(call.kernel);
}

}  // namespace wave
