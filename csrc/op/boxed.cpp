#include "op/boxed.h"

#include <c10/core/GradMode.h>
#include <c10/core/impl/TorchDispatchModeTLS.h>

#include "op/call.h"
#include "op/torch_errors.h"

namespace wave {

namespace {

using c10::DispatchKeySet;
using c10::OperatorHandle;
using torch::jit::Stack;

struct MarkWritten : c10::OperatorKernel {
  explicit MarkWritten(SharedPositions shared) : positions(std::move(shared)) {}
  const SharedPositions positions;

  void operator()(const OperatorHandle& handle, DispatchKeySet keys, Stack* stack) {
    positions->for_each_tensor(*stack, [&](size_t parameter, const at::Tensor& tensor) {
      if (!positions->kernel.signature().parameters[parameter].is_const) mark_written(tensor);
    });
    handle.redispatchBoxed(keys & c10::after_ADInplaceOrView_keyset, stack);
  }
};

struct CheckAutograd : c10::OperatorKernel {
  explicit CheckAutograd(SharedPositions shared) : positions(std::move(shared)) {}
  const SharedPositions positions;

  void operator()(const OperatorHandle& handle, DispatchKeySet keys, Stack* stack) {
    bool all_fake = true;
    positions->for_each_tensor(*stack, [&](size_t, const at::Tensor& tensor) { all_fake &= is_fake(tensor); });
    if (!all_fake || !is_lowering()) {
      positions->for_each_tensor(*stack, [&](size_t, const at::Tensor& tensor) {
        with_torch_errors([&] { check_differentiable(positions->kernel, tensor); });
      });
    }
    handle.redispatchBoxed(keys & c10::after_autograd_keyset, stack);
  }
};

struct SendAutograd : c10::OperatorKernel {
  SendAutograd(SharedPositions shared, const OperatorHandle& to) : positions(std::move(shared)), other(to) {}
  const SharedPositions positions;
  const OperatorHandle other;

  void operator()(const OperatorHandle& handle, DispatchKeySet keys, Stack* stack) {
    const bool grad_mode = c10::GradMode::is_enabled();
    bool is_seen = c10::impl::TorchDispatchModeTLS::any_modes_set();  // tracers: their graphs get the fingerprint
    positions->for_each_tensor(*stack, [&](size_t, const at::Tensor& tensor) {
      is_seen |= is_fake(tensor) || (grad_mode && tensor.requires_grad()) || tensor._fw_grad(0).defined();
    });
    if (is_seen) return other.redispatchBoxed(keys, stack);
    handle.redispatchBoxed(keys & c10::after_autograd_keyset, stack);
  }
};

}  // namespace

torch::CppFunction mark_written_kernel(const SharedPositions& positions) { return boxed<MarkWritten>(positions); }

torch::CppFunction check_autograd_kernel(const SharedPositions& positions) { return boxed<CheckAutograd>(positions); }

torch::CppFunction send_autograd_kernel(const SharedPositions& positions, const OperatorHandle& other) {
  return boxed<SendAutograd>(positions, other);
}

}  // namespace wave
