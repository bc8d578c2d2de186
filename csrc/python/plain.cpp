#include "python/plain.h"

#include <ATen/PythonTorchFunctionTLS.h>
#include <c10/core/GradMode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include "python/convert.h"
#include "python/torch_python.h"

namespace wave {

const PlainKeys kGpuKeys(c10::DispatchKey::CUDA, c10::DispatchKey::AutogradCUDA, c10::DispatchKey::AutocastCUDA);
const PlainKeys kCpuKeys(c10::DispatchKey::CPU, c10::DispatchKey::AutogradCPU, c10::DispatchKey::AutocastCPU);

namespace {

const uint64_t kAutocast = c10::autocast_dispatch_keyset.raw_repr();

/// torch.inference_mode takes ADInplaceOrView away, and an operator's own implementation runs below autograd, where a
/// launch that had to be seen was.
[[gnu::noinline, gnu::cold]] bool only_autograd_is_off(const c10::impl::LocalDispatchKeySet& keys) {
  const c10::DispatchKeySet in_place(c10::DispatchKey::ADInplaceOrView);
  if ((keys.included_ | in_place) != c10::default_included_set) return false;
  c10::DispatchKeySet ignored = c10::autocast_dispatch_keyset;
  if (!c10::GradMode::is_enabled()) ignored = ignored | c10::autograd_dispatch_keyset | in_place;
  return (keys.excluded_ | ignored) == (c10::default_excluded_set | ignored);
}

bool is_plain_number(PyObject* object) {
  return PyLong_CheckExact(object) || PyFloat_CheckExact(object) || PyBool_Check(object);
}

}  // namespace

// is_any_tensor calls into Python for what is no tensor at all.
bool is_tensor(PyObject* object) { return !is_plain_number(object) && is_any_tensor(object); }

// A mode for operators includes the key Python. Autocast's make no difference to a launch, which has no rule for it.
bool thread_is_plain() {
  const c10::impl::LocalDispatchKeySet keys = c10::impl::tls_local_dispatch_key_set();
  const bool is_default = keys.included_ == c10::default_included_set &&
                          (keys.excluded_.raw_repr() | kAutocast) == (c10::default_excluded_set.raw_repr() | kAutocast);
  return (is_default || only_autograd_is_off(keys)) && !at::impl::torch_function_mode_enabled();
}

bool is_for_operator(PyObject* argument) {
  if (is_exact_tensor(argument)) return !has_plain_keys(tensor_of(argument).unsafeGetTensorImpl());
  if (is_plain_number(argument)) return false;
  static const py::handle symbolic = [] {
    const py::object torch = py::import("torch");
    return py::make_tuple(torch.attr("SymInt"), torch.attr("SymFloat"), torch.attr("SymBool")).release();
  }();
  return is_tensor(argument) || PyObject_IsInstance(argument, symbolic.ptr()) == 1 ||
         py::handle(reinterpret_cast<PyObject*>(Py_TYPE(argument))).has_attr("__torch_function__");
}

}  // namespace wave
