// Modules, kernels, launches.
#include <fstream>
#include <iterator>
#include <span>
#include <string>

#include "base/error.h"
#include "code_object/file_kind.h"
#include "hip_emulator/api.h"
#include "hip_emulator/launch.h"

namespace wave::hip {

namespace {

std::vector<uint8_t> read_file(const char* path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Failure(hipErrorFileNotFound, text("cannot open ", path));
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

Module add_module(std::span<const uint8_t> image) {
  auto module = load_module(image, current_device());
  module->allocate_managed_variables();
  return runtime().modules.add(std::move(module));
}

std::string_view checked_name(const char* name) {
  require(name != nullptr && *name != '\0');
  return name;
}

std::shared_ptr<KernelFunction> find(Function function) { return runtime().functions.find(function); }

LaunchRequest cooperative(LaunchRequest request) {
  request.cooperative = true;
  return request;
}

}  // namespace

Error hipModuleLoadData(Module* module, const void* image) {
  return call(__func__, [&] {
    require(module != nullptr && image != nullptr);
    *module = add_module(image_bytes(image));
  });
}

Error hipModuleLoadDataEx(Module* module, const void* image, unsigned, JitOption*, void**) {
  return hipModuleLoadData(module, image);
}

Error hipModuleLoadFatBinary(Module* module, const void* image) { return hipModuleLoadData(module, image); }

Error hipModuleLoad(Module* module, const char* file) {
  return call(__func__, [&] {
    require(module != nullptr && file != nullptr && *file != '\0');
    const std::vector<uint8_t> bytes = read_file(file);
    try {
      classify(Bytes(bytes, "file"));
    } catch (const ValueError& error) {
      throw Failure(hipErrorInvalidImage, error.what());
    }
    *module = add_module(bytes);
  });
}

Error hipModuleUnload(Module module) {
  return call(__func__, [&] {
    require(module != nullptr, hipErrorInvalidHandle);
    const auto unloaded = runtime().modules.remove(module, hipErrorNotFound);
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
    const KernelInfo* kernel = loaded->kernel(wanted);
    require(kernel != nullptr, hipErrorNotFound);
    *function = function_handle(loaded, kernel);
  });
}

Error hipModuleGetFunctionCount(unsigned* count, Module module) {
  return call(__func__, [&] {
    require(count != nullptr);
    *count = static_cast<unsigned>(runtime().modules.find(module)->emulated.code().kernels().size());
  });
}

Error hipModuleGetGlobal(DevicePointer* address, size_t* size, Module module, const char* name) {
  return call(__func__, [&] {
    require(address != nullptr || size != nullptr);
    const std::string_view wanted = checked_name(name);
    const auto loaded = runtime().modules.find(module);
    const DeviceVariable variable = loaded->variable(wanted);
    if (address != nullptr) *address = variable.address;
    if (size != nullptr) *size = variable.size;
  });
}

Error hipModuleLaunchKernel(Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                            unsigned block_y, unsigned block_z, unsigned shared_memory, Stream stream,
                            void** parameters, void** extra) {
  return call(__func__, [&] {
    launch({find(function),
            {grid_x, grid_y, grid_z},
            {block_x, block_y, block_z},
            shared_memory,
            stream,
            parameters,
            extra});
  });
}

Error hipModuleLaunchCooperativeKernel(Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                       unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_memory,
                                       Stream stream, void** parameters) {
  return call(__func__, [&] {
    launch(cooperative({find(function),
                        {grid_x, grid_y, grid_z},
                        {block_x, block_y, block_z},
                        shared_memory,
                        stream,
                        parameters,
                        nullptr}));
  });
}

Error hipDrvLaunchKernelEx(const LaunchConfig* config, Function function, void** parameters, void** extra) {
  return call(__func__, [&] {
    require(config != nullptr);
    const auto& [gx, gy, gz] = config->grid;
    const auto& [bx, by, bz] = config->block;
    LaunchRequest request{find(function), {gx, gy, gz}, {bx, by, bz}, config->shared_memory,
                          config->stream, parameters,   extra};
    apply_attributes(request, config->attributes, config->attribute_count);
    launch(request);
  });
}

Error hipExtModuleLaunchKernel(Function function, uint32_t items_x, uint32_t items_y, uint32_t items_z,
                               uint32_t block_x, uint32_t block_y, uint32_t block_z, size_t shared_memory,
                               Stream stream, void** parameters, void** extra, Event start, Event stop, uint32_t) {
  return call(__func__, [&] {
    LaunchRequest request{
        find(function), {items_x, items_y, items_z}, {block_x, block_y, block_z}, shared_memory, stream, parameters,
        extra};
    request.counts_items = true;
    launch_between(request, start, stop);
  });
}

/// As it was called first; a C++ function, too, before ROCm 6.
Error hipHccModuleLaunchKernel(Function function, uint32_t items_x, uint32_t items_y, uint32_t items_z,
                               uint32_t block_x, uint32_t block_y, uint32_t block_z, size_t shared_memory,
                               Stream stream, void** parameters, void** extra, Event start, Event stop) {
  return hipExtModuleLaunchKernel(function, items_x, items_y, items_z, block_x, block_y, block_z, shared_memory, stream,
                                  parameters, extra, start, stop, 0);
}

extern "C" __attribute__((visibility("default"), alias("hipHccModuleLaunchKernel"))) Error
_Z24hipHccModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_(
    Function, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, size_t, Stream, void**, void**, Event, Event);

/// In HIP a C++ function, with this name.
extern "C" __attribute__((visibility("default"), alias("hipExtModuleLaunchKernel"))) Error
_Z24hipExtModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_j(
    Function, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, size_t, Stream, void**, void**, Event, Event,
    uint32_t);

}  // namespace wave::hip
