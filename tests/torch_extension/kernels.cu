// Kernels as extensions of torch have them, with CUDA's names and torch's headers for GPUs.

#include <ATen/Dispatch.h>
#include <ATen/core/Tensor.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAGeneratorImpl.h>
#include <ATen/hip/impl/HIPGuardImplMasqueradingAsCUDA.h>  // of programs that an older hipify has converted once for all
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDADeviceAssertion.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/util/complex.h>
#include <cuda_bf16.h>

#include <ATen/cuda/PhiloxUtils.cuh>
#include <ATen/native/cuda/KernelUtils.cuh>
#include <THC/THCAtomics.cuh>  // names of older releases, which many extensions have
#include <THC/THCDeviceUtils.cuh>
#include <vector>

namespace {

constexpr int block = 256;

int blocks(int64_t count) { return static_cast<int>((count + block - 1) / block); }

template <typename T>
__global__ void add(const T* a, const T* b, T* sum, int64_t count) {
  const int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (i < count) sum[i] = a[i] + b[i];
}

__global__ void add_pairs(const __nv_bfloat162* a, const __nv_bfloat162* b, __nv_bfloat162* sum, int64_t count) {
  const int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (i < count) sum[i] = __hadd2(a[i], b[i]);
}

template <typename T>
__global__ void add_up(const T* a, T* sums, int64_t kinds, int64_t count) {
  const int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (i < count) at::native::fastAtomicAdd(sums, i % kinds, kinds, a[i], true);
}

template <typename T>
__global__ void exponential(const T* a, T* b, int64_t count) {
  const int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (i < count) b[i] = std::exp(a[i]) / (a[i] * a[i]) + std::sqrt(a[i]) * std::tanh(a[i]);
}

template <typename T>
__global__ void count_values(const int64_t* values, T* counts, int64_t count) {
  const int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (i < count) gpuAtomicAdd(&counts[values[i]], T(1));
}

__global__ void count_lanes(int* lanes, TORCH_DSA_KERNEL_ARGS) {
  CUDA_KERNEL_ASSERT2(lanes != nullptr);
  atomicAdd(lanes, __popcll(WARP_BALLOT(1)) * (threadIdx.x == 0));
}

__global__ void keys(at::PhiloxCudaState state, int64_t* out) {
  const auto [key, offset] = at::cuda::philox::unpack(state);
  out[0] = static_cast<int64_t>(key);
  out[1] = static_cast<int64_t>(offset);
}

__global__ void write_far(float* a) {
  a[1 << 28] = 1;  // behind the tensor
}

}  // namespace

at::Tensor add_on_gpu(const at::Tensor& a, const at::Tensor& b) {
  TORCH_CHECK(a.is_cuda() && b.device().is_cuda(), "a and b must be CUDA tensors");
  TORCH_CHECK(a.device().type() == at::kCUDA, "a is on ", a.device());
  const c10::cuda::OptionalCUDAGuard guard(a.device());
  at::Tensor sum = at::empty(a.sizes(), a.options().device(at::kCUDA));
  const cudaStream_t stream = at::cuda::getCurrentCUDAStream();
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, a.scalar_type(), "add", [&] {
    add<<<blocks(a.numel()), block, 0, stream>>>(a.const_data_ptr<scalar_t>(), b.const_data_ptr<scalar_t>(),
                                                 sum.mutable_data_ptr<scalar_t>(), a.numel());
  });
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return sum;
}

