// What host code calls that clang compiles from HIP's C++: registration of the fat binaries in it, <<<>>>, and
// functions that take kernels and variables by their names there.
#include <cstring>

#include "base/error.h"
#include "hip_emulator/api.h"
#include "hip_emulator/host_program.h"
#include "hip_emulator/launch.h"
#include "hip_emulator/transfer.h"

namespace wave::hip {

namespace {

/// What __hipRegisterFatBinary takes (clang, CGCUDANV.cpp: makeModuleCtorFunction).
struct FatBinaryWrapper {
  static constexpr uint32_t kMagic = 0x48495046;  // "HIPF"
  uint32_t magic;
  uint32_t version;
  const void* binary;
  void* unused;
};

FatBinary* binary_of(void** handle) { return reinterpret_cast<FatBinary*>(handle); }

/// What is between <<< and >>>, until the launch takes it.
struct CallConfiguration {
  Dim3 grid, block;
  size_t shared_memory;
  Stream stream;
  std::vector<uint8_t> arguments{};  ///< by hipSetupArgument
};

std::vector<CallConfiguration>& configurations() {
  thread_local std::vector<CallConfiguration> stack;
  return stack;
}

/// A launch of a kernel of the host program on the stream's device.
LaunchRequest request_of(const void* host, Dim3 grid, Dim3 block, void** parameters, size_t shared_memory,
                         Stream stream) {
  LaunchRequest request{host_program().kernel(host, find_queue(stream)->device),
                        {grid.x, grid.y, grid.z},
                        {block.x, block.y, block.z},
                        shared_memory,
                        stream,
                        parameters,
                        nullptr};
  request.host = host;
  return request;
}

}  // namespace

void** __hipRegisterFatBinary(const void* wrapper) {
  const auto* const given = static_cast<const FatBinaryWrapper*>(wrapper);
  if (given->magic != FatBinaryWrapper::kMagic || given->version != 1) return nullptr;
  return reinterpret_cast<void**>(host_program().add(given->binary));
}

void __hipUnregisterFatBinary(void** handle) {
  if (is_forked()) return;  // another thread of the parent may have held what is locked for it
  // As AMD's runtime does: what kernels print before the program ends is seen. Unless a function of the host in a
  // stream ends it.
  if (!runs_host_function()) wait_for_devices();
  host_program().remove(binary_of(handle));
}

void __hipRegisterFunction(void** handle, const void* host, char*, const char* name, unsigned, void*, void*, Dim3*,
                           Dim3*, int*) {
  host_program().add_kernel(binary_of(handle), host, name);
}

void __hipRegisterVar(void** handle, void* host, char*, char* name, int, size_t, int, int) {
  host_program().add_variable(binary_of(handle), host, name);
}

void __hipRegisterManagedVar(void* handle, void** host, void* initial, const char* name, size_t size, unsigned) {
  // Before main nobody takes an error; a program whose pointer stays null ends where it uses it.
  call(__func__, [&] {
    *host = runtime_before_use().memory.allocate(size, 0, AllocationKind::Managed);
    std::memcpy(*host, initial, size);
    host_program().add_managed(static_cast<FatBinary*>(handle), *host, name, size);
  });
}

void __hipRegisterSurface(void** handle, void* host, char*, char* name, int, int) {
  host_program().add_variable(binary_of(handle), host, name);
}

void __hipRegisterTexture(void** handle, void* host, char*, char* name, int, int, int) {
  host_program().add_variable(binary_of(handle), host, name);
}

Error __hipPushCallConfiguration(Dim3 grid, Dim3 block, size_t shared_memory, Stream stream) {
  return hipConfigureCall(grid, block, shared_memory, stream);
}

Error __hipPopCallConfiguration(Dim3* grid, Dim3* block, size_t* shared_memory, Stream* stream) {
  return call(__func__, [&] {
    require(!configurations().empty(), hipErrorMissingConfiguration);
    const CallConfiguration last = configurations().back();
    configurations().pop_back();
    *grid = last.grid;
    *block = last.block;
    *shared_memory = last.shared_memory;
    *stream = last.stream;
  });
}

/// This and the next two are <<<>>> as hcc compiled it, and clang before it knew hipLaunchKernel.
Error hipConfigureCall(Dim3 grid, Dim3 block, size_t shared_memory, Stream stream) {
  return call(__func__, [&] { configurations().push_back({grid, block, shared_memory, stream}); });
}

Error hipSetupArgument(const void* argument, size_t size, size_t offset) {
  return call(__func__, [&] {
    constexpr size_t kMost = 4096;  // bytes that a kernel takes
    require(argument != nullptr && size <= kMost && offset <= kMost);
    require(!configurations().empty(), hipErrorMissingConfiguration);
    std::vector<uint8_t>& arguments = configurations().back().arguments;
    if (arguments.size() < offset + size) arguments.resize(offset + size);
    std::memcpy(arguments.data() + offset, argument, size);
  });
}

Error hipLaunchByPtr(const void* host) {
  return call(__func__, [&] {
    require(!configurations().empty(), hipErrorMissingConfiguration);
    CallConfiguration last = std::move(configurations().back());
    configurations().pop_back();
    LaunchRequest request = request_of(host, last.grid, last.block, nullptr, last.shared_memory, last.stream);
    size_t size = last.arguments.size();
    void* extra[] = {kParamBufferPointer, last.arguments.data(), kParamBufferSize, &size, kParamEnd};
    request.extra = extra;
    launch(request);
  });
}

Error hipLaunchKernel(const void* host, Dim3 grid, Dim3 block, void** parameters, size_t shared_memory, Stream stream) {
  return call(__func__, [&] { launch(request_of(host, grid, block, parameters, shared_memory, stream)); });
}

Error hipLaunchCooperativeKernel(const void* host, Dim3 grid, Dim3 block, void** parameters, unsigned shared_memory,
                                 Stream stream) {
  return call(__func__, [&] {
    LaunchRequest request = request_of(host, grid, block, parameters, shared_memory, stream);
    request.cooperative = true;
    launch(request);
  });
}

Error hipExtLaunchKernel(const void* host, Dim3 grid, Dim3 block, void** parameters, size_t shared_memory,
                         Stream stream, Event start, Event stop, int) {
  return call(__func__,
              [&] { launch_between(request_of(host, grid, block, parameters, shared_memory, stream), start, stop); });
}

Error hipLaunchKernelExC(const ProgramLaunchConfig* config, const void* host, void** parameters) {
  return call(__func__, [&] {
    require(config != nullptr);
    LaunchRequest request =
        request_of(host, config->grid, config->block, parameters, config->shared_memory, config->stream);
    apply_attributes(request, config->attributes, config->attribute_count);
    launch(request);
  });
}

Error hipGetFuncBySymbol(Function* function, const void* host) {
  return call(__func__, [&] {
    require(function != nullptr);
    const auto kernel = host_program().kernel(host, current_device());
    *function = function_handle(kernel->module, kernel->kernel);
  });
}

Error hipGetSymbolAddress(void** address, const void* symbol) {
  return call(__func__, [&] {
    require(address != nullptr);
    *address = host_program().variable(symbol, current_device()).address;
  });
}

Error hipGetSymbolSize(size_t* size, const void* symbol) {
  return call(__func__, [&] {
    require(size != nullptr);
    *size = host_program().variable(symbol, current_device()).size;
  });
}

Error hipMemcpyToSymbol(const void* symbol, const void* from, size_t size, size_t offset, MemcpyKind kind) {
  return call(__func__, [&] {
    check_symbol_kind(kind, kHostToDevice);
    check_unsafe_copy();
    copy(part_of(symbol, size, offset), from, size, nullptr, Wait::Yes);
  });
}

Error hipMemcpyToSymbolAsync(const void* symbol, const void* from, size_t size, size_t offset, MemcpyKind kind,
                             Stream stream) {
  return call(__func__, [&] {
    check_symbol_kind(kind, kHostToDevice);
    copy(part_of(symbol, size, offset), from, size, stream, Wait::No);
  });
}

Error hipMemcpyFromSymbol(void* to, const void* symbol, size_t size, size_t offset, MemcpyKind kind) {
  return call(__func__, [&] {
    check_symbol_kind(kind, kDeviceToHost);
    check_unsafe_copy();
    copy(to, part_of(symbol, size, offset), size, nullptr, Wait::Yes);
  });
}

Error hipMemcpyFromSymbolAsync(void* to, const void* symbol, size_t size, size_t offset, MemcpyKind kind,
                               Stream stream) {
  return call(__func__, [&] {
    check_symbol_kind(kind, kDeviceToHost);
    copy(to, part_of(symbol, size, offset), size, stream, Wait::No);
  });
}

}  // namespace wave::hip
