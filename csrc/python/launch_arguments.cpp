#include "python/launch_arguments.h"

#include <ATen/PythonTorchFunctionTLS.h>
#include <c10/core/GradMode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/csrc/autograd/python_variable.h>

#include "base/error.h"
#include "python/c_api.h"
#include "python/devices.h"

namespace py = pybind11;

namespace wave {

namespace {

/// The keys that a dense tensor of a backend has, and those that it may have besides. Compared as raw bits: subtracting
/// key sets keeps backend bits.
struct PlainKeys {
  uint64_t dense, allowed;

  PlainKeys(c10::DispatchKey backend, c10::DispatchKey autograd, c10::DispatchKey autocast)
      : dense(c10::DispatchKeySet(backend).raw_repr()),
        allowed(dense | c10::DispatchKeySet({c10::DispatchKey::ADInplaceOrView, autograd, autocast}).raw_repr()) {}
  bool match(uint64_t keys) const { return (keys & ~allowed) == 0 && (keys & dense) == dense; }
};

const PlainKeys kGpuKeys(c10::DispatchKey::CUDA, c10::DispatchKey::AutogradCUDA, c10::DispatchKey::AutocastCUDA);
const PlainKeys kCpuKeys(c10::DispatchKey::CPU, c10::DispatchKey::AutogradCPU, c10::DispatchKey::AutocastCPU);

bool has_plain_keys(const at::Tensor& tensor) {
  const uint64_t keys = tensor.key_set().raw_repr();
  return kGpuKeys.match(keys) || kCpuKeys.match(keys);
}

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

/// THPVariable_Check calls into Python for what is no tensor at all.
bool is_tensor(PyObject* object) { return !is_plain_number(object) && THPVariable_Check(object); }

void pack_integer(ArgumentPacker& packer, size_t index, PyObject* value) {
  int overflow = 0;
  const long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
  if (overflow == 0) return packer.integer(index, number);
  const unsigned long long large = PyLong_AsUnsignedLongLong(value);
  if (overflow > 0 && !PyErr_Occurred()) return packer.large_integer(index, large);
  PyErr_Clear();
  throw ValueError(text(packer.kernel().argument_text(index), ": the integer ", std::string(py::str(py::handle(value))),
                        " does not fit in 64 bits"));
}

/// A zero-dimensional CPU tensor stands for a float: under torch.compile a Python float would recompile for each value.
void pack_tensor_scalar(ArgumentPacker& packer, size_t index, const at::Tensor& tensor) {
  const Parameter& parameter = packer.kernel().signature().parameters[index];
  if (!parameter.is_float() || tensor.dim() != 0 || !c10::isFloatingType(tensor.scalar_type())) {
    throw TypeError(text(packer.kernel().argument_text(index), ": expected ", parameter.type_text(),
                         ", given a tensor of shape ", list_text(tensor.sizes())));
  }
  packer.floating(index, tensor.item().toDouble());
}

void pack_scalar(ArgumentPacker& packer, size_t index, PyObject* value) {
  const Parameter& parameter = packer.kernel().signature().parameters[index];
  if (PyLong_CheckExact(value) && !parameter.is_float()) return pack_integer(packer, index, value);
  if (PyFloat_Check(value)) return packer.floating(index, PyFloat_AS_DOUBLE(value));
  if (is_tensor(value)) return pack_tensor_scalar(packer, index, THPVariable_Unpack(value));
  if (parameter.type == Type::Bytes && PyObject_CheckBuffer(value)) {
    const py::buffer_info info = py::reinterpret_borrow<py::buffer>(value).request();
    return packer.bytes(index, {static_cast<const uint8_t*>(info.ptr), static_cast<size_t>(info.size * info.itemsize)});
  }
  if (PyIndex_Check(value)) {
    const py::object number = py::reinterpret_steal<py::object>(PyNumber_Index(value));
    if (!number) throw py::error_already_set();
    if (parameter.is_float()) return packer.floating(index, PyLong_AsDouble(number.ptr()));
    return pack_integer(packer, index, number.ptr());
  }
  if (parameter.is_float() && Py_TYPE(value)->tp_as_number != nullptr &&
      Py_TYPE(value)->tp_as_number->nb_float != nullptr) {
    const py::object number = py::reinterpret_steal<py::object>(PyNumber_Float(value));
    if (!number) throw py::error_already_set();
    return packer.floating(index, PyFloat_AS_DOUBLE(number.ptr()));
  }
  throw TypeError(
      text(packer.kernel().argument_text(index), ": expected ", parameter.type_text(), ", given ", type_name(value)));
}

void add_tensor(TensorArguments& tensors, const Kernel& kernel, size_t index, PyObject* value) {
  if (is_tensor(value)) return tensors.add(index, THPVariable_Unpack(value));
  const bool is_address = PyLong_Check(value);
  throw TypeError(text(kernel.argument_text(index), ": expected a tensor (",
                       kernel.signature().parameters[index].type_text(), "), given ",
                       value == Py_None ? "None" : type_name(value),
                       is_address         ? ": pass the tensor itself, not its data_ptr(); launch_raw() takes addresses"
                       : value == Py_None ? ": an empty tensor passes a null pointer"
                                          : ""));
}

}  // namespace

bool has_plain_gpu_keys(const c10::TensorImpl* tensor) { return kGpuKeys.match(tensor->key_set().raw_repr()); }
bool has_plain_cpu_keys(const c10::TensorImpl* tensor) { return kCpuKeys.match(tensor->key_set().raw_repr()); }

// A mode for operators includes the key Python. Autocast's make no difference to a launch, which has no rule for it.
bool thread_is_plain() {
  const c10::impl::LocalDispatchKeySet keys = c10::impl::tls_local_dispatch_key_set();
  const bool is_default = keys.included_ == c10::default_included_set &&
                          (keys.excluded_.raw_repr() | kAutocast) == (c10::default_excluded_set.raw_repr() | kAutocast);
  return (is_default || only_autograd_is_off(keys)) && !at::impl::torch_function_mode_enabled();
}

bool is_for_operator(PyObject* argument) {
  if (THPVariable_CheckExact(argument)) return !has_plain_keys(THPVariable_Unpack(argument));
  if (is_plain_number(argument)) return false;
  static const py::handle symbolic = [] {
    const py::module_ torch = py::module_::import("torch");
    return py::make_tuple(torch.attr("SymInt"), torch.attr("SymFloat"), torch.attr("SymBool")).release();
  }();
  return is_tensor(argument) || PyObject_IsInstance(argument, symbolic.ptr()) == 1;
}

void check_count(const Kernel& kernel, Py_ssize_t given) {
  const size_t expected = kernel.signature().parameters.size();
  if (static_cast<size_t>(given) == expected) return;
  throw TypeError(text("kernel '", kernel.name(), "' takes ", expected, " arguments (", kernel.signature().text(),
                       "), given ", given));
}

void read_argument(const Kernel& kernel, size_t index, PyObject* argument, ArgumentPacker& packer,
                   TensorArguments& tensors) {
  const Parameter& parameter = kernel.signature().parameters[index];
  if (parameter.is_pointer || (parameter.may_be_pointer && is_tensor(argument))) {
    add_tensor(tensors, kernel, index, argument);
  } else {
    pack_scalar(packer, index, argument);
  }
}

void warn(const std::vector<std::string>& warnings) {
  for (const std::string& warning : warnings) {
    if (PyErr_WarnEx(PyExc_RuntimeWarning, warning.c_str(), 1) != 0) throw py::error_already_set();
  }
}

c10::Device device_of_call(const Kernel& kernel, const TensorArguments& tensors, PyObject* given) {
  std::optional<c10::Device> device;
  if (given != nullptr) device = optional_device(py::reinterpret_borrow<py::object>(given));
  if (tensors.items().empty() && device) return *device;
  tensors.check_together();
  if (!device || *device == tensors.device()) return tensors.device();
  throw ValueError(text("kernel '", kernel.name(), "': device=", device->str(), " given, but the tensors are on ",
                        tensors.device().str()));
}

void ensure_loaded(const Kernel& kernel, const Place& place) {
  if (is_loaded(kernel, place)) return;
  const GilRelease release;
  const FunctionUse load(kernel, place);
}

}  // namespace wave
