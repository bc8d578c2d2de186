// Torch's stable ABI as far as it is for GPUs (torch/csrc/stable/c/shim.h). wave_shim.h gives some of the functions
// other names.

#include <chrono>  // before HIP's macros, of which __noinline__ is an attribute in it
//
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/csrc/inductor/aoti_torch/utils.h>
#include <torch/csrc/stable/c/shim.h>

#include <cstdlib>
#include <cstring>

namespace {

using c10::cuda::CUDAGuard;
using c10::cuda::CUDAStream;
using c10::cuda::CUDAStreamGuard;

CUDAStream external(void* stream, int32_t device) {
  return c10::cuda::getStreamFromExternal(static_cast<cudaStream_t>(stream), static_cast<c10::DeviceIndex>(device));
}

CUDAStream current_stream(int32_t device) {
  return c10::cuda::getCurrentCUDAStream(static_cast<c10::DeviceIndex>(device));
}

template <class Guard, class Handle, class Of>
AOTITorchError make_guard(Handle* handle, Of of) {
  AOTI_TORCH_CONVERT_EXCEPTION_TO_ERROR_CODE({ *handle = reinterpret_cast<Handle>(new Guard(of)); });
}

template <class Guard, class Handle>
AOTITorchError delete_guard(Handle handle) {
  AOTI_TORCH_CONVERT_EXCEPTION_TO_ERROR_CODE({ delete reinterpret_cast<Guard*>(handle); });
}

template <class Handle>
AOTITorchError set_index(Handle handle, int32_t device) {
  AOTI_TORCH_CONVERT_EXCEPTION_TO_ERROR_CODE(
      { reinterpret_cast<CUDAGuard*>(handle)->set_index(static_cast<c10::DeviceIndex>(device)); });
}

}  // namespace

extern "C" {

AOTITorchError aoti_torch_create_cuda_guard(int32_t device, CUDAGuardHandle* guard) {
  return make_guard<CUDAGuard>(guard, static_cast<c10::DeviceIndex>(device));
}
AOTITorchError aoti_torch_delete_cuda_guard(CUDAGuardHandle guard) { return delete_guard<CUDAGuard>(guard); }
AOTITorchError aoti_torch_cuda_guard_set_index(CUDAGuardHandle guard, int32_t device) {
  return set_index(guard, device);
}
AOTITorchError aoti_torch_create_device_guard(int32_t device, DeviceGuardHandle* guard) {
  return make_guard<CUDAGuard>(guard, static_cast<c10::DeviceIndex>(device));
}
AOTITorchError aoti_torch_delete_device_guard(DeviceGuardHandle guard) { return delete_guard<CUDAGuard>(guard); }
AOTITorchError aoti_torch_device_guard_set_index(DeviceGuardHandle guard, int32_t device) {
  return set_index(guard, device);
}
AOTITorchError aoti_torch_create_cuda_stream_guard(void* stream, int32_t device, CUDAStreamGuardHandle* guard) {
  return make_guard<CUDAStreamGuard>(guard, external(stream, device));
}
AOTITorchError aoti_torch_delete_cuda_stream_guard(CUDAStreamGuardHandle guard) {
  return delete_guard<CUDAStreamGuard>(guard);
}

AOTITorchError aoti_torch_get_current_device_index(int32_t* device) {
  AOTI_TORCH_CONVERT_EXCEPTION_TO_ERROR_CODE({ *device = c10::cuda::current_device(); });
}
AOTITorchError aoti_torch_get_current_stream(int32_t device, StreamHandle* stream) {
  AOTI_TORCH_CONVERT_EXCEPTION_TO_ERROR_CODE(
      { *stream = reinterpret_cast<StreamHandle>(new c10::Stream(current_stream(device).unwrap())); });
}
AOTITorchError torch_stream_native_handle(StreamHandle stream, void** native) {
  AOTI_TORCH_CONVERT_EXCEPTION_TO_ERROR_CODE(
      { *native = reinterpret_cast<void*>(reinterpret_cast<c10::Stream*>(stream)->id()); });
}
AOTITorchError aoti_torch_get_current_cuda_stream(int32_t device, void** stream) {
  AOTI_TORCH_CONVERT_EXCEPTION_TO_ERROR_CODE({ *stream = current_stream(device).stream(); });
}
AOTITorchError torch_set_current_cuda_stream(void* stream, int32_t device) {
  AOTI_TORCH_CONVERT_EXCEPTION_TO_ERROR_CODE({ c10::cuda::setCurrentCUDAStream(external(stream, device)); });
}
AOTITorchError torch_get_cuda_stream_from_pool(bool high, int32_t device, void** stream) {
  AOTI_TORCH_CONVERT_EXCEPTION_TO_ERROR_CODE(
      { *stream = c10::cuda::getStreamFromPool(high, static_cast<c10::DeviceIndex>(device)).stream(); });
}
AOTITorchError torch_cuda_stream_synchronize(void* stream, int32_t device) {
  AOTI_TORCH_CONVERT_EXCEPTION_TO_ERROR_CODE({ external(stream, device).synchronize(); });
}

AOTITorchError aoti_torch_cuda_caching_allocator_raw_alloc(uint64_t size, void** data) {
  AOTI_TORCH_CONVERT_EXCEPTION_TO_ERROR_CODE({ *data = c10::cuda::CUDACachingAllocator::raw_alloc(size); });
}
AOTITorchError aoti_torch_cuda_caching_allocator_raw_delete(void* data) {
  AOTI_TORCH_CONVERT_EXCEPTION_TO_ERROR_CODE({ c10::cuda::CUDACachingAllocator::raw_delete(data); });
}

AOTITorchError torch_get_current_cuda_blas_handle(void** handle) {
  AOTI_TORCH_CONVERT_EXCEPTION_TO_ERROR_CODE({ *handle = at::cuda::getCurrentCUDABlasHandle(); });
}

AOTITorchError torch_c10_cuda_check_msg(int32_t error, const char* file, const char* function, uint32_t line,
                                        bool assertions, char** message) {
  *message = nullptr;
  try {
    c10::cuda::c10_cuda_check_implementation(error, file, function, line, assertions);
  } catch (const c10::Error& e) {
    *message = strdup(e.what_without_backtrace());
  }
  return AOTI_TORCH_SUCCESS;
}
void torch_c10_cuda_free_error_msg(char* message) { std::free(message); }

}  // extern "C"
