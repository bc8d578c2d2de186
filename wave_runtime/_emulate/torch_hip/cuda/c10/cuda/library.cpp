// What torch's headers for GPUs declare, and libc10_hip.so and libtorch_hip.so have: here on the emulated device.
//
// The device's memory is the host's, and each launch ends before the call that makes it returns (WAVE_RUNTIME_SYNC), so
// that all streams are the null stream.

#include <chrono>  // before HIP's macros, of which __noinline__ is an attribute in it
//
#include <ATen/EmptyTensor.h>
#include <ATen/MemoryOverlap.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/EmptyTensor.h>
#include <ATen/cuda/PeerToPeerAccess.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDADeviceAssertionHost.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/cuda.h>
#include <torch/version.h>
#include <unistd.h>

#include <ATen/cuda/detail/IndexUtils.cuh>
#include <algorithm>
#include <memory>
#include <mutex>
#include <ostream>
#include <string_view>
#include <vector>

namespace c10::cuda {

// ---- errors

#if TORCH_VERSION_MAJOR > 2 || TORCH_VERSION_MINOR >= 14
// What CUDA's driver has logged; HIP's has no log.
CUDAErrorLogCapture::CUDAErrorLogCapture() noexcept = default;
std::string CUDAErrorLogCapture::get_error_log_suffix() noexcept { return ""; }
#define WAVE_LOG , CUDAErrorLogCapture*
#else
#define WAVE_LOG
#endif

void c10_cuda_check_implementation(const int32_t error, const char* file, const char* function, const uint32_t line,
                                   const bool WAVE_LOG) {
  if (error == cudaSuccess) return;
  (void)cudaGetLastError();
  const char* text = cudaGetErrorString(static_cast<cudaError_t>(error));
  TORCH_CHECK(false, "HIP error: ", text, " (in ", function, ", ", file, ":", line, ")");
}

std::string get_cuda_error_help(cudaError_t) noexcept { return ""; }
const char* get_cuda_check_suffix() noexcept { return ""; }
const char* get_cuda_async_error_suffix(cudaError_t) noexcept { return ""; }
std::mutex* getFreeMutex() {
  static std::mutex mutex;
  return &mutex;
}

// ---- assertions of kernels, as where the variable TORCH_USE_CUDA_DSA does not ask that they be kept

CUDAKernelLaunchRegistry::CUDAKernelLaunchRegistry() = default;

CUDAKernelLaunchRegistry& CUDAKernelLaunchRegistry::get_singleton_ref() {
  static CUDAKernelLaunchRegistry registry;
  return registry;
}

uint32_t CUDAKernelLaunchRegistry::insert(const char*, const char*, const uint32_t, const char*, const int32_t) {
  return 0;
}

DeviceAssertionsData* CUDAKernelLaunchRegistry::get_uvm_assertions_ptr_for_current_device() { return nullptr; }
bool CUDAKernelLaunchRegistry::has_failed() const { return false; }
std::string c10_retrieve_device_side_assertion_info() { return ""; }

// ---- devices; a tensor of the CPU has none, and stands for the current one

cudaError_t GetDeviceCount(int* count) { return cudaGetDeviceCount(count); }

DeviceIndex device_count() noexcept {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess ? static_cast<DeviceIndex>(count) : 0;
}

DeviceIndex device_count_ensure_non_zero() {
  const DeviceIndex count = device_count();
  TORCH_CHECK(count > 0, "No HIP GPUs are available");
  return count;
}

cudaError_t GetDevice(DeviceIndex* device) {
  int index = 0;
  const cudaError_t error = cudaGetDevice(&index);
  *device = static_cast<DeviceIndex>(index);
  return error;
}

cudaError_t SetDevice(DeviceIndex device, const bool) { return device < 0 ? cudaSuccess : cudaSetDevice(device); }

cudaError_t MaybeSetDevice(DeviceIndex device) { return SetDevice(device, false); }

DeviceIndex current_device() {
  DeviceIndex device = 0;
  C10_CUDA_CHECK(GetDevice(&device));
  return device;
}

void set_device(DeviceIndex device, const bool) { C10_CUDA_CHECK(SetDevice(device, false)); }

DeviceIndex ExchangeDevice(DeviceIndex device) {
  const DeviceIndex before = current_device();
  set_device(device, false);
  return before;
}

DeviceIndex MaybeExchangeDevice(DeviceIndex device) { return ExchangeDevice(device); }

void SetTargetDevice() {}

void device_synchronize() { C10_CUDA_CHECK(cudaDeviceSynchronize()); }

void warn_or_error_on_sync() {}

bool hasPrimaryContext(DeviceIndex) { return true; }

std::optional<DeviceIndex> getDeviceIndexWithPrimaryContext() { return current_device(); }

// ---- memory

// Tensors in memory of HIP's, whose bounds it knows to the byte, and which it tells from memory that was freed. They
// stay there when the emulation ends, as this library does.
class TensorAllocator final : public c10::Allocator {
 public:
  DataPtr allocate(size_t size) override {
    if (size == 0 || is_child()) return torchs->allocate(size);
    void* data = nullptr;
    C10_CUDA_CHECK(cudaMalloc(&data, size));
    return {data, data, &free_tensor, Device(DeviceType::CPU)};
  }
  DeleterFnPtr raw_deleter() const override { return is_child() ? torchs->raw_deleter() : &free_tensor; }
  void copy_data(void* to, const void* from, size_t size) const override { default_copy_data(to, from, size); }

