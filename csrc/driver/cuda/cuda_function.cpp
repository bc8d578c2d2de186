#include "driver/cuda/cuda_function.h"

#include <algorithm>
#include <vector>

#include "driver/cuda/cuda_context.h"

namespace wave::cuda {

namespace {

constexpr uint32_t kSharedMemoryWithoutOptIn = 48 * 1024;
constexpr uint32_t kPortableClusterSize = 8;  // CUDA C++ Programming Guide, "Thread Block Clusters"

/// The attributes that a launch asks for, as cuLaunchKernelEx takes them.
class AttributeList {
 public:
  explicit AttributeList(const LaunchAttributes& wanted) {
    const Dims& cluster = wanted.cluster;
    if (cluster != Dims{1, 1, 1}) std::copy(cluster.begin(), cluster.end(), add(kAttributeClusterDimension).cluster);
    if (wanted.cooperative) add(kAttributeCooperative).cooperative = 1;
    if (wanted.programmatic) add(kAttributeProgrammaticStreamSerialization).programmatic = 1;
    if (wanted.priority) add(kAttributePriority).priority = *wanted.priority;
  }
  LaunchAttribute* data() { return items_; }
  uint32_t size() const { return size_; }

 private:
  decltype(LaunchAttribute::value)& add(LaunchAttributeId id) {
    LaunchAttribute& item = items_[size_++];
    item.id = id;
    return item.value;
  }

  LaunchAttribute items_[4] = {};
  uint32_t size_ = 0;
};

}  // namespace

CudaFunction::CudaFunction(const Api& api, Context context, Function function, const KernelInfo& kernel)
    : api_(api), context_(context), function_(function), launch_kernel_(api.cuLaunchKernel) {
  if (kernel.metadata.kernarg_segment_size != 0) parameter_bytes_ = kernel.metadata.kernarg_segment_size;
  if (kernel.metadata.arguments) {
    offsets_.emplace();
    for (const ArgumentMetadata& argument : *kernel.metadata.arguments) offsets_->push_back(argument.offset);
  }
  const uint32_t own = attribute(kFunctionSharedSizeBytes);
  allowed_shared_memory_ = kSharedMemoryWithoutOptIn - std::min(own, kSharedMemoryWithoutOptIn);
}

uint32_t CudaFunction::attribute(FunctionAttribute attribute) const {
  const ContextGuard guard(api_, context_);
  int value = 0;
  api_.check(api_.cuFuncGetAttribute(&value, attribute, function_), "cuFuncGetAttribute");
  return static_cast<uint32_t>(value);
}

FunctionInfo CudaFunction::info() const {
  return {attribute(kFunctionNumRegs), attribute(kFunctionSharedSizeBytes), attribute(kFunctionLocalSizeBytes),
          attribute(kFunctionConstSizeBytes), attribute(kFunctionMaxThreadsPerBlock)};
}

uint32_t CudaFunction::occupancy(uint32_t block_size, uint32_t shared_memory) const {
  const ContextGuard guard(api_, context_);
  allow_shared_memory(shared_memory);
  int blocks = 0;
  api_.check(
      api_.cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function_, static_cast<int>(block_size), shared_memory),
      "cuOccupancyMaxActiveBlocksPerMultiprocessor");
  return static_cast<uint32_t>(blocks);
}

/// Needs the context to be current.
void CudaFunction::allow_shared_memory(uint32_t size) const {
  uint32_t allowed = allowed_shared_memory_.load(std::memory_order_relaxed);
  if (size <= allowed) return;
  api_.check(api_.cuFuncSetAttribute(function_, kFunctionMaxDynamicSharedSizeBytes, static_cast<int>(size)),
             "cuFuncSetAttribute");
  while (size > allowed && !allowed_shared_memory_.compare_exchange_weak(allowed, size)) {
  }
}

void CudaFunction::launch(const Launch& launch) {
  const ContextGuard guard(api_, context_, launch.is_on_current_device);
  if (launch.shared_memory > allowed_shared_memory_.load(std::memory_order_relaxed)) [[unlikely]] {
    allow_shared_memory(launch.shared_memory);
  }
  size_t size = std::min(launch.arguments.size(), parameter_bytes_);
  void* extra[] = {kParamBufferPointer, const_cast<uint8_t*>(launch.arguments.data()), kParamBufferSize, &size,
                   kParamEnd};
  if (launch.attributes != nullptr) [[unlikely]]
    return launch_with_attributes(launch, extra);
  const auto& [grid, block] = std::tie(launch.grid, launch.block);
  api_.check(launch_kernel_(function_, grid[0], grid[1], grid[2], block[0], block[1], block[2], launch.shared_memory,
                            static_cast<Stream>(launch.stream), nullptr, extra),
             "cuLaunchKernel");
}

void CudaFunction::launch_with_attributes(const Launch& launch, void** extra) const {
  if (api_.cuLaunchKernelEx == nullptr) {
    throw RuntimeError(text(api_.library.path(),
                            " has no cuLaunchKernelEx, which launches with cluster=, cooperative=, "
                            "programmatic= or priority= need: install a driver for CUDA 11.8 or later"));
  }
  const Dims& cluster = launch.attributes->cluster;
  if (cluster[0] * cluster[1] * cluster[2] > kPortableClusterSize) {
    api_.check(api_.cuFuncSetAttribute(function_, kFunctionNonPortableClusterSizeAllowed, 1), "cuFuncSetAttribute");
  }
  AttributeList attributes(*launch.attributes);
  const LaunchConfig config{{launch.grid[0], launch.grid[1], launch.grid[2]},
                            {launch.block[0], launch.block[1], launch.block[2]},
                            launch.shared_memory,
                            static_cast<Stream>(launch.stream),
                            attributes.data(),
                            attributes.size()};
  std::vector<void*> parameters;
  for (const uint32_t offset : offsets_.value_or(std::vector<uint32_t>())) {
    parameters.push_back(const_cast<uint8_t*>(launch.arguments.data()) + offset);
  }
  const Error error = offsets_ ? api_.cuLaunchKernelEx(&config, function_, parameters.data(), nullptr)
                               : api_.cuLaunchKernelEx(&config, function_, nullptr, extra);
  api_.check(error, "cuLaunchKernelEx");
}

}  // namespace wave::cuda
