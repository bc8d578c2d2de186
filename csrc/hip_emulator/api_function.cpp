// Attributes of kernels, and how many workgroups of one fit on the device.
#include <algorithm>

#include "emulator/residency.h"
#include "hip_emulator/api.h"
#include "hip_emulator/host_program.h"

namespace wave::hip {

namespace {

using hip_emulator::find_kernel;
std::shared_ptr<KernelFunction> find_kernel(const void* host) { return host_program().kernel(host, current_device()); }

/// What settings are for: by HIP's declarations a kernel of the host program, and by AMD's runtime also one of a
/// module, as XLA names it.
std::shared_ptr<KernelFunction> find_set_kernel(const void* either) {
  const auto of_module =
      hip_emulator::runtime().functions.find_if_there(static_cast<Function>(const_cast<void*>(either)));
  return of_module != nullptr ? of_module : find_kernel(either);
}

FunctionAttributes attributes_of(const KernelInfo& kernel) {
  const KernelMetadata& metadata = kernel.metadata;
  const wave::Processor& target = *find_processor(emulator::device_processor().code);
  const int version = target.major * 10 + target.minor;
  const uint32_t lds = emulator::device_processor().limits.lds_bytes;
  return {.binary_version = version,
          .cache_mode = 0,
          .constant_bytes = 0,
          .local_bytes = metadata.private_segment_fixed_size,
          .max_dynamic_shared_bytes = static_cast<int>(lds - std::min(lds, metadata.group_segment_fixed_size)),
          .max_threads_per_block = static_cast<int>(metadata.max_flat_workgroup_size),
          .registers = static_cast<int>(metadata.vgpr_count),
          .shared_carveout = 0,
          .ptx_version = version,
          .shared_bytes = metadata.group_segment_fixed_size};
}

int attribute_of(const KernelInfo& kernel, FunctionAttribute attribute) {
  const FunctionAttributes all = attributes_of(kernel);
  switch (attribute) {
    case kFunctionMaxThreadsPerBlock:
      return all.max_threads_per_block;
    case kFunctionSharedSizeBytes:
      return static_cast<int>(all.shared_bytes);
    case kFunctionConstSizeBytes:
      return static_cast<int>(all.constant_bytes);
    case kFunctionLocalSizeBytes:
      return static_cast<int>(all.local_bytes);
    case kFunctionNumRegs:
      return all.registers;
    case kFunctionPtxVersion:
      return all.ptx_version;
    case kFunctionBinaryVersion:
      return all.binary_version;
    case kFunctionCacheModeCa:
      return all.cache_mode;
    case kFunctionMaxDynamicSharedSizeBytes:
      return all.max_dynamic_shared_bytes;
    case kFunctionPreferredSharedMemoryCarveout:
      return all.shared_carveout;
  }
  throw Failure(hipErrorInvalidValue);
}

/// Workgroups of `items` work-items that a multiprocessor holds at once.
int active_workgroups(const KernelFunction& function, int items, size_t shared_memory) {
  const KernelInfo& kernel = *function.kernel;
  const uint64_t lds = uint64_t{kernel.metadata.group_segment_fixed_size} + shared_memory;
  return static_cast<int>(
      emulator::workgroups_per_unit(function.module->emulated, kernel, static_cast<uint32_t>(items), lds));
}

Error max_active(const char* name, int* blocks, auto function, int block_size, size_t shared_memory) {
  return call(name, [&] {
    require(blocks != nullptr && block_size > 0);
    const auto found = find_kernel(function);
    const bool fits =
        block_size <= int{kMostWorkItems} && shared_memory <= emulator::device_processor().limits.lds_bytes;
    *blocks = fits ? active_workgroups(*found, block_size, shared_memory) : 0;
  });
}

/// The block with which the most work-items are under way at once, of those the largest, and as many blocks as the
/// device holds. A limit of 0 is none.
Error potential_block(const char* name, int* grid, int* block, auto function, size_t shared_memory, int limit) {
  return call(name, [&] {
    require(grid != nullptr && block != nullptr);
    require(shared_memory <= emulator::device_processor().limits.lds_bytes);
    const auto found = find_kernel(function);
    const auto& processor = emulator::device_processor();
    const int wave = static_cast<int>(processor.lanes);
    const int compiled_for = static_cast<int>(found->kernel->metadata.max_flat_workgroup_size);
    int most = compiled_for > 0 ? std::min(compiled_for, int{kMostWorkItems}) : int{kMostWorkItems};
    if (limit > 0) most = std::min(most, std::max(limit, wave));
    int best = 0;
    *grid = *block = 0;
    for (int items = most / wave * wave; items > 0; items -= wave) {
      const int count = active_workgroups(*found, items, shared_memory);
      if (count * items <= best) continue;
      best = count * items;
      *block = items;
      *grid = count * static_cast<int>(processor.multiprocessors());
    }
  });
}

Error check_flags(const char* name, unsigned flags) {
  constexpr unsigned kDisableCachingOverride = 1;
  return call(name, [&] { require(flags <= kDisableCachingOverride); });
}

}  // namespace

Error hipFuncGetAttribute(int* value, FunctionAttribute attribute, Function function) {
  return call(__func__, [&] {
    require(value != nullptr);
    *value = attribute_of(*find_kernel(function)->kernel, attribute);
  });
}

Error hipFuncGetAttributes(FunctionAttributes* attributes, const void* host) {
  return call(__func__, [&] {
    require(attributes != nullptr);
    *attributes = attributes_of(*find_kernel(host)->kernel);
  });
}

Error hipFuncSetAttribute(const void* host, FunctionSetting setting, int value) {
  return call(__func__, [&] {
    const FunctionAttributes attributes = attributes_of(*find_set_kernel(host)->kernel);
    require(setting == kMaxDynamicSharedMemory || setting == kSharedMemoryCarveout);
    const bool is_size = setting == kMaxDynamicSharedMemory;
    require(value >= (is_size ? 0 : -1) && value <= (is_size ? attributes.max_dynamic_shared_bytes : 100));
  });
}

/// The device has no caches to be configured: what is asked for is taken, as AMD's runtime takes it.
Error hipFuncSetCacheConfig(const void* host, CacheConfig) {
  return call(__func__, [&] { find_set_kernel(host); });
}
Error hipFuncSetSharedMemConfig(const void* host, SharedMemoryConfig) {
  return call(__func__, [&] { find_set_kernel(host); });
}

Error hipOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* host, int block_size,
                                                   size_t shared_memory) {
  return max_active(__func__, blocks, host, block_size, shared_memory);
}
Error hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* host, int block_size,
                                                            size_t shared_memory, unsigned flags) {
  if (const Error error = check_flags(__func__, flags)) return error;
  return max_active(__func__, blocks, host, block_size, shared_memory);
}
Error hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, Function function, int block_size,
                                                         size_t shared_memory) {
  return max_active(__func__, blocks, function, block_size, shared_memory);
}
Error hipModuleOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, Function function, int block_size,
                                                                  size_t shared_memory, unsigned flags) {
  if (const Error error = check_flags(__func__, flags)) return error;
  return max_active(__func__, blocks, function, block_size, shared_memory);
}