  Allocator* const torchs = GetCPUAllocator();

 private:
  // After fork() there is no HIP, and the parent's memory is the parent's to free.
  bool is_child() const { return getpid() != process_; }
  static void free_tensor(void* data);

  const pid_t process_ = getpid();
};

static TensorAllocator& tensor_allocator = *new TensorAllocator;  // storages keep it

void TensorAllocator::free_tensor(void* data) {
  if (!tensor_allocator.is_child()) (void)cudaFree(data);
}

static const bool is_begun = (SetCPUAllocator(&tensor_allocator), true);

// ---- streams

static CUDAStream null_stream(DeviceIndex device) {
  const Device of(DeviceType::CUDA, device < 0 ? current_device() : device);
  return CUDAStream(CUDAStream::UNCHECKED, Stream(Stream::DEFAULT, of));
}

static thread_local std::optional<CUDAStream> current;

CUDAStream getDefaultCUDAStream(DeviceIndex device) { return null_stream(device); }

CUDAStream getCurrentCUDAStream(DeviceIndex device) {
  const bool is_of_device = current && (device < 0 || current->device_index() == device);
  return is_of_device ? *current : null_stream(device);
}

CUDAStream getStreamFromPool(const bool, DeviceIndex device) { return null_stream(device); }

CUDAStream getStreamFromPool(const int, DeviceIndex device) { return null_stream(device); }

// A stream that the program has made itself is its own: its number is the pointer, as in torch.
CUDAStream getStreamFromExternal(cudaStream_t stream, DeviceIndex device) {
  const Device of(DeviceType::CUDA, device < 0 ? current_device() : device);
  return CUDAStream(CUDAStream::UNCHECKED, Stream(Stream::UNSAFE, of, reinterpret_cast<StreamId>(stream)));
}

void setCurrentCUDAStream(CUDAStream stream) { current = stream; }

cudaStream_t CUDAStream::stream() const { return reinterpret_cast<cudaStream_t>(id()); }

bool CUDAStream::query() const {
  const cudaError_t error = cudaStreamQuery(stream());
  if (error == cudaErrorNotReady) {
    (void)cudaGetLastError();
    return false;
  }
  C10_CUDA_CHECK(error);
  return true;
}

void CUDAStream::synchronize() const { C10_CUDA_CHECK(cudaStreamSynchronize(stream())); }

std::ostream& operator<<(std::ostream& out, const CUDAStream& stream) { return out << stream.unwrap(); }

}  // namespace c10::cuda

