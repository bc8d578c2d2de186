#include "op/kernel_operator.h"

#include <ATen/core/boxing/OperatorKernel.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <c10/core/GradMode.h>
#include <c10/core/impl/TorchDispatchModeTLS.h>

#include "op/call.h"
#include "op/torch_errors.h"

namespace wave {

namespace {

using c10::DispatchKeySet;
using c10::OperatorHandle;
using torch::jit::Stack;
using Shared = std::shared_ptr<const KernelOperator>;

/// A boxed kernel: one function for all schemas.
struct Boxed : c10::OperatorKernel {
  explicit Boxed(Shared shared) : op(std::move(shared)) {}
  const Shared op;

  /// The operator's arguments at the end of the stack.
  std::span<const c10::IValue> arguments(const Stack& stack) const {
    return {stack.data() + stack.size() - op->argument_count, op->argument_count};
  }

  template <class Visit>
  void each_tensor(const Stack& stack, Visit visit) const {
    const c10::IValue* argument = arguments(stack).data();
    for (const size_t index : op->parameters) {
      if (op->kernel.signature().parameters[index].is_pointer) visit(index, argument->toTensor());
      ++argument;
    }
  }
};

template <class Functor, class... Arguments>
torch::CppFunction boxed(Arguments&&... arguments) {
  return torch::CppFunction::makeFromBoxedFunctor(std::make_unique<Functor>(std::forward<Arguments>(arguments)...));
}

struct Dense : Boxed {
  using Boxed::Boxed;

  void operator()(const OperatorHandle&, DispatchKeySet, Stack* stack) {
    std::vector<at::Tensor> results;
    with_torch_errors([&] { results = op->run(arguments(*stack)); });
    torch::jit::drop(*stack, op->argument_count);
    for (at::Tensor& result : results) stack->emplace_back(std::move(result));
  }
};

struct WithoutData : Boxed {
  using Boxed::Boxed;

  void operator()(const OperatorHandle&, DispatchKeySet, Stack* stack) {
    with_torch_errors([&] {
      Call call(op->kernel);
      each_tensor(*stack, [&](size_t parameter, const at::Tensor& tensor) { call.add(parameter, tensor); });
      call.check_without_data();
    });
    torch::jit::drop(*stack, op->argument_count);
  }
};

struct MarkWritten : Boxed {
  using Boxed::Boxed;

  void operator()(const OperatorHandle& handle, DispatchKeySet keys, Stack* stack) {
    each_tensor(*stack, [&](size_t parameter, const at::Tensor& tensor) {
      if (!op->kernel.signature().parameters[parameter].is_const) mark_written(tensor);
    });
    handle.redispatchBoxed(keys & c10::after_ADInplaceOrView_keyset, stack);
  }
};

struct CheckAutograd : Boxed {
  using Boxed::Boxed;

  void operator()(const OperatorHandle& handle, DispatchKeySet keys, Stack* stack) {
    with_torch_errors([&] {
      check_autograd(op->kernel.name(), [&](VisitTensor visit) {
        each_tensor(*stack, [&](size_t, const at::Tensor& tensor) { visit(tensor); });
      });
    });
    handle.redispatchBoxed(keys & c10::after_autograd_keyset, stack);
  }
};

struct RefuseBatch : Boxed {
  using Boxed::Boxed;

  void operator()(const OperatorHandle&, DispatchKeySet, Stack*) {
    with_torch_errors([&] { refuse_batch(op->kernel.name()); });
  }
};

struct SendAutograd : Boxed {
  SendAutograd(Shared shared, const OperatorHandle& to) : Boxed(std::move(shared)), other(to) {}
  const OperatorHandle other;

  void operator()(const OperatorHandle& handle, DispatchKeySet keys, Stack* stack) {
    const bool grad_mode = c10::GradMode::is_enabled();
    bool is_seen = c10::impl::TorchDispatchModeTLS::any_modes_set();  // tracers: their graphs get the fingerprint
    each_tensor(*stack, [&](size_t, const at::Tensor& tensor) {
      is_seen |= is_fake(tensor) || (grad_mode && tensor.requires_grad()) || tensor._fw_grad(0).defined();
    });
    if (is_seen) return other.redispatchBoxed(keys, stack);
    handle.redispatchBoxed(keys & c10::after_autograd_keyset, stack);
  }
};

bool is_lowering() {
  using c10::impl::TorchDispatchModeKey;
  using c10::impl::TorchDispatchModeTLS;
  return !TorchDispatchModeTLS::get_mode(TorchDispatchModeKey::FUNCTIONAL).has_value();
}

}  // namespace

void implement(torch::Library& library, const std::string& name, const Shared& op,
               const std::optional<OperatorHandle>& autograd) {
  const auto add = [&](c10::DispatchKey key, torch::CppFunction function) {
    library.impl(name.c_str(), torch::dispatch(key, std::move(function)));
  };
  add(c10::DispatchKey::CPU, boxed<Dense>(op));
  add(c10::DispatchKey::CUDA, boxed<Dense>(op));
  add(c10::DispatchKey::ADInplaceOrView, boxed<MarkWritten>(op));
  add(c10::DispatchKey::Autograd, autograd ? boxed<SendAutograd>(op, *autograd) : boxed<CheckAutograd>(op));
  if (!autograd) add(c10::DispatchKey::FuncTorchBatched, boxed<RefuseBatch>(op));  // others may have a rule
}

torch::CppFunction check_kernel(const Shared& op) { return boxed<WithoutData>(op); }

void check_autograd(std::string_view kernel, c10::function_ref<void(VisitTensor)> each_tensor) {
  bool all_fake = true;
  each_tensor([&](const at::Tensor& tensor) { all_fake &= is_fake(tensor); });
  if (all_fake && is_lowering()) return;
  each_tensor([&](const at::Tensor& tensor) { check_differentiable(kernel, tensor); });
}

void refuse_batch(std::string_view kernel) {
  throw RuntimeError(text(kernel_text(kernel),
                          ": a launch has no rule for torch.vmap. Call the kernel in an operator that has one "
                          "(wave_runtime.define_op, register_vmap()), or in a loop over the batch"));
}

}  // namespace wave
