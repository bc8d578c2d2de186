// An operator by the stable ABI, which a torch for the CPU has without what it has for GPUs.

#include <torch/csrc/stable/accelerator.h>
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/macros.h>
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>

__global__ void fill(float* a, float value, int64_t count) {
  const float first = __shfl_sync(__activemask(), value, 0);
  for (int64_t i = threadIdx.x; i < count; i += blockDim.x) a[i] = first;
}

torch::stable::Tensor filled(const torch::stable::Tensor& like, double value) {
  STD_TORCH_CHECK(like.is_cuda(), "must be a CUDA tensor");
  const torch::stable::accelerator::DeviceGuard guard(like.get_device_index());
  torch::stable::Tensor a = torch::stable::empty_like(like);
  void* stream = nullptr;
  TORCH_ERROR_CODE_CHECK(aoti_torch_get_current_cuda_stream(like.get_device_index(), &stream));
  fill<<<1, 64, 0, static_cast<cudaStream_t>(stream)>>>(static_cast<float*>(a.data_ptr()), value, a.numel());
  STD_CUDA_KERNEL_LAUNCH_CHECK();
  return a;
}

torch::stable::Tensor not_on_gpu(const torch::stable::Tensor& like, double) { return like; }

STABLE_TORCH_LIBRARY(loaded_extension, m) { m.def("filled(Tensor like, float value) -> Tensor"); }

STABLE_TORCH_LIBRARY_IMPL(loaded_extension, CUDA, m) { m.impl("filled", TORCH_BOX(&filled)); }

STABLE_TORCH_LIBRARY_IMPL(loaded_extension, CPU, m) { m.impl("filled", TORCH_BOX(&not_on_gpu)); }
