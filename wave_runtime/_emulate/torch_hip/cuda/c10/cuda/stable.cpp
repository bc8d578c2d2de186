// What the stable ABI has for GPUs (torch/csrc/stable/c/shim.h), on the emulated device.

#include <chrono>  // before HIP's macros, of which __noinline__ is an attribute in it
//
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <wave_stable.h>

#include <cstring>
#include <iostream>

namespace {

using c10::cuda::CUDAStream;

template <typename Call>
AOTITorchError without_exceptions(Call call) {
  try {
    call();
    return AOTI_TORCH_SUCCESS;
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return AOTI_TORCH_FAILURE;
  }
}

template <typename Guard, typename Handle, typename... Arguments>
AOTITorchError create(Handle* guard, Arguments... arguments) {
  return without_exceptions([&] { *guard = reinterpret_cast<Handle>(new Guard(arguments...)); });
}

template <typename Guard, typename Handle>
AOTITorchError destroy(Handle guard) {
  return without_exceptions([&] { delete reinterpret_cast<Guard*>(guard); });
}

CUDAStream external(void* stream, int32_t device) {
  return c10::cuda::getStreamFromExternal(static_cast<cudaStream_t>(stream), static_cast<c10::DeviceIndex>(device));
}

c10::DeviceIndex index(int32_t device) { return static_cast<c10::DeviceIndex>(device); }

}  // namespace

using c10::cuda::CUDAGuard;
using c10::cuda::CUDAStreamGuard;

extern "C" {

// ---- devices

AOTITorchError aoti_torch_create_cuda_guard(int32_t device, CUDAGuardHandle* guard) {
  return create<CUDAGuard>(guard, index(device));
}
AOTITorchError aoti_torch_delete_cuda_guard(CUDAGuardHandle guard) { return destroy<CUDAGuard>(guard); }
AOTITorchError aoti_torch_cuda_guard_set_index(CUDAGuardHandle guard, int32_t device) {
  return without_exceptions([&] { reinterpret_cast<CUDAGuard*>(guard)->set_index(index(device)); });
}
AOTITorchError aoti_torch_create_device_guard(int32_t device, DeviceGuardHandle* guard) {
  return create<CUDAGuard>(guard, index(device));
}
AOTITorchError aoti_torch_delete_device_guard(DeviceGuardHandle guard) { return destroy<CUDAGuard>(guard); }
AOTITorchError aoti_torch_device_guard_set_index(DeviceGuardHandle guard, int32_t device) {
  return without_exceptions([&] { reinterpret_cast<CUDAGuard*>(guard)->set_index(index(device)); });
}
AOTITorchError aoti_torch_get_current_device_index(int32_t* device) {
  return without_exceptions([&] { *device = c10::cuda::current_device(); });
}

// ---- streams

AOTITorchError aoti_torch_create_cuda_stream_guard(void* stream, int32_t device, CUDAStreamGuardHandle* guard) {
  return without_exceptions(
      [&] { *guard = reinterpret_cast<CUDAStreamGuardHandle>(new CUDAStreamGuard(external(stream, device))); });
}
AOTITorchError aoti_torch_delete_cuda_stream_guard(CUDAStreamGuardHandle guard) {
  return destroy<CUDAStreamGuard>(guard);
}
AOTITorchError aoti_torch_get_current_cuda_stream(int32_t device, void** stream) {
  return without_exceptions([&] { *stream = c10::cuda::getCurrentCUDAStream(index(device)).stream(); });
}
AOTITorchError torch_set_current_cuda_stream(void* stream, int32_t device) {
  return without_exceptions([&] { c10::cuda::setCurrentCUDAStream(external(stream, device)); });
}
AOTITorchError torch_get_cuda_stream_from_pool(bool is_high, int32_t device, void** stream) {
  return without_exceptions([&] { *stream = c10::cuda::getStreamFromPool(is_high, index(device)).stream(); });
}
AOTITorchError torch_cuda_stream_synchronize(void* stream, int32_t device) {
  return without_exceptions([&] { external(stream, device).synchronize(); });
}
AOTITorchError aoti_torch_get_current_stream(int32_t device, StreamHandle* stream) {
  return without_exceptions([&] {
    *stream = reinterpret_cast<StreamHandle>(new CUDAStream(c10::cuda::getCurrentCUDAStream(index(device))));
  });
}
AOTITorchError aoti_torch_delete_stream(StreamHandle stream) { return destroy<CUDAStream>(stream); }
AOTITorchError aoti_torch_stream_id(StreamHandle stream, int64_t* id) {
  return without_exceptions([&] { *id = reinterpret_cast<CUDAStream*>(stream)->id(); });
}
AOTITorchError wave_stream_native_handle(StreamHandle stream, void** native) {
  return without_exceptions([&] { *native = reinterpret_cast<CUDAStream*>(stream)->stream(); });
}

// ---- memory and errors

AOTITorchError aoti_torch_cuda_caching_allocator_raw_alloc(uint64_t size, void** data) {
  return without_exceptions([&] { *data = c10::cuda::CUDACachingAllocator::raw_alloc(size); });
}
AOTITorchError aoti_torch_cuda_caching_allocator_raw_delete(void* data) {
  return without_exceptions([&] { c10::cuda::CUDACachingAllocator::raw_delete(data); });
}
AOTITorchError torch_c10_cuda_check_msg(int32_t error, const char* file, const char* function, uint32_t line,
                                        bool assertions, char** message) {
  *message = nullptr;
  try {
    c10::cuda::c10_cuda_check_implementation(error, file, function, line, assertions);
  } catch (const c10::Error& found) {
    *message = strdup(found.what_without_backtrace());
  }
  return AOTI_TORCH_SUCCESS;
}
void torch_c10_cuda_free_error_msg(char* message) { std::free(message); }

}  // extern "C"
