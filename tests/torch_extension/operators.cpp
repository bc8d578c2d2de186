// Operators as extensions of torch register them, of which some have a kernel for the CPU, too.

#include <ATen/Dispatch.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/op_registration/op_registration.h>
#include <ATen/cuda/CUDABlas.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAUtils.h>
#include <ATen/cuda/EmptyTensor.h>
#include <ATen/ops/full.h>
#include <ATen/ops/full_like.h>
#include <c10/cuda/CUDAGuard.h>
#include <cublas_v2.h>
#include <torch/csrc/utils/pybind.h>
#include <torch/library.h>

#include <ATen/cuda/detail/IndexUtils.cuh>
#include <string>
#include <vector>

at::Tensor add_on_gpu(const at::Tensor& a, const at::Tensor& b);
at::Tensor add_pairs_on_gpu(const at::Tensor& a, const at::Tensor& b);
at::Tensor sums_on_gpu(const at::Tensor& a, int64_t kinds);
at::Tensor exponential_on_gpu(const at::Tensor& a);
at::Tensor counts_on_gpu(const at::Tensor& values, int64_t kinds);
std::vector<int64_t> wave_sizes();
at::Tensor philox(int64_t increment, const std::optional<at::Generator>& of);
void write_behind(at::Tensor& a);

namespace {

at::Tensor not_on_gpu(const at::Tensor& a, const at::Tensor&) { return at::full_like(a, -1); }

// As where one function serves both.
at::Tensor exponential(const at::Tensor& a) {
  if (a.is_cuda()) return exponential_on_gpu(a);
  return at::full_like(a, -1);
}

// Where code asks whether it is for ROCm, hipBLAS's names of types stand beside CUDA's.
hipblasDatatype_t type_of(at::ScalarType type) {
  switch (type) {
    case at::kHalf:
      return HIPBLAS_R_16F;
    case at::kBFloat16:
      return HIPBLAS_R_16B;
    case at::kFloat:
      return CUDA_R_32F;
    default:
      return CUDA_R_64F;
  }
}

// A product with each of b's matrices, transposed, and beta, of so many rows of a. To these functions all are
// transposed.
at::Tensor products(const at::Tensor& a, const at::Tensor& b, double beta, int64_t rows, bool is_torchs) {
  TORCH_CHECK(!at::cuda::detail::maybeOverlappingIndices(a), "elements of a share their memory");
  TORCH_CHECK(at::cuda::check_device({a, b}), "a and b are not on the current device");
  const int64_t count = a.size(0), columns = b.size(1), depth = a.size(2);
  at::Tensor c = at::detail::empty_cuda({count, a.size(1), columns}, a.options());
  c.fill_(1);
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, a.scalar_type(), "products", [&] {
    using math_t = at::opmath_type<scalar_t>;
    const scalar_t *x = b.const_data_ptr<scalar_t>(), *y = a.const_data_ptr<scalar_t>();
    scalar_t* z = c.mutable_data_ptr<scalar_t>();
    const math_t one = 1, other = static_cast<math_t>(beta);
    if (is_torchs) {
      at::cuda::blas::bgemm<scalar_t>('t', 'n', columns, rows, depth, one, x, depth, b.stride(0), y, depth, a.stride(0),
                                      other, z, columns, c.stride(0), count);
      return;
    }
    const cublasHandle_t handle = at::cuda::getCurrentCUDABlasHandle();
    const cudaDataType_t type = type_of(a.scalar_type());
    TORCH_CUDABLAS_CHECK(cublasSetStream(handle, at::cuda::getCurrentCUDAStream()));
    TORCH_CUDABLAS_CHECK(cublasGemmStridedBatchedEx(
        handle, CUBLAS_OP_T, CUBLAS_OP_N, static_cast<int>(columns), static_cast<int>(rows), static_cast<int>(depth),
        &one, x, type, static_cast<int>(depth), b.stride(0), y, type, static_cast<int>(depth), a.stride(0), &other, z,
        type, static_cast<int>(columns), c.stride(0), static_cast<int>(count),
        type == CUDA_R_64F ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
  });
  return c;
}

at::Tensor negative(const at::Tensor& a) { return -a; }

// On a device that the program hands over, and on the one that has a name.
std::vector<at::Tensor> places(at::Device device, std::string name) {
  const at::cuda::OptionalCUDAGuard guard(device);
  TORCH_CHECK(device.is_cuda() && at::Device(name).is_cuda(), "a GPU's device is none");
  return {at::full({2}, device.index(), at::device(device)), at::full({2}, at::Device(name).index(), at::Device(name))};
}

// As extensions registered operators before there was TORCH_LIBRARY.
const auto registered = torch::RegisterOperators().op(
    "emulated_extension::negative(Tensor a) -> Tensor",
    torch::RegisterOperators::options().kernel<decltype(negative), &negative>(c10::DispatchKey::CUDA));

}  // namespace

TORCH_LIBRARY(emulated_extension, m) {
  m.def("add(Tensor a, Tensor b) -> Tensor");
  m.def("add_pairs(Tensor a, Tensor b) -> Tensor", &add_pairs_on_gpu);
  m.def("sums(Tensor a, int kinds) -> Tensor", &sums_on_gpu);
  m.def("exponential(Tensor a) -> Tensor", &exponential);
  m.def("counts(Tensor values, int kinds) -> Tensor", torch::dispatch(at::kCUDA, TORCH_FN(counts_on_gpu)));
  m.def("products(Tensor a, Tensor b, float beta, int rows, bool is_torchs) -> Tensor", &products);
  m.def("wave_sizes() -> int[]", &wave_sizes);
  m.def("places(Device device, str name) -> Tensor[]", &places);
  m.def("philox(int increment, Generator? of=None) -> Tensor", &philox);
  m.def("write_behind(Tensor(a!) a) -> ()");
}

TORCH_LIBRARY_IMPL(emulated_extension, CUDA, m) {
  m.impl("add", &add_on_gpu);
  m.impl("write_behind", &write_behind);
}

// Behind the GPU's, in the order in which they are registered.
TORCH_LIBRARY_IMPL(emulated_extension, CPU, m) { m.impl("add", &not_on_gpu); }

PYBIND11_MODULE(emulated_extension, m) { m.def("places", &places); }
