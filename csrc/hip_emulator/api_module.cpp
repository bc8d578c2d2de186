// Modules and libraries, kernels, launches.
#include <fstream>
#include <iterator>
#include <map>
#include <span>
#include <string>

#include "base/error.h"
#include "code_object/file_kind.h"
#include "hip_emulator/api.h"
#include "hip_emulator/launch.h"

namespace wave::hip {

namespace {

/// The bytes of a file that is some code object or bundle.
std::vector<uint8_t> read_image(const char* path) {
  require(path != nullptr && *path != '\0');
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Failure(hipErrorFileNotFound, text("cannot open ", path));
  std::vector<uint8_t> bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  try {
    classify(Bytes(bytes, "file"));
  } catch (const ValueError& error) {
    throw Failure(hipErrorInvalidImage, error.what());
  }
  return bytes;
}

std::shared_ptr<EmulatedModule> load(std::span<const uint8_t> image) {
  auto module = load_module(image, current_device());
  module->allocate_managed_variables();
  return module;
}

Module add_module(std::span<const uint8_t> image) { return runtime().modules.add(load(image)); }

/// hipLibrary_t: an image, and the modules that were made of it. A kernel is of the device that is current when it is
/// asked for.
class LibraryState {
 public:
  explicit LibraryState(std::vector<uint8_t> image) : image_(std::move(image)) { module(); }

  std::shared_ptr<EmulatedModule> module() {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<EmulatedModule>& own = modules_[current_device()];
    if (own == nullptr) own = load(image_);
    return own;
  }
  void unload() {
    const std::lock_guard lock(mutex_);
    for (const auto& [device, module] : modules_) module->unload();
  }

 private:
  const std::vector<uint8_t> image_;
  std::mutex mutex_;
  std::map<int, std::shared_ptr<EmulatedModule>> modules_;  ///< by device; guarded by mutex_
};

/// Never destroyed: calls may come from static destructors.
Handles<Library, LibraryState>& libraries() {
  static auto& all = *new Handles<Library, LibraryState>;
  return all;
}

void add_library(Library* library, std::vector<uint8_t> image) {
  *library = libraries().add(std::make_shared<LibraryState>(std::move(image)));
}

std::string_view checked_name(const char* name) {
  require(name != nullptr && *name != '\0');
  return name;
}

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
    require(module != nullptr);
    *module = add_module(read_image(file));
  });
}

Error hipModuleUnload(Module module) {
  return call(__func__, [&] {
    require(module != nullptr, hipErrorInvalidHandle);
    runtime().modules.remove(module, hipErrorNotFound)->unload();
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

/// Of options, which are CUDA's, none is looked at.
Error hipLibraryLoadData(Library* library, const void* image, JitOption**, void**, unsigned, LibraryOption**, void**,
                         unsigned) {
  return call(__func__, [&] {
    require(library != nullptr && image != nullptr);
    const std::span<const uint8_t> bytes = image_bytes(image);
    add_library(library, {bytes.begin(), bytes.end()});
  });
}

Error hipLibraryLoadFromFile(Library* library, const char* file, JitOption**, void**, unsigned, LibraryOption**, void**,
                             unsigned) {
  return call(__func__, [&] {
    require(library != nullptr);
    add_library(library, read_image(file));
  });
}

Error hipLibraryUnload(Library library) {
  return call(__func__, [&] { libraries().remove(library)->unload(); });
}

Error hipLibraryGetKernel(LibraryKernel* kernel, Library library, const char* name) {
  return call(__func__, [&] {
    require(kernel != nullptr);
    const std::string_view wanted = checked_name(name);
    const auto module = libraries().find(library)->module();
    const KernelInfo* const found = module->kernel(wanted);
    require(found != nullptr, hipErrorNotFound);
    *kernel = reinterpret_cast<LibraryKernel>(function_handle(module, found));
  });
}

Error hipLibraryGetKernelCount(unsigned* count, Library library) {
  return call(__func__, [&] {
    require(count != nullptr);
    *count = static_cast<unsigned>(libraries().find(library)->module()->emulated.code().kernels().size());
  });
}

Error hipModuleLaunchKernel(Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                            unsigned block_y, unsigned block_z, unsigned shared_memory, Stream stream,
                            void** parameters, void** extra) {
  return call(__func__, [&] {
    launch({find_kernel(function),
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
    launch(cooperative({find_kernel(function),
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
    LaunchRequest request{find_kernel(function), {gx, gy, gz}, {bx, by, bz}, config->shared_memory,
                          config->stream,        parameters,   extra};
    apply_attributes(request, config->attributes, config->attribute_count);
    launch(request);
  });
}

Error hipExtModuleLaunchKernel(Function function, uint32_t items_x, uint32_t items_y, uint32_t items_z,
                               uint32_t block_x, uint32_t block_y, uint32_t block_z, size_t shared_memory,
                               Stream stream, void** parameters, void** extra, Event start, Event stop, uint32_t) {
  return call(__func__, [&] {
    LaunchRequest request{find_kernel(function),
                          {items_x, items_y, items_z},
                          {block_x, block_y, block_z},
                          shared_memory,
                          stream,
                          parameters,
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
