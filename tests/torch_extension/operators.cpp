// Operators as extensions of torch register them, of which some have a kernel for the CPU, too.

#include <ATen/core/Tensor.h>
#include <ATen/ops/full_like.h>
#include <Python.h>
#include <torch/library.h>

#include <vector>

at::Tensor add_on_gpu(const at::Tensor& a, const at::Tensor& b);
at::Tensor add_pairs_on_gpu(const at::Tensor& a, const at::Tensor& b);
at::Tensor sums_on_gpu(const at::Tensor& a, int64_t kinds);
at::Tensor exponential_on_gpu(const at::Tensor& a);
at::Tensor counts_on_gpu(const at::Tensor& values, int64_t kinds);
std::vector<int64_t> wave_sizes();
at::Tensor philox(int64_t increment);
void write_behind(at::Tensor& a);

namespace {

at::Tensor not_on_gpu(const at::Tensor& a, const at::Tensor&) { return at::full_like(a, -1); }

// As where one function serves both.
at::Tensor exponential(const at::Tensor& a) {
  if (a.is_cuda()) return exponential_on_gpu(a);
  return at::full_like(a, -1);
}

}  // namespace

TORCH_LIBRARY(emulated_extension, m) {
  m.def("add(Tensor a, Tensor b) -> Tensor");
  m.def("add_pairs(Tensor a, Tensor b) -> Tensor", &add_pairs_on_gpu);
  m.def("sums(Tensor a, int kinds) -> Tensor", &sums_on_gpu);
  m.def("exponential(Tensor a) -> Tensor", &exponential);
  m.def("counts(Tensor values, int kinds) -> Tensor", torch::dispatch(at::kCUDA, TORCH_FN(counts_on_gpu)));
  m.def("wave_sizes() -> int[]", &wave_sizes);
  m.def("philox(int increment) -> Tensor", &philox);
  m.def("write_behind(Tensor(a!) a) -> ()");
}

TORCH_LIBRARY_IMPL(emulated_extension, CUDA, m) {
  m.impl("add", &add_on_gpu);
  m.impl("write_behind", &write_behind);
}

// Behind the GPU's, in the order in which they are registered.
TORCH_LIBRARY_IMPL(emulated_extension, CPU, m) { m.impl("add", &not_on_gpu); }

PyMODINIT_FUNC PyInit_emulated_extension() {
  static PyModuleDef module = {PyModuleDef_HEAD_INIT, "emulated_extension", nullptr, -1, nullptr};
  return PyModule_Create(&module);
}
