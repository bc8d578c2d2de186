// Modules, kernels, launches.
#include <fstream>
#include <iterator>
#include <string>

#include "base/error.h"
#include "code_object/file_kind.h"
#include "emulator/residency.h"
#include "hip_emulator/api.h"
#include "hip_emulator/launch.h"

namespace wave::hip {

namespace {

std::vector<uint8_t> read_file(const char* path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Failure(hipErrorFileNotFound, text("cannot open ", path));
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::string_view checked_name(const char* name) {
  require(name != nullptr && *name != '\0');
  return name;
}

const Symbol& variable_of(const CodeObject& code, std::string_view name) {
  const Symbol* variable = nullptr;
  try {
    variable = code.variable(name);
  } catch (const ValueError& error) {
    throw Failure(hipErrorNotFound, error.what());
  }
  if (variable == nullptr) throw Failure(hipErrorNotFound);
  return *variable;
}

int function_attribute(const KernelInfo& kernel, FunctionAttribute attribute) {
  const KernelMetadata& metadata = kernel.metadata;
  switch (attribute) {
    case kFunctionMaxThreadsPerBlock:
      return static_cast<int>(metadata.max_flat_workgroup_size);
    case kFunctionSharedSizeBytes:
      return static_cast<int>(metadata.group_segment_fixed_size);
    case kFunctionConstSizeBytes:
      return 0;
    case kFunctionLocalSizeBytes:
      return static_cast<int>(metadata.private_segment_fixed_size);
    case kFunctionNumRegs:
      return static_cast<int>(metadata.vgpr_count);
  }
  throw Failure(hipErrorInvalidValue);
}

LaunchRequest cooperative(LaunchRequest request) {
  request.cooperative = true;
  return request;
}

LaunchRequest with_attributes(LaunchRequest request, const LaunchConfig& config) {
  for (uint32_t i = 0; i < config.attribute_count; ++i) {
    const LaunchAttribute& attribute = config.attributes[i];
    if (attribute.id == kAttributeCooperative) request.cooperative = attribute.value.cooperative != 0;
    if (attribute.id != kAttributeClusterDimension) continue;
    const auto& [x, y, z] = attribute.value.cluster;
    require(x <= 1 && y <= 1 && z <= 1, hipErrorNotSupported, "the device has no workgroup clusters");
  }
  return request;
}

}  // namespace

Error hipModuleLoadData(Module* module, const void* image) {
  return call(__func__, [&] {
    require(module != nullptr && image != nullptr);
    *module = runtime().modules.add(load_module(image_bytes(image), current_device()));
  });
}

Error hipModuleLoadDataEx(Module* module, const void* image, unsigned, JitOption*, void**) {
  return hipModuleLoadData(module, image);
}

Error hipModuleLoad(Module* module, const char* file) {
  return call(__func__, [&] {
    require(module != nullptr && file != nullptr);
    const std::vector<uint8_t> bytes = read_file(file);
    try {
      classify(Bytes(bytes, "file"));
    } catch (const ValueError& error) {
      throw Failure(hipErrorInvalidImage, error.what());
    }
    *module = runtime().modules.add(load_module(bytes, current_device()));
  });
}

Error hipModuleUnload(Module module) {
  return call(__func__, [&] {
    const auto unloaded = runtime().modules.remove(module);
    unloaded->is_unloaded = true;
    std::lock_guard lock(unloaded->mutex);
    for (const auto& [name, function] : unloaded->functions) runtime().functions.remove(function);
    unloaded->functions.clear();
  });
}

Error hipModuleGetFunction(Function* function, Module module, const char* name) {
  return call(__func__, [&] {
    require(function != nullptr);
    const std::string_view wanted = checked_name(name);
    const auto loaded = runtime().modules.find(module);
    for (const KernelInfo& kernel : loaded->emulated.code().kernels()) {
      if (kernel.metadata.name != wanted) continue;
      std::lock_guard lock(loaded->mutex);
      Function& handle = loaded->functions[name];
      if (handle == nullptr) handle = runtime().functions.add(std::make_shared<KernelFunction>(loaded, &kernel));
      *function = handle;
      return;
    }
    throw Failure(hipErrorNotFound);
  });
}

Error hipModuleGetGlobal(DevicePointer* address, size_t* size, Module module, const char* name) {
  return call(__func__, [&] {
    require(address != nullptr || size != nullptr);
    const std::string_view wanted = checked_name(name);
    const auto loaded = runtime().modules.find(module);
    const Symbol& variable = variable_of(loaded->emulated.code(), wanted);
    if (address != nullptr) *address = reinterpret_cast<void*>(loaded->emulated.load_address(variable.address));
    if (size != nullptr) *size = variable.size;
  });
}

Error hipFuncGetAttribute(int* value, FunctionAttribute attribute, Function function) {
  return call(__func__, [&] {
    require(value != nullptr);
    *value = function_attribute(*runtime().functions.find(function)->kernel, attribute);
  });
}

Error hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, Function function, int block_size,
                                                         size_t shared_memory) {
  return call(__func__, [&] {
    require(blocks != nullptr && block_size > 0 && block_size <= 1024);
    require(shared_memory <= emulator::device_processor().limits.lds_bytes);
    const auto found = runtime().functions.find(function);
    const KernelInfo& kernel = *found->kernel;
    const uint64_t lds = uint64_t{kernel.metadata.group_segment_fixed_size} + shared_memory;
    const auto items = static_cast<uint32_t>(block_size);
    *blocks = static_cast<int>(emulator::workgroups_per_unit(found->module->emulated, kernel, items, lds));
  });
}

Error hipModuleLaunchKernel(Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                            unsigned block_y, unsigned block_z, unsigned shared_memory, Stream stream,
                            void** parameters, void** extra) {
  return call(__func__, [&] {
    launch({function, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_memory, stream, parameters, extra});
  });
}

Error hipModuleLaunchCooperativeKernel(Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                       unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_memory,
                                       Stream stream, void** parameters) {
  return call(__func__, [&] {
    launch(cooperative(
        {function, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_memory, stream, parameters, nullptr}));
  });
}

Error hipDrvLaunchKernelEx(const LaunchConfig* config, Function function, void** parameters, void** extra) {
  return call(__func__, [&] {
    require(config != nullptr && (config->attribute_count == 0 || config->attributes != nullptr));
    const auto& [gx, gy, gz] = config->grid;
    const auto& [bx, by, bz] = config->block;
    launch(with_attributes(
        {function, {gx, gy, gz}, {bx, by, bz}, config->shared_memory, config->stream, parameters, extra}, *config));
  });
}

Error hipExtModuleLaunchKernel(Function function, uint32_t items_x, uint32_t items_y, uint32_t items_z,
                               uint32_t block_x, uint32_t block_y, uint32_t block_z, size_t shared_memory,
                               Stream stream, void** parameters, void** extra, Event start, Event stop, uint32_t) {
  return call(__func__, [&] {
    LaunchRequest request{
        function, {items_x, items_y, items_z}, {block_x, block_y, block_z}, shared_memory, stream, parameters, extra};
    request.counts_items = true;
    if (start != nullptr) require(hipEventRecord(start, stream) == hipSuccess, hipErrorInvalidHandle);
    launch(request);
    if (stop != nullptr) require(hipEventRecord(stop, stream) == hipSuccess, hipErrorInvalidHandle);
  });
}

/// In HIP a C++ function, with this name.
extern "C" __attribute__((visibility("default"), alias("hipExtModuleLaunchKernel"))) Error
_Z24hipExtModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_j(
    Function, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, size_t, Stream, void**, void**, Event, Event,
    uint32_t);

}  // namespace wave::hip
