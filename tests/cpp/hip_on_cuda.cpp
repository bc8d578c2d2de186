// HIP's module API on top of the CUDA driver, so that code written for HIP runs on an NVIDIA GPU, asynchronously as on
// AMD's: images are cubins or PTX, devices are "sm_90", and the numbers of errors are CUDA's, which HIP shares.
//
//   g++ -std=c++20 -O2 -shared -fPIC -fvisibility=hidden -Icsrc tests/cpp/hip_on_cuda.cpp -o libhip_on_cuda.so -ldl
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <iterator>

#include "hip_emulator/hip_handles.h"

namespace wave::hip {

#pragma GCC visibility push(default)
extern "C" {
#define REQUIRED(name, parameters) Error name parameters;
#define OPTIONAL(name, parameters) Error name parameters;
#define FUNCTION(name, parameters) Error name parameters;
#define TEXT(name) const char* name(Error error);
#include "driver/hip/hip_symbols.inc"
#include "hip_emulator/functions.inc"
#undef REQUIRED
#undef OPTIONAL
#undef FUNCTION
#undef TEXT
}
#pragma GCC visibility pop

namespace {

constexpr Error kErrorInvalidDevice = 101, kErrorNotSupported = 801;
constexpr int kMaxDevices = 64;

// Functions of one name in HIP and one in CUDA, with the same arguments: handles and device addresses are 64-bit
// numbers in both.
#define SAME_FUNCTIONS                                                                                                 \
  SAME(hipModuleLoadData, cuModuleLoadData, (Module * module, const void* image), (module, image))                     \
  SAME(hipModuleLoad, cuModuleLoad, (Module * module, const char* file), (module, file))                               \
  SAME(hipModuleUnload, cuModuleUnload, (Module module), (module))                                                     \
  SAME(hipModuleGetFunction, cuModuleGetFunction, (Function * function, Module module, const char* name),              \
       (function, module, name))                                                                                       \
  SAME(hipModuleGetGlobal, cuModuleGetGlobal_v2,                                                                       \
       (DevicePointer * address, size_t* size, Module module, const char* name), (address, size, module, name))        \
  SAME(hipFuncGetAttribute, cuFuncGetAttribute, (int* value, FunctionAttribute attribute, Function function),          \
       (value, attribute, function))                                                                                   \
  SAME(hipStreamSynchronize, cuStreamSynchronize, (Stream stream), (stream))                                           \
  SAME(hipStreamIsCapturing, cuStreamIsCapturing, (Stream stream, CaptureStatus * status), (stream, status))           \
  SAME(hipThreadExchangeStreamCaptureMode, cuThreadExchangeStreamCaptureMode, (CaptureMode * mode), (mode))            \
  SAME(hipPointerGetAttribute, cuPointerGetAttribute, (void* data, PointerAttribute attribute, DevicePointer address), \
       (data, attribute, address))                                                                                     \
  SAME(hipDeviceSynchronize, cuCtxSynchronize, (), ())                                                                 \
  SAME(hipMalloc, cuMemAlloc_v2, (void** pointer, size_t size), (pointer, size))                                       \
  SAME(hipFree, cuMemFree_v2, (void* pointer), (pointer))                                                              \
  SAME(hipMemcpyHtoD, cuMemcpyHtoD_v2, (DevicePointer to, HostSource from, size_t size), (to, from, size))             \
  SAME(hipMemcpyDtoH, cuMemcpyDtoH_v2, (void* to, DevicePointer from, size_t size), (to, from, size))

// Functions of CUDA that are called in another way.
#define OTHER_FUNCTIONS                                                                                            \
  OTHER(cuInit, (unsigned flags))                                                                                  \
  OTHER(cuGetErrorName, (Error error, const char** name))                                                          \
  OTHER(cuGetErrorString, (Error error, const char** text))                                                        \
  OTHER(cuDriverGetVersion, (int* version))                                                                        \
  OTHER(cuDeviceGetCount, (int* count))                                                                            \
  OTHER(cuDeviceGetName, (char* name, int size, Device device))                                                    \
  OTHER(cuDeviceGetAttribute, (int* value, int attribute, Device device))                                          \
  OTHER(cuDevicePrimaryCtxRetain, (Context * context, Device device))                                              \
  OTHER(cuCtxGetCurrent, (Context * context))                                                                      \
  OTHER(cuCtxSetCurrent, (Context context))                                                                        \
  OTHER(cuCtxGetDevice, (Device * device))                                                                         \
  OTHER(cuFuncSetAttribute, (Function function, int attribute, int value))                                         \
  OTHER(cuOccupancyMaxActiveBlocksPerMultiprocessor,                                                               \
        (int* blocks, Function function, int block_size, size_t shared_memory))                                    \
  OTHER(cuLaunchKernel,                                                                                            \
        (Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y, \
         unsigned block_z, unsigned shared_memory, Stream stream, void** parameters, void** extra))                \
  OTHER(cuLaunchCooperativeKernel,                                                                                 \
        (Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y, \
         unsigned block_z, unsigned shared_memory, Stream stream, void** parameters))                              \
  OTHER(cuLaunchKernelEx, (const LaunchConfig* config, Function function, void** parameters, void** extra))

/// libcuda.so.1. What it lacks returns hipErrorNotSupported; without it there is no device.
struct Cuda {
#define SAME(hip, cuda, parameters, arguments) Error(*cuda) parameters = [] parameters { return kErrorNotSupported; };
#define OTHER(cuda, parameters) Error(*cuda) parameters = [] parameters { return kErrorNotSupported; };
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
  SAME_FUNCTIONS
  OTHER_FUNCTIONS
#pragma GCC diagnostic pop
#undef SAME
#undef OTHER

