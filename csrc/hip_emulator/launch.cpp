#include "hip_emulator/launch.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/address_span.h"
#include "base/emulator_options.h"
#include "base/error.h"
#include "base/host_threads.h"
#include "emulator/dispatch.h"
#include "emulator/residency.h"

namespace wave::hip_emulator {

namespace {

/// A launch with everything checked and packed.
struct Launch {
  std::shared_ptr<KernelFunction> function;
  std::array<uint32_t, 3> grid;
  std::array<uint32_t, 3> block;
  uint32_t shared_memory;
  std::vector<uint8_t> arguments;
  EmulatorOptions options;  ///< as the environment said at the call
  Parallel parallel;
};

/// One pointer to each argument that the caller passes; where they lie, the metadata says.
std::vector<uint8_t> pack_parameters(const KernelMetadata& metadata, void** parameters) {
  std::vector<uint8_t> bytes;
  if (!metadata.arguments) return bytes;
  size_t index = 0;
  for (const ArgumentMetadata& argument : *metadata.arguments) {
    if (is_hidden(argument.kind)) continue;
    require(parameters != nullptr && parameters[index] != nullptr, hipErrorInvalidValue,
            "a kernel that takes arguments was launched without");
    bytes.resize(std::max<size_t>(bytes.size(), argument.offset + argument.size));
    std::memcpy(&bytes[argument.offset], parameters[index++], argument.size);
  }
  return bytes;
}

/// HIP_LAUNCH_PARAM_BUFFER_POINTER, the buffer, HIP_LAUNCH_PARAM_BUFFER_SIZE, a pointer to its size,
/// HIP_LAUNCH_PARAM_END. As in AMD's runtime (rocclr, KernelParameters::captureAndSet) the metadata says what is taken
/// from the buffer; of what it does not list nothing arrives.
std::vector<uint8_t> pack_extra(KernelFunction& function, void** extra) {
  const KernelMetadata& metadata = function.kernel->metadata;
  const auto is = [&](int index, uintptr_t tag) { return reinterpret_cast<uintptr_t>(extra[index]) == tag; };
  require(is(0, 1) && is(2, 2) && is(4, 3), hipErrorInvalidValue, "extra is not buffer, size, end");
  const auto* begin = static_cast<const uint8_t*>(extra[1]);
  const size_t size = *static_cast<const size_t*>(extra[3]);
  require(size == 0 || begin != nullptr);
  std::vector<uint8_t> bytes;
  if (!metadata.arguments) {
    if (size != 0 && !function.has_lost_arguments.exchange(true)) {
      report(text("kernel '", metadata.name, "'"),
             text("the ", size,
                  " bytes of arguments in extra do not arrive: HIP passes what .args in the file's "
                  "metadata lists, and it has none"));
    }
    return bytes;
  }
  for (const ArgumentMetadata& argument : *metadata.arguments) {
    if (is_hidden(argument.kind) || argument.offset >= size) continue;
    bytes.resize(std::max<size_t>(bytes.size(), argument.offset + argument.size));
    std::memcpy(&bytes[argument.offset], begin + argument.offset,
                std::min<size_t>(argument.size, size - argument.offset));
  }
  return bytes;
}

void check_geometry(const LaunchRequest& request, const KernelInfo& kernel) {
  const KernelMetadata& metadata = kernel.metadata;
  const auto fail = [&](const std::string& reason) {
    throw Failure(hipErrorInvalidConfiguration, text("kernel '", metadata.name, "': ", reason));
  };
  const uint64_t limit = metadata.max_flat_workgroup_size != 0 ? metadata.max_flat_workgroup_size : 1024;
  for (int axis = 0; axis < 3; ++axis) {
    const uint64_t grid = request.grid[axis], block = request.block[axis];
    if (grid == 0 || block == 0) fail("a grid or block extent of 0");
    if (block > limit) fail(text("a block extent of ", block, ", the kernel was compiled for ", limit, " work-items"));
    if (grid > UINT32_MAX / block) fail(text(grid, " workgroups of ", block, " work-items are more than 2^32 - 1"));
    if (metadata.reqd_workgroup_size && block != (*metadata.reqd_workgroup_size)[axis]) {
      fail(text("a block extent of ", block, ", the kernel requires ", (*metadata.reqd_workgroup_size)[axis]));
    }
  }
  const uint64_t items = request.block[0] * request.block[1] * request.block[2];
  if (items > limit) fail(text(items, " work-items, the kernel was compiled for ", limit));
}

uint64_t resident_workgroups(const LaunchRequest& request, const LoadedModule& module, const KernelInfo& kernel) {
  const auto items = static_cast<uint32_t>(request.block[0] * request.block[1] * request.block[2]);
  const uint32_t lds = kernel.metadata.group_segment_fixed_size + static_cast<uint32_t>(request.shared_memory);
  return emulator::resident_workgroups(module.emulated.code().target(), kernel, items, lds);
}

void check(const LaunchRequest& request, const KernelFunction& function) {
  const KernelInfo& kernel = *function.kernel;
  check_geometry(request, kernel);
  constexpr uint64_t kLds = 64 * 1024;
  if (!AddressSpan(0, kLds).contains({kernel.metadata.group_segment_fixed_size, request.shared_memory})) {
    throw Failure(hipErrorInvalidValue, text("kernel '", kernel.metadata.name, "': more than 64 KiB of LDS"));
  }
  const auto& [x, y, z] = request.grid;
  if (request.cooperative && x * y * z > resident_workgroups(request, *function.module, kernel)) {
    throw Failure(hipErrorCooperativeLaunchTooLarge);
  }
}

/// The allocations that the arguments may point to: faults are described by them.
std::vector<MemoryRange> pointed_to(const std::vector<uint8_t>& arguments) {
  std::vector<MemoryRange> ranges;
  for (size_t at = 0; at + 8 <= arguments.size(); at += 4) {
    uint64_t address = 0;
    std::memcpy(&address, &arguments[at], sizeof(address));
    if (const auto allocation = runtime().memory.find(address)) ranges.push_back(allocation->range());
  }
  return ranges;
}

void run(const Launch& launch, Via via) {
  KernelFunction& function = *launch.function;
  const std::string& name = function.kernel->metadata.name;
  if (via == Via::Graph && function.module->is_unloaded) {
    throw Failure(hipErrorLaunchFailure, text("a graph launches kernel '", name, "', whose module was unloaded"));
  }
  emulator::Dispatch dispatch;
  dispatch.module = &function.module->emulated;
  dispatch.kernel = function.kernel;
  dispatch.grid = launch.grid;
  dispatch.block = launch.block;
  dispatch.dynamic_lds = launch.shared_memory;
  dispatch.arguments = launch.arguments;
  dispatch.memory = pointed_to(launch.arguments);
  dispatch.find_region = [](uint64_t address) { return runtime().memory.at(address); };
  dispatch.parallel = launch.parallel;
  dispatch.max_instructions = launch.options.max_instructions;
  dispatch.time_limit = launch.options.time_limit;
  dispatch.deterministic = launch.options.deterministic;
  dispatch.poll = [](uint64_t, uint64_t) { check_not_stopped(); };
  const emulator::Statistics statistics = emulator::run(dispatch);
  if (statistics.over_reads.empty() || function.has_over_read.exchange(true)) return;
  for (const std::string& line : statistics.over_reads) report(text("kernel '", name, "'"), line);
}

std::array<uint32_t, 3> narrowed(const std::array<uint64_t, 3>& extents) {
  return {static_cast<uint32_t>(extents[0]), static_cast<uint32_t>(extents[1]), static_cast<uint32_t>(extents[2])};
}

}  // namespace

void launch(const LaunchRequest& request) {
  auto function = runtime().functions.find(request.function);
  const std::shared_ptr<Queue> queue = find_queue(request.stream);
  runtime().device(queue->device).check();
  require(function->module->device == queue->device, hipErrorInvalidHandle,
          "the kernel was loaded for another device than the stream's");
  require(request.parameters == nullptr || request.extra == nullptr, hipErrorInvalidValue,
          "both kernelParams and extra");
  check(request, *function);
  const KernelMetadata& metadata = function->kernel->metadata;
  std::vector<uint8_t> arguments =
      request.extra != nullptr ? pack_extra(*function, request.extra) : pack_parameters(metadata, request.parameters);
  auto launch =
      std::make_shared<const Launch>(Launch{std::move(function), narrowed(request.grid), narrowed(request.block),
                                            static_cast<uint32_t>(request.shared_memory), std::move(arguments),
                                            EmulatorOptions::from_environment(), host_threads()});
  submit(queue, [launch = std::move(launch)](Via via) { run(*launch, via); });
}

}  // namespace wave::hip_emulator