namespace at::cuda {

// ---- properties

cudaDeviceProp* getDeviceProperties(c10::DeviceIndex device) {
  static std::mutex mutex;
  static std::vector<std::unique_ptr<cudaDeviceProp>> known;
  const std::lock_guard<std::mutex> lock(mutex);
  const auto index = static_cast<size_t>(device < 0 ? c10::cuda::current_device() : device);
  if (known.size() <= index) known.resize(index + 1);
  if (known[index] == nullptr) {
    auto properties = std::make_unique<cudaDeviceProp>();
    C10_CUDA_CHECK(cudaGetDeviceProperties(properties.get(), static_cast<int>(index)));
    known[index] = std::move(properties);
  }
  return known[index].get();
}

cudaDeviceProp* getCurrentDeviceProperties() { return getDeviceProperties(-1); }

int warp_size() { return getCurrentDeviceProperties()->warpSize; }

bool canDeviceAccessPeer(c10::DeviceIndex, c10::DeviceIndex) { return true; }

bool get_p2p_access(c10::DeviceIndex, c10::DeviceIndex) { return true; }

c10::Allocator* getCUDADeviceAllocator() { return c10::cuda::CUDACachingAllocator::get(); }

// ---- AMD's libraries; blas.cpp has the handle of hipBLAS

#define WAVE_REFUSE(library)                                                                                    \
  TORCH_CHECK_NOT_IMPLEMENTED(false, "torch's handle of " library                                               \
                                     " is not there: extensions for an emulated GPU are built without " library \
                                     ". Compute products and solutions by torch's operators")

#ifndef WAVE_HIPBLAS  // where AMD's own is installed, whose code is for GPUs
cublasHandle_t getCurrentCUDABlasHandle(bool) { WAVE_REFUSE("hipBLAS"); }
cublasHandle_t getCurrentCUDABlasHandle() { WAVE_REFUSE("hipBLAS"); }  // up to torch 2.12
#endif
cublasLtHandle_t getCurrentCUDABlasLtHandle() { WAVE_REFUSE("hipBLASLt"); }
cusparseHandle_t getCurrentCUDASparseHandle() { WAVE_REFUSE("hipSPARSE"); }

}  // namespace at::cuda

// ---- tensors

namespace at::detail {

TensorBase empty_cuda(IntArrayRef size, ScalarType type, std::optional<Device>, std::optional<MemoryFormat> format) {
  return empty_cpu(size, type, false, format);
}
TensorBase empty_cuda(IntArrayRef size, std::optional<ScalarType> type, std::optional<Layout> layout,
                      std::optional<Device> device, std::optional<bool>, std::optional<MemoryFormat> format) {
  return empty_cpu(size, type, layout, device, false, format);
}
TensorBase empty_cuda(IntArrayRef size, const TensorOptions& options) { return empty_cpu(size, options); }

TensorBase empty_strided_cuda(IntArrayRef size, IntArrayRef stride, ScalarType type, std::optional<Device>) {
  return empty_strided_cpu(size, stride, type);
}
TensorBase empty_strided_cuda(IntArrayRef size, IntArrayRef stride, std::optional<ScalarType> type,
                              std::optional<Layout> layout, std::optional<Device> device, std::optional<bool>) {
  return empty_strided_cpu(size, stride, type, layout, device, false);
}
TensorBase empty_strided_cuda(IntArrayRef size, IntArrayRef stride, const TensorOptions& options) {
  return empty_strided_cpu(size, stride, options);
}

}  // namespace at::detail

bool at::cuda::detail::maybeOverlappingIndices(const TensorBase& tensor) {
  return at::has_internal_overlap(tensor.unsafeGetTensorImpl()) != at::MemOverlap::No;
}

// ---- what headers of kernels ask torch's hooks

bool at::CUDAHooksInterface::isGPUArch(const std::vector<std::string>& archs, c10::DeviceIndex device) const {
  const std::string_view name = at::cuda::getDeviceProperties(device)->gcnArchName;
  return std::any_of(archs.begin(), archs.end(), [name](const std::string& arch) { return name.starts_with(arch); });
}

// ---- torch/cuda.h

namespace wave_torch_hip {

c10::DeviceIndex device_count() { return c10::cuda::device_count(); }
void synchronize() { c10::cuda::device_synchronize(); }

}  // namespace wave_torch_hip

extern "C" const int wave_torch_hip_library = 0;  // for which all that is built with these headers asks
