#include "op/embedded.h"

#include <ATen/ops/from_blob.h>
#include <c10/core/InferenceMode.h>

#include <map>

#include "base/error.h"
#include "base/fork_safe.h"
#include "op/call.h"

namespace wave {

namespace {

struct Tensors {
  Mutex mutex;
  std::map<std::string, at::Tensor> by_hash;  ///< by the kernels' content hash
};

/// Never destroyed: programs may hold the tensors until the process ends.
Tensors& all = *new Tensors();

/// Compilers may be tracing, and must not see how the tensor is made: from_blob goes past the dispatcher.
at::Tensor make_tensor(const Kernel& kernel) {
  const c10::InferenceMode ordinary(false);
  auto* code = new std::vector<uint8_t>(embedded_code(kernel));
  return at::from_blob(
      code->data(), {static_cast<int64_t>(code->size())}, [code](void*) { delete code; },
      at::TensorOptions().dtype(at::kByte).device(at::kCPU));
}

[[noreturn]] void refuse(std::string_view handle, const std::string& given) {
  throw ValueError(text("wave::launch_embedded: expected the code of ", kernel_text(name_in_handle(handle)),
                        " as inputs[0], a uint8 tensor of one dimension, given ", given));
}

std::vector<uint8_t> bytes_of(std::string_view handle, at::TensorList inputs) {
  if (inputs.empty()) refuse(handle, "no inputs");
  if (inputs[0].scalar_type() != at::kByte || inputs[0].dim() != 1) {
    refuse(handle, text(c10::getDtypeNames(inputs[0].scalar_type()).first, " ", list_text(inputs[0].sizes())));
  }
  // A program that was moved to a GPU has its constants there.
  const at::Tensor code = inputs[0].to(at::kCPU).contiguous();
  const uint8_t* begin = code.const_data_ptr<uint8_t>();
  return {begin, begin + code.numel()};
}

}  // namespace

at::Tensor code_tensor(const Kernel& kernel) {
  const std::lock_guard lock(all.mutex);
  at::Tensor& tensor = all.by_hash[kernel.content_hash()];
  if (!tensor.defined()) tensor = make_tensor(kernel);
  return tensor;
}

const Kernel& find_embedded(std::string_view handle, at::TensorList inputs) {
  return find_embedded(handle, [&] { return bytes_of(handle, inputs); });
}

}  // namespace wave
