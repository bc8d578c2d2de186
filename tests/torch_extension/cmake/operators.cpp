// An operator as hipify converts it: host code, which a compiler of C++ compiles.
#include <ATen/core/Tensor.h>
#include <ATen/hip/HIPContext.h>
#include <ATen/ops/empty_like.h>
#include <c10/hip/HIPGuard.h>
#include <torch/library.h>

void double_values(const float* values, float* doubled, int64_t count, hipStream_t stream);

namespace {

at::Tensor doubled(const at::Tensor& values) {
  TORCH_CHECK(values.is_cuda(), "values are on no GPU");
  const c10::cuda::CUDAGuard guard(values.device());
  at::Tensor result = at::empty_like(values);
  double_values(values.const_data_ptr<float>(), result.mutable_data_ptr<float>(), values.numel(),
                at::cuda::getCurrentCUDAStream());
  return result;
}

}  // namespace

TORCH_LIBRARY(built_by_cmake, m) { m.def("doubled(Tensor values) -> Tensor"); }
TORCH_LIBRARY_IMPL(built_by_cmake, CUDA, m) { m.impl("doubled", doubled); }
