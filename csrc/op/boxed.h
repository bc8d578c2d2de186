// What the dispatcher runs for an operator that launches a kernel, beside the launch itself. Boxed: one function for
// all schemas.
#pragma once

#include <ATen/core/boxing/OperatorKernel.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <torch/library.h>

#include <memory>
#include <span>
#include <vector>

#include "launch/kernel.h"

namespace wave {

/// Where an operator's tensors are among its arguments, and which parameters of the kernel take them.
struct TensorPositions {
  struct Position {
    size_t argument;
    size_t parameter;
  };
  const Kernel& kernel;
  size_t argument_count;
  std::vector<Position> tensors;

  /// The operator's arguments at the end of the stack.
  std::span<const c10::IValue> arguments(const torch::jit::Stack& stack) const {
    return {stack.data() + stack.size() - argument_count, argument_count};
  }

  /// Calls `visit` with the kernel's parameter and the tensor, for each.
  template <class Visit>
  void for_each_tensor(const torch::jit::Stack& stack, Visit visit) const {
    const std::span<const c10::IValue> given = arguments(stack);
    for (const Position& position : tensors) visit(position.parameter, given[position.argument].toTensor());
  }
};

using SharedPositions = std::shared_ptr<const TensorPositions>;

/// For the key ADInplaceOrView: tells autograd that written tensors change.
torch::CppFunction mark_written_kernel(const SharedPositions& positions);

/// For the key Autograd: raises where a launch would cut the autograd graph.
torch::CppFunction check_autograd_kernel(const SharedPositions& positions);

/// For the key Autograd: sends calls that autograd must see, and those in modes or with tensor subclasses, to another
/// operator with the same schema.
torch::CppFunction send_autograd_kernel(const SharedPositions& positions, const c10::OperatorHandle& other);

/// A boxed kernel that is an object.
template <class Functor, class... Arguments>
torch::CppFunction boxed(Arguments&&... arguments) {
  return torch::CppFunction::makeFromBoxedFunctor(std::make_unique<Functor>(std::forward<Arguments>(arguments)...));
}

/// An integer as the dispatcher passes it.
inline int64_t integer_of(const c10::IValue& value) {
  if (value.isInt()) return value.toInt();
  return value.isBool() ? value.toBool() : value.toSymInt().expect_int();
}

}  // namespace wave