  Error started = kErrorNoDevice;  ///< what cuInit returned

  Cuda() {
    void* const library = dlopen("libcuda.so.1", RTLD_NOW);
    if (library == nullptr) return;
    const auto load = [&]<class T>(T& function, const char* name) {
      if (void* symbol = dlsym(library, name)) function = reinterpret_cast<T>(symbol);
    };
#define SAME(hip, cuda, parameters, arguments) load(cuda, #cuda);
#define OTHER(cuda, parameters) load(cuda, #cuda);
    SAME_FUNCTIONS
    OTHER_FUNCTIONS
#undef SAME
#undef OTHER
    started = cuInit(0);
  }
};

const Cuda& cuda() {
  static const Cuda cuda;
  return cuda;
}

thread_local bool has_context = false;

Error set_device(Device device) {
  static std::array<std::atomic<Context>, kMaxDevices> primary;
  if (cuda().started != kSuccess) return cuda().started;
  if (device < 0 || device >= kMaxDevices) return kErrorInvalidDevice;
  Context context = primary[device];
  if (context == nullptr) {
    if (const Error error = cuda().cuDevicePrimaryCtxRetain(&context, device)) return error;
    primary[device] = context;
  }
  const Error error = cuda().cuCtxSetCurrent(context);
  has_context = error == kSuccess;
  return error;
}

/// Makes device 0 current on a thread that has none, as a runtime does.
Error enter() {
  if (has_context) return kSuccess;
  if (cuda().started != kSuccess) return cuda().started;
  Context context = nullptr;
  if (const Error error = cuda().cuCtxGetCurrent(&context)) return error;
  if (context == nullptr) return set_device(0);
  has_context = true;
  return kSuccess;
}

/// CUdevice_attribute
struct AttributePair {
  DeviceAttribute hip;
  int cuda;
};
constexpr int kComputeMajor = 75, kComputeMinor = 76, kSharedMemoryOptIn = 97;
constexpr AttributePair kAttributes[] = {
    {kMaxThreadsPerBlock, 1},   {kMaxBlockDimX, 2},
    {kMaxBlockDimY, 3},         {kMaxBlockDimZ, 4},
    {kMaxGridDimX, 5},          {kMaxGridDimY, 6},
    {kMaxGridDimZ, 7},          {kMaxSharedMemoryPerBlock, kSharedMemoryOptIn},
    {kMultiprocessorCount, 16}, {kCooperativeLaunch, 95},
};

Error fill_properties(char* to, Device device, size_t size, size_t arch_offset) {
  if (to == nullptr) return kErrorInvalidValue;
  if (const Error error = enter()) return error;
  std::memset(to, 0, size);
  int major = 0, minor = 0;
  if (const Error error = cuda().cuDeviceGetName(to, DeviceProperties::kNameSize, device)) return error;
  if (const Error error = cuda().cuDeviceGetAttribute(&major, kComputeMajor, device)) return error;
  if (const Error error = cuda().cuDeviceGetAttribute(&minor, kComputeMinor, device)) return error;
  std::snprintf(to + arch_offset, DeviceProperties::kNameSize, "sm_%d%d", major, minor);
  return kSuccess;
}

/// HIP has no limit below the device's own; CUDA wants to be asked for more than 48 KiB.
Error allow_shared_memory(Function function, unsigned bytes) {
  constexpr unsigned kFree = 48 * 1024;
  constexpr int kMaxDynamicSharedMemory = 8;  // CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
  return bytes <= kFree ? kSuccess
                        : cuda().cuFuncSetAttribute(function, kMaxDynamicSharedMemory, static_cast<int>(bytes));
}

/// The end of `extra` is 3 in HIP and 0 in CUDA.
struct Extra {
  explicit Extra(void** extra) : given(extra != nullptr) {
    if (given) std::copy_n(extra, 4, words);
  }
  void** get() { return given ? words : nullptr; }
  bool given;
  void* words[5] = {};
};

}  // namespace

#define SAME(name, cuda_name, parameters, arguments)               \
  Error name parameters {                                          \
    const Error error = enter();                                   \
    return error != kSuccess ? error : cuda().cuda_name arguments; \
  }
SAME_FUNCTIONS
#undef SAME

Error hipInit(unsigned) { return cuda().started; }

Error hipRuntimeGetVersion(int* version) {
  return cuda().started != kSuccess ? cuda().started : cuda().cuDriverGetVersion(version);
}

Error hipGetDeviceCount(int* count) {
  return cuda().started != kSuccess ? cuda().started : cuda().cuDeviceGetCount(count);
}

Error hipGetDevice(Device* device) {
  const Error error = enter();
  return error != kSuccess ? error : cuda().cuCtxGetDevice(device);
}

Error hipSetDevice(Device device) { return set_device(device); }

Error hipDeviceGetAttribute(int* value, DeviceAttribute attribute, Device device) {
  if (const Error error = enter()) return error;
  const auto* found = std::ranges::find(kAttributes, attribute, &AttributePair::hip);
  return found == std::end(kAttributes) ? kErrorInvalidValue : cuda().cuDeviceGetAttribute(value, found->cuda, device);
}

Error hipGetDeviceProperties(void* properties, Device device) {
  return fill_properties(static_cast<char*>(properties), device, 792, DeviceProperties::kOldArchOffset);
}

Error hipGetDevicePropertiesR0600(void* properties, Device device) {
  return fill_properties(static_cast<char*>(properties), device, 1472, DeviceProperties::kArchOffset);
}

Error hipModuleLaunchKernel(Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                            unsigned block_y, unsigned block_z, unsigned shared_memory, Stream stream,
                            void** parameters, void** extra) {
  if (const Error error = enter()) return error;
  if (const Error error = allow_shared_memory(function, shared_memory)) return error;
  return cuda().cuLaunchKernel(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_memory, stream,
                               parameters, Extra(extra).get());
}

Error hipModuleLaunchCooperativeKernel(Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                       unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_memory,
                                       Stream stream, void** parameters) {
  if (const Error error = enter()) return error;
  if (const Error error = allow_shared_memory(function, shared_memory)) return error;
  return cuda().cuLaunchCooperativeKernel(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_memory,
                                          stream, parameters);
}

Error hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, Function function, int block_size,
                                                         size_t shared_memory) {
  if (const Error error = enter()) return error;
  if (const Error error = allow_shared_memory(function, static_cast<unsigned>(shared_memory))) return error;
  return cuda().cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, block_size, shared_memory);
}

