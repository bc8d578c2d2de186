#include "driver/hip/hip_function.h"

#include <algorithm>
#include <array>
#include <tuple>

#include "driver/hip/hip_device.h"

namespace wave::hip {

namespace {

/// AMD's runtime takes from kernelParams and from extra only what the metadata lists (rocclr,
/// KernelParameters::captureAndSet).
[[noreturn]] void refuse_arguments(const KernelMetadata& metadata) {
  throw ValueError(
      text(kernel_text(metadata.name),
           ": its file does not list its arguments, and AMD's HIP passes only those that it lists, so that "
           "what signature= describes would not arrive. List them under .args in the .amdgpu_metadata of "
           "the assembly; on CPU tensors the kernel runs as it is"));
}

}  // namespace

HipFunction::HipFunction(const Api& api, Device device, Function function, const KernelInfo& kernel, StreamSet& streams)
    : api_(api), device_(device), function_(function), kernel_(kernel), streams_(streams) {
  if (!kernel.metadata.arguments) return;
  for (const ArgumentMetadata& argument : *kernel.metadata.arguments) {
    if (!is_hidden(argument.kind)) offsets_.push_back(argument.offset);
  }
}

uint32_t HipFunction::attribute(FunctionAttribute attribute) const {
  const DeviceGuard guard(api_, device_);
  int value = 0;
  api_.check(api_.hipFuncGetAttribute(&value, attribute, function_), "hipFuncGetAttribute");
  return static_cast<uint32_t>(value);
}

FunctionInfo HipFunction::info() const {
  return {attribute(kFunctionNumRegs), attribute(kFunctionSharedSizeBytes), attribute(kFunctionLocalSizeBytes),
          attribute(kFunctionConstSizeBytes), attribute(kFunctionMaxThreadsPerBlock)};
}

uint32_t HipFunction::occupancy(uint32_t block_size, uint32_t shared_memory) const {
  const DeviceGuard guard(api_, device_);
  int blocks = 0;
  api_.check(api_.hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function_, static_cast<int>(block_size),
                                                                     shared_memory),
             "hipModuleOccupancyMaxActiveBlocksPerMultiprocessor");
  return static_cast<uint32_t>(blocks);
}

void HipFunction::launch(const Launch& launch) {
  if (!kernel_.metadata.arguments && !launch.arguments.empty()) refuse_arguments(kernel_.metadata);
  const DeviceGuard guard(api_, device_, launch.is_on_current_device);
  streams_.add(static_cast<Stream>(launch.stream));
  constexpr size_t kInline = 64;
  std::array<void*, kInline> on_stack;
  std::vector<void*> on_heap(offsets_.size() > kInline ? offsets_.size() : 0);
  void** parameters = on_heap.empty() ? on_stack.data() : on_heap.data();
  auto* packed = const_cast<uint8_t*>(launch.arguments.data());
  std::transform(offsets_.begin(), offsets_.end(), parameters, [&](uint32_t offset) { return packed + offset; });
  if (const LaunchAttributes* attributes = launch.attributes) {
    const bool only_cooperative = attributes->cluster == Dims{1, 1, 1} && !attributes->priority;
    return only_cooperative ? launch_cooperative(launch, parameters) : launch_with_attributes(launch, parameters);
  }
  const auto& [grid, block] = std::tie(launch.grid, launch.block);
  api_.check(api_.hipModuleLaunchKernel(function_, grid[0], grid[1], grid[2], block[0], block[1], block[2],
                                        launch.shared_memory, static_cast<Stream>(launch.stream), parameters, nullptr),
             "hipModuleLaunchKernel");
}

void HipFunction::launch_cooperative(const Launch& launch, void** parameters) const {
  if (api_.hipModuleLaunchCooperativeKernel == nullptr) return launch_with_attributes(launch, parameters);
  const auto& [grid, block] = std::tie(launch.grid, launch.block);
  api_.check(
      api_.hipModuleLaunchCooperativeKernel(function_, grid[0], grid[1], grid[2], block[0], block[1], block[2],
                                            launch.shared_memory, static_cast<Stream>(launch.stream), parameters),
      "hipModuleLaunchCooperativeKernel");
}

void HipFunction::launch_with_attributes(const Launch& launch, void** parameters) const {
  if (api_.hipDrvLaunchKernelEx == nullptr) {
    throw RuntimeError(text(api_.library.path(),
                            " has no hipDrvLaunchKernelEx, which launches with cluster=, cooperative= "
                            "or priority= need: hipDrvLaunchKernelEx is not available before ROCm 6.5"));
  }
  const LaunchAttributes& wanted = *launch.attributes;
  LaunchAttribute attributes[3] = {};
  uint32_t count = 0;
  if (wanted.cluster != Dims{1, 1, 1}) {
    attributes[count].id = kAttributeClusterDimension;
    std::copy(wanted.cluster.begin(), wanted.cluster.end(), attributes[count++].value.cluster);
  }
  if (wanted.cooperative) {
    attributes[count].id = kAttributeCooperative;
    attributes[count++].value.cooperative = 1;
  }
  if (wanted.priority) {
    attributes[count].id = kAttributePriority;
    attributes[count++].value.priority = *wanted.priority;
  }
  const LaunchConfig config{{launch.grid[0], launch.grid[1], launch.grid[2]},
                            {launch.block[0], launch.block[1], launch.block[2]},
                            launch.shared_memory,
                            static_cast<Stream>(launch.stream),
                            attributes,
                            count};
  api_.check(api_.hipDrvLaunchKernelEx(&config, function_, parameters, nullptr), "hipDrvLaunchKernelEx");
}

}  // namespace wave::hip
