#include "hip_emulator/launch.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <span>
#include <utility>

#include "base/address_span.h"
#include "base/error.h"
#include "emulator/checks.h"
#include "emulator/residency.h"
#include "emulator/run_as_asked.h"
#include "hip_emulator/dumped_launch.h"
#include "hip_emulator/stream_order.h"

namespace wave::hip_emulator {

namespace {

/// Seconds for which waves may wait in vain before a launch counts as stuck: the host, or kernels of other streams, may
/// change what they poll.
constexpr double kPatience = 2;

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
  const bool is_buffer =
      extra[0] == hip::kParamBufferPointer && extra[2] == hip::kParamBufferSize && extra[4] == hip::kParamEnd;
  require(is_buffer, hipErrorInvalidValue, "extra is not buffer, size, end");
  const auto* begin = static_cast<const uint8_t*>(extra[1]);
  const size_t size = *static_cast<const size_t*>(extra[3]);
  require(size == 0 || begin != nullptr);
  std::vector<uint8_t> bytes;
  if (!metadata.arguments) {
    if (size != 0 && !function.has_lost_arguments.exchange(true)) {
      report(kernel_text(metadata.name),
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

/// As far as 64 bits go.
uint64_t product(const Counts& counts) {
  uint64_t result = 1;
  for (const uint64_t count : counts) {
    if (__builtin_mul_overflow(result, count, &result)) return UINT64_MAX;
  }
  return result;
}

bool has_zero(const Counts& counts) { return std::ranges::find(counts, 0u) != counts.end(); }

using Fail = const std::function<void(Code, const std::string&)>&;

/// What functions that take workgroups check first. Kernels of the host program (ihipLaunchKernel in hip_platform.cpp)
/// may have more workgroups along y and z than others, except where their numbers have 16 bits: rocBLAS launches so
/// many.
void check_grid(const LaunchRequest& request, Fail fail) {
  const bool is_limited = request.host == nullptr || emulator::device_processor().ids_in_ttmp;
  for (int axis = 0; axis < 3; ++axis) {
    const uint64_t grid = request.grid[axis], block = request.block[axis];
    if (!request.cooperative && grid > kMostWorkgroups[axis] && (is_limited || axis == 0)) {
      const Code code = request.host == nullptr ? hipErrorInvalidValue : hipErrorInvalidConfiguration;
      fail(code, text(grid, " workgroups in ", "xyz"[axis], ", HIP launches at most ", kMostWorkgroups[axis]));
    }
    const bool is_limited_in_items = request.cooperative || request.host != nullptr || axis == 0;
    if (is_limited_in_items && grid * block > UINT32_MAX) {
      fail(hipErrorInvalidConfiguration, text(grid, " workgroups of ", block, " work-items are more than 2^32 - 1"));
    }
  }
}

/// With the codes of ROCm 6.4 (ROCm/clr, hipamd/src/hip_module.cpp, hipModuleLaunchKernel and
/// ihipLaunchKernel_validate). The last check is our own: AMD's runtime launches what the kernel was not compiled for.
void check_geometry(const LaunchRequest& request, const KernelMetadata& metadata) {
  const auto fail = [&](Code code, const std::string& reason) {
    throw Failure(code, text(kernel_text(metadata.name), ": ", reason));
  };
  if (!request.counts_items) check_grid(request, fail);
  const bool hides_block = has_zero(request.block) && !request.counts_items;  // work-items are their product
  if (has_zero(request.grid) || hides_block) fail(hipErrorInvalidValue, "a grid or block extent of 0");
  if (has_zero(request.block)) fail(hipErrorInvalidConfiguration, "a block extent of 0");
  const uint64_t items = product(request.block), compiled_for = metadata.max_flat_workgroup_size;
  if (items > kMostWorkItems)
    fail(hipErrorInvalidValue, text("a block of ", items, " work-items, the limit is ", kMostWorkItems));
  if (compiled_for != 0 && items > compiled_for) {
    fail(hipErrorLaunchFailure, text("a block of ", items, " work-items, it was compiled for ", compiled_for));
  }
  for (int axis = 0; metadata.reqd_workgroup_size && axis < 3; ++axis) {
    const uint64_t required = (*metadata.reqd_workgroup_size)[axis];
    if (request.block[axis] == required) continue;
    fail(hipErrorInvalidConfiguration, text("a block extent of ", request.block[axis], ", it requires ", required));
  }
}

/// Work-items as workgroups. A block that is larger than the grid is made smaller, and a grid ends within a workgroup
/// where the kernel's code says that it may, as in AMD's runtime (ROCm/clr, hipamd/src/hip_module.cpp,
/// ihipModuleLaunchKernel).
LaunchRequest in_workgroups(LaunchRequest request) {
  const bool is_uniform = request.function->kernel->metadata.uniform_work_group_size;
  for (int axis = 0; axis < 3 && request.counts_items; ++axis) {
    uint64_t &grid = request.grid[axis], &block = request.block[axis];
    block = std::min(block, grid);
    request.remainder[axis] = grid % block;
    require(!is_uniform || grid % block == 0, hipErrorInvalidValue,
            "a grid that ends within a workgroup, of a kernel that is compiled for whole ones");
    grid = (grid + block - 1) / block;
  }
  request.counts_items = false;
  return request;
}

uint64_t resident_workgroups(const LaunchRequest& request, const EmulatedModule& module, const KernelInfo& kernel) {
  const auto items = static_cast<uint32_t>(request.block[0] * request.block[1] * request.block[2]);
  const uint64_t lds = uint64_t{kernel.metadata.group_segment_fixed_size} + request.shared_memory;
  return emulator::resident_workgroups(module.emulated, kernel, items, lds);
}

/// Workgroups that wait for each other are all there at once.
void check_cooperation(const LaunchRequest& request) {
  const KernelFunction& function = *request.function;
  if (!request.cooperative) return;
  const uint64_t most = resident_workgroups(request, *function.module, *function.kernel);
  if (product(request.grid) <= most) return;
  throw Failure(hipErrorCooperativeLaunchTooLarge,
                text(kernel_text(function.kernel->metadata.name), ": a cooperative launch of ", product(request.grid),
                     " workgroups, of which only ", most, " are there at once"));
}

void check(const LaunchRequest& request, const KernelFunction& function) {
  const KernelInfo& kernel = *function.kernel;
  check_geometry(request, kernel.metadata);
  const uint32_t lds = emulator::device_processor().limits.lds_bytes;
  if (!AddressSpan(0, lds).contains({kernel.metadata.group_segment_fixed_size, request.shared_memory})) {
    throw Failure(
        hipErrorInvalidValue,
        text(kernel_text(kernel.metadata.name), ": ", kernel.metadata.group_segment_fixed_size, " bytes of static and ",
             request.shared_memory, " of dynamic LDS are more than ", lds / 1024, " KiB"));
  }
  check_cooperation(request);
}

/// The allocations that the arguments may point to, and the arguments that are null pointers: faults are described by
/// them.
std::vector<MemoryRange> pointed_to(const std::vector<uint8_t>& arguments, const KernelMetadata& metadata) {
  std::vector<MemoryRange> ranges;
  const auto add = [&](const Allocation& allocation) { ranges.push_back(allocation.range()); };
  runtime().memory.visit_pointed_to(arguments, kPointerStep, add);
  for (size_t i = 0; metadata.arguments && i < metadata.arguments->size(); ++i) {
    const ArgumentMetadata& argument = (*metadata.arguments)[i];
    uint64_t address = 0;
    const bool is_given = uint64_t{argument.offset} + sizeof(address) <= arguments.size();
    if (argument.kind != ValueKind::GlobalBuffer || argument.size != sizeof(address) || !is_given) continue;
    std::memcpy(&address, &arguments[argument.offset], sizeof(address));
    const std::string name = argument.name.empty() ? "" : text(" '", argument.name, "'");
    if (address == 0) ranges.push_back({AddressSpan(0, 0), false, text("argument ", i, name)});
  }
  return ranges;
}

void run(const PackedLaunch& launch) {
  KernelFunction& function = *launch.function;
  emulator::Dispatch dispatch;
  dispatch.module = &function.module->emulated;
  dispatch.kernel = function.kernel;
  dispatch.grid = launch.grid;
  dispatch.block = launch.block;
  dispatch.remainder = launch.remainder;
  dispatch.dynamic_lds = launch.shared_memory;
  dispatch.cooperative = launch.cooperative;
  dispatch.arguments = launch.arguments;
  dispatch.memory = pointed_to(launch.arguments, function.kernel->metadata);
  dispatch.find_region = [exact = launch.options.exact_bounds](uint64_t address) {
    return exact ? runtime().memory.exactly_at(address) : runtime().memory.at(address);
  };
  dispatch.parallel = launch.parallel;
  dispatch.patience = kPatience;
  const auto checks = emulator::Checks::make(launch.options, {});
  const emulator::Statistics statistics =
      emulator::run_as_asked(dispatch, launch.options, checks.get(), check_not_stopped);
  if (checks != nullptr) {
    checks->finish();
    const bool has_streams = !runtime().streams.all().empty();
    if (has_streams && launch.options.sanitizer != nullptr)
      stream_order().add(checks->accesses(dispatch), *launch.options.sanitizer);
  }
  if (statistics.over_reads.empty() || function.has_over_read.exchange(true)) return;
  for (const std::string& line : statistics.over_reads) report(kernel_text(function.kernel->metadata.name), line);
}

void run(const PackedLaunch& launch, Via via) {
  const KernelFunction& function = *launch.function;
  if (via == Via::Graph && function.module->is_unloaded) {
    throw Failure(hipErrorLaunchFailure, text("a graph launches ", kernel_text(function.kernel->metadata.name),
                                              ", whose module was unloaded"));
  }
  if (launch.options.dump.empty()) return run(launch);
  run_dumped(launch, [&] { run(launch); });
}

std::array<uint32_t, 3> narrowed(const Counts& counts) {
  return {static_cast<uint32_t>(counts[0]), static_cast<uint32_t>(counts[1]), static_cast<uint32_t>(counts[2])};
}

StreamOperation operation_of(PackedLaunch given) {
  const auto launch = std::make_shared<const PackedLaunch>(std::move(given));
  return {[launch](Via via) { run(*launch, via); }, KernelWork{launch}};
}

}  // namespace

StreamOperation launch_operation(const LaunchRequest& given, int device) {
  const std::shared_ptr<KernelFunction>& function = given.function;
  require(function->module->device == device, hipErrorInvalidHandle,
          "the kernel was loaded for another device than the stream's");
  require(given.parameters == nullptr || given.extra == nullptr, hipErrorInvalidValue, "both kernelParams and extra");
  check(given, *function);
  const LaunchRequest request = in_workgroups(given);
  const KernelMetadata& metadata = function->kernel->metadata;
  std::vector<uint8_t> arguments =
      request.extra != nullptr ? pack_extra(*function, request.extra) : pack_parameters(metadata, request.parameters);
  return operation_of({function, request.host, narrowed(request.grid), narrowed(request.block),
                       narrowed(request.remainder), static_cast<uint32_t>(request.shared_memory), request.cooperative,
                       std::move(arguments), EmulatorOptions::from_environment(), host_threads()});
}

StreamOperation launch_operation(PackedLaunch launch, bool cooperative) {
  launch.cooperative = cooperative;
  const auto& [gx, gy, gz] = launch.grid;
  const auto& [bx, by, bz] = launch.block;
  check_cooperation(
      {launch.function, {gx, gy, gz}, {bx, by, bz}, launch.shared_memory, nullptr, nullptr, nullptr, cooperative});
  return operation_of(std::move(launch));
}

namespace {

thread_local bool launches_are_refused = false;

}  // namespace

void refuse_launches(bool refused) { launches_are_refused = refused; }

void launch(const LaunchRequest& request) {
  require(!launches_are_refused, hipErrorStreamCaptureUnsupported,
          "a graph of torch.cuda is being captured, which does not record what is launched by HIP itself");
  const std::shared_ptr<Queue> queue = find_queue(request.stream, hipErrorInvalidValue);
  runtime().device(queue->device).check();
  submit(queue, launch_operation(request, queue->device));
}

void launch_between(const LaunchRequest& request, hip::Event start, hip::Event stop) {
  if (start != nullptr) record_event(start, request.stream);
  launch(request);
  if (stop != nullptr) record_event(stop, request.stream);
}

void apply_attributes(LaunchRequest& request, const hip::LaunchAttribute* attributes, uint32_t count) {
  require(count == 0 || attributes != nullptr);
  for (const hip::LaunchAttribute& attribute : std::span(attributes, count)) {
    if (attribute.id == hip::kAttributeCooperative) request.cooperative = attribute.value.cooperative != 0;
    if (attribute.id != hip::kAttributeClusterDimension) continue;
    const auto& [x, y, z] = attribute.value.cluster;
    require(x <= 1 && y <= 1 && z <= 1, hipErrorNotSupported, "the device has no workgroup clusters");
  }
}

}  // namespace wave::hip_emulator
