// A program of C++, without Python, that launches the kernel on a tensor of the GPU.
#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty_like.h>
#include <hip/hip_runtime_api.h>
#include <torch/cuda.h>

#include <cstdio>

void double_values(const float* values, float* doubled, int64_t count, hipStream_t stream);

int main() {
  if (!torch::cuda::is_available()) return 1;
  const at::Tensor values = at::arange(1000, at::TensorOptions(at::kCUDA).dtype(at::kFloat));
  const at::Tensor doubled = at::empty_like(values);
  double_values(values.const_data_ptr<float>(), doubled.mutable_data_ptr<float>(), values.numel(), nullptr);
  torch::cuda::synchronize();
  std::printf("%g on %zu GPU\n", doubled.sum().item<double>(), torch::cuda::device_count());
}