at::Tensor add_pairs_on_gpu(const at::Tensor& a, const at::Tensor& b) {
  at::Tensor sum = at::empty_like(a);
  const auto pairs = [](const at::Tensor& x) { return static_cast<__nv_bfloat162*>(x.data_ptr()); };
  const at::hip::OptionalHIPGuardMasqueradingAsCUDA guard(a.device());
  const auto stream = c10::hip::getCurrentHIPStreamMasqueradingAsCUDA();
  const c10::DataPtr memory = c10::hip::HIPCachingAllocatorMasqueradingAsCUDA::get()->allocate(a.nbytes());
  add_pairs<<<blocks(a.numel() / 2), block, 0, stream>>>(pairs(a), pairs(b), static_cast<__nv_bfloat162*>(memory.get()),
                                                         a.numel() / 2);
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  C10_CUDA_CHECK(cudaMemcpyAsync(sum.data_ptr(), memory.get(), a.nbytes(), cudaMemcpyDeviceToDevice, stream));
  return sum;
}

at::Tensor sums_on_gpu(const at::Tensor& a, int64_t kinds) {
  at::Tensor sums = at::zeros({kinds}, a.options());
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, a.scalar_type(), "sums", [&] {
    add_up<<<blocks(a.numel()), block>>>(a.const_data_ptr<scalar_t>(), sums.mutable_data_ptr<scalar_t>(), kinds,
                                         a.numel());
  });
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return sums;
}

at::Tensor exponential_on_gpu(const at::Tensor& a) {
  at::Tensor b = at::empty_like(a);
  AT_DISPATCH_COMPLEX_TYPES(a.scalar_type(), "exponential", [&] {
    exponential<<<blocks(a.numel()), block>>>(a.const_data_ptr<scalar_t>(), b.mutable_data_ptr<scalar_t>(), a.numel());
  });
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return b;
}

at::Tensor counts_on_gpu(const at::Tensor& values, int64_t kinds) {
  C10_CUDA_CHECK(cudaSetDevice(values.get_device()));
  at::Tensor counts = at::zeros({kinds}, values.options().dtype(at::kHalf));
  count_values<<<blocks(values.numel()), block, 0, at::cuda::getDefaultCUDAStream()>>>(
      values.const_data_ptr<int64_t>(), counts.mutable_data_ptr<at::Half>(), values.numel());
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return counts;
}

// The wave size: as properties say, and as a wave finds.
std::vector<int64_t> wave_sizes() {
  auto* lanes = static_cast<int*>(c10::cuda::CUDACachingAllocator::raw_alloc(sizeof(int)));
  const c10::cuda::CUDAStream stream = c10::cuda::getStreamFromPool();
  const c10::cuda::CUDAStreamGuard guard(stream);
  C10_CUDA_CHECK(cudaMemsetAsync(lanes, 0, sizeof(int), stream));
  TORCH_DSA_KERNEL_LAUNCH(count_lanes, 1, block, 0, stream, lanes);
  TORCH_CHECK(!c10::cuda::CUDAKernelLaunchRegistry::get_singleton_ref().has_failed(),
              c10::cuda::c10_retrieve_device_side_assertion_info());
  int found = 0;
  C10_CUDA_CHECK(cudaMemcpyAsync(&found, lanes, sizeof(int), cudaMemcpyDeviceToHost, stream));
  stream.synchronize();
  c10::cuda::CUDACachingAllocator::raw_delete(lanes);
  const cudaDeviceProp* properties = at::cuda::getCurrentDeviceProperties();
  return {properties->warpSize, at::cuda::warp_size(), found, c10::cuda::device_count()};
}

at::Tensor philox(int64_t increment, const std::optional<at::Generator>& of) {
  auto* generator =
      at::get_generator_or_default<at::CUDAGeneratorImpl>(of, at::cuda::detail::getDefaultCUDAGenerator());
  at::PhiloxCudaState state;
  {
    const std::lock_guard<std::mutex> lock(generator->mutex_);
    state = generator->philox_cuda_state(increment);
  }
  at::Tensor out = at::empty({2}, at::device(at::kCUDA).dtype(at::kLong));
  keys<<<1, 1>>>(state, out.mutable_data_ptr<int64_t>());
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return out;
}

void write_behind(at::Tensor& a) {
  write_far<<<1, 1>>>(a.mutable_data_ptr<float>());
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}
