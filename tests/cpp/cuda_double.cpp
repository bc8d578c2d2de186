// A libcuda that has two devices and runs nothing: it keeps what the last launch was given, for tests without a GPU.
//
//   g++ -std=c++20 -shared -fPIC -fvisibility=hidden -Icsrc tests/cpp/cuda_double.cpp -o libcuda_double.so
#include <cstring>

#include "driver/cuda/cuda_types.h"

namespace wave::cuda {

#pragma GCC visibility push(default)
extern "C" {
#define REQUIRED(name, parameters) Error name parameters;
#define OPTIONAL(name, parameters)
#include "driver/cuda/cuda_symbols.inc"
#undef REQUIRED
#undef OPTIONAL

/// What a test reads by ctypes.
struct Seen {
  uint64_t launches, device, stream, synchronized;
  uint32_t grid[3], block[3], shared_memory, size;
  uint8_t arguments[64];
};
Seen seen;
/// The next launch fails with it.
Error next_error;
/// Makes a device's context current; none where it is -1.
void make_current(int device);
int current();
}
#pragma GCC visibility pop

namespace {

constexpr int kDevices = 2;
char contexts[kDevices];   ///< their addresses are the handles
char functions[kDevices];  ///< of all kernels
thread_local Context current_context = nullptr;

int device_of(const void* handle, const char* handles) {
  return handle == nullptr ? -1 : static_cast<int>(static_cast<const char*>(handle) - handles);
}

template <class Handle>
Handle handle_at(char* handles, int index) {
  return reinterpret_cast<Handle>(handles + index);
}

}  // namespace

void make_current(int device) { current_context = device < 0 ? nullptr : handle_at<Context>(contexts, device); }
int current() { return device_of(current_context, contexts); }

Error cuInit(unsigned) { return kSuccess; }
Error cuDriverGetVersion(int* version) { return *version = 13000, kSuccess; }
Error cuGetErrorName(Error, const char** name) { return *name = "CUDA_ERROR_OF_TEST", kSuccess; }
Error cuGetErrorString(Error, const char** text) { return *text = "an error of the test", kSuccess; }
Error cuDeviceGetCount(int* count) { return *count = kDevices, kSuccess; }
Error cuDeviceGet(Device* device, int ordinal) { return *device = ordinal, kSuccess; }
Error cuDeviceGetName(char* name, int, Device) { return std::strcpy(name, "double"), kSuccess; }

Error cuDeviceGetAttribute(int* value, DeviceAttribute attribute, Device) {
  switch (attribute) {
    case kMaxGridDimX:
      return *value = 0x7fffffff, kSuccess;
    case kMaxGridDimY:
    case kMaxGridDimZ:
      return *value = 65535, kSuccess;
    case kMaxThreadsPerBlock:
    case kMaxBlockDimX:
    case kMaxBlockDimY:
      return *value = 1024, kSuccess;
    case kMaxBlockDimZ:
      return *value = 64, kSuccess;
    case kMaxSharedMemoryPerBlockOptin:
      return *value = 232448, kSuccess;
    case kComputeCapabilityMajor:
      return *value = 9, kSuccess;
    case kComputeCapabilityMinor:
      return *value = 0, kSuccess;
    default:
      return *value = 1, kSuccess;
  }
}

Error cuDevicePrimaryCtxRetain(Context* context, Device device) {
  return *context = handle_at<Context>(contexts, device), kSuccess;
}
Error cuCtxSetCurrent(Context context) { return current_context = context, kSuccess; }
Error cuCtxGetCurrent(Context* context) { return *context = current_context, kSuccess; }

// A module is its device's context.
Error cuModuleLoadDataEx(Module* module, const void*, unsigned, JitOption*, void**) {
  return *module = handle_at<Module>(contexts, current()), kSuccess;
}
Error cuModuleUnload(Module) { return kSuccess; }
Error cuModuleGetFunction(Function* function, Module module, const char*) {
  return *function = handle_at<Function>(functions, device_of(module, contexts)), kSuccess;
}
Error cuModuleGetGlobal_v2(DevicePointer*, size_t*, Module, const char*) { return kErrorNotFound; }

Error cuFuncGetAttribute(int* value, FunctionAttribute attribute, Function) {
  return *value = attribute == kFunctionMaxThreadsPerBlock ? 1024 : 0, kSuccess;
}
Error cuFuncSetAttribute(Function, FunctionAttribute, int) { return kSuccess; }
Error cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, Function, int, size_t) { return *blocks = 1, kSuccess; }

Error cuLaunchKernel(Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                     unsigned block_y, unsigned block_z, unsigned shared_memory, Stream stream, void**, void** extra) {
  const size_t size = *static_cast<size_t*>(extra[3]);
  const int device = device_of(function, functions);
  if (device != current()) return kErrorInvalidContext;
  seen = {.launches = seen.launches + 1,
          .device = static_cast<uint64_t>(device),
          .stream = reinterpret_cast<uint64_t>(stream),
          .synchronized = seen.synchronized,
          .grid = {grid_x, grid_y, grid_z},
          .block = {block_x, block_y, block_z},
          .shared_memory = shared_memory,
          .size = static_cast<uint32_t>(size),
          .arguments = {}};
  std::memcpy(seen.arguments, extra[1], size < sizeof seen.arguments ? size : sizeof seen.arguments);
  const Error error = next_error;
  next_error = kSuccess;
  return error;
}

Error cuPointerGetAttribute(void* data, PointerAttribute, DevicePointer) {
  return *static_cast<int*>(data) = 0, kSuccess;
}
Error cuStreamSynchronize(Stream) { return ++seen.synchronized, kSuccess; }
Error cuStreamIsCapturing(Stream, CaptureStatus* status) { return *status = kCaptureNone, kSuccess; }
Error cuThreadExchangeStreamCaptureMode(CaptureMode*) { return kSuccess; }

}  // namespace wave::cuda
