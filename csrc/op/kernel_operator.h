// Operators that launch a kernel: what the dispatcher runs for each of its keys, once for all kinds of them.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <torch/library.h>

#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "launch/kernel.h"

namespace wave {

/// An operator and its kernel. Lives as long as the dispatcher knows it.
class KernelOperator {
 public:
  /// `parameters` of the kernel take the first arguments, in this order.
  KernelOperator(const Kernel& kernel, size_t argument_count, std::vector<size_t> parameters)
      : kernel(kernel), argument_count(argument_count), parameters(std::move(parameters)) {}
  virtual ~KernelOperator() = default;
  KernelOperator(const KernelOperator&) = delete;
  KernelOperator& operator=(const KernelOperator&) = delete;

  /// Reads the arguments, submits the launch, and returns the operator's results.
  virtual std::vector<at::Tensor> run(std::span<const c10::IValue> arguments) const = 0;

  const Kernel& kernel;
  const size_t argument_count;
  const std::vector<size_t> parameters;
};

/// Tells the dispatcher, until `library` is destroyed, what to run for the operator `name` of the library: on dense
/// tensors; where written tensors must be marked; and for autograd. There a call raises where a launch would cut the
/// graph; or, where `autograd` is given, calls that autograd must see, and those in modes or with tensor subclasses, go
/// to that operator, which has the same schema.
void implement(torch::Library& library, const std::string& name, const std::shared_ptr<const KernelOperator>& op,
               const std::optional<c10::OperatorHandle>& autograd);

/// For tensors without data: there is nothing to do but to check them.
torch::CppFunction check_kernel(const std::shared_ptr<const KernelOperator>& op);

/// For autograd: throws where a launch would cut the graph at one of the tensors, which `each_tensor` visits. Not for
/// stand-ins of a compiler that has traced autograd already: Inductor's lowering runs operators on fake parameters with
/// grad mode on.
using VisitTensor = c10::function_ref<void(const at::Tensor&)>;
void check_autograd(std::string_view kernel, c10::function_ref<void(VisitTensor)> each_tensor);

/// For torch.vmap: throws. A launch writes into tensors that it is given, of which some may be no part of the batch.
[[noreturn]] void refuse_batch(std::string_view kernel);

/// An integer as the dispatcher passes it.
inline int64_t integer_of(const c10::IValue& value) {
  if (value.isInt()) return value.toInt();
  return value.isBool() ? value.toBool() : value.toSymInt().expect_int();
}

}  // namespace wave