/// HIP has no limit of eight workgroups in a cluster.
Error allow_clusters(Function function) {
  constexpr int kNonPortableClusterSize = 14;  // CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED
  return cuda().cuFuncSetAttribute(function, kNonPortableClusterSize, 1);
}

/// Configuration and attributes have CUDA's layout, and the attributes its numbers.
Error hipDrvLaunchKernelEx(const LaunchConfig* config, Function function, void** parameters, void** extra) {
  if (config == nullptr) return kErrorInvalidValue;
  if (const Error error = enter()) return error;
  if (const Error error = allow_shared_memory(function, config->shared_memory)) return error;
  if (const Error error = allow_clusters(function)) return error;
  return cuda().cuLaunchKernelEx(config, function, parameters, Extra(extra).get());
}

const char* hipGetErrorName(Error error) {
  switch (error) {
#define ERROR(name, number, text) \
  case number:                    \
    return #name;
#include "hip_emulator/errors.inc"
#undef ERROR
  }
  const char* name = nullptr;
  cuda().cuGetErrorName(error, &name);
  return name == nullptr ? "hipErrorUnknown" : name;
}

const char* hipGetErrorString(Error error) {
  switch (error) {
#define ERROR(name, number, text) \
  case number:                    \
    return text;
#include "hip_emulator/errors.inc"
#undef ERROR
  }
  const char* text = nullptr;
  cuda().cuGetErrorString(error, &text);
  return text == nullptr ? "unknown error" : text;
}

}  // namespace wave::hip