Error hipOccupancyMaxPotentialBlockSize(int* grid, int* block, const void* host, size_t shared_memory, int limit) {
  return potential_block(__func__, grid, block, host, shared_memory, limit);
}
Error hipModuleOccupancyMaxPotentialBlockSize(int* grid, int* block, Function function, size_t shared_memory,
                                              int limit) {
  return potential_block(__func__, grid, block, function, shared_memory, limit);
}
Error hipModuleOccupancyMaxPotentialBlockSizeWithFlags(int* grid, int* block, Function function, size_t shared_memory,
                                                       int limit, unsigned flags) {
  if (const Error error = check_flags(__func__, flags)) return error;
  return potential_block(__func__, grid, block, function, shared_memory, limit);
}

/// The number of a function in tracers' records, of which there are none.
const char* hipApiName(uint32_t) { return "unknown"; }

const char* hipKernelNameRef(Function function) {
  const char* name = nullptr;
  call(__func__, [&] { name = find_kernel(function)->kernel->metadata.name.c_str(); });
  return name;
}

const char* hipKernelNameRefByPtr(const void* host, Stream stream) {
  const char* name = nullptr;
  call(__func__,
       [&] { name = host_program().kernel(host, find_queue(stream)->device)->kernel->metadata.name.c_str(); });
  return name;
}

}  // namespace wave::hip
