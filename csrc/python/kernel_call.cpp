// The fast call: kernel(*args, grid=, block=, shared_memory=) on plain tensors goes straight to the launch. Anything
// that a mode, a tracer or a tensor subclass must see goes through Python (wave_runtime._kernel.call_operator) to the
// operator.
#include <ATen/PythonTorchFunctionTLS.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <c10/core/impl/TorchDispatchModeTLS.h>
#include <torch/csrc/autograd/python_variable.h>

#include "base/error.h"
#include "op/call.h"
#include "python/c_api.h"
#include "python/kernel_object.h"

namespace py = pybind11;

namespace wave {

namespace {

/// The keywords of a call, borrowed.
struct Keywords {
  PyObject* grid = nullptr;
  PyObject* block = nullptr;
  PyObject* shared_memory = nullptr;
};

Keywords read_keywords(const Kernel& kernel, PyObject* const* values, PyObject* names) {
  Keywords keywords;
  const Py_ssize_t count = names == nullptr ? 0 : PyTuple_GET_SIZE(names);
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* name = PyTuple_GET_ITEM(names, i);
    if (PyUnicode_CompareWithASCIIString(name, "grid") == 0) {
      keywords.grid = values[i];
    } else if (PyUnicode_CompareWithASCIIString(name, "block") == 0) {
      keywords.block = values[i];
    } else if (PyUnicode_CompareWithASCIIString(name, "shared_memory") == 0) {
      keywords.shared_memory = values[i];
    } else {
      throw TypeError(text("kernel '", kernel.name(), "' got an unexpected keyword '",
                           std::string(py::str(py::handle(name))), "'; it takes grid=, block= and shared_memory="));
    }
  }
  if (keywords.grid == nullptr)
    throw TypeError(text("kernel '", kernel.name(), "': grid= is missing (it counts workgroups)"));
  return keywords;
}

const char* type_name(PyObject* object) { return Py_TYPE(object)->tp_name; }

int64_t extent_of(const Kernel& kernel, const char* what, PyObject* value) {
  const py::object index = py::reinterpret_steal<py::object>(PyNumber_Index(value));
  if (!index) {
    PyErr_Clear();
    throw TypeError(text("kernel '", kernel.name(), "': ", what, " takes integers, given ", type_name(value)));
  }
  const long long extent = PyLong_AsLongLong(index.ptr());
  if (extent == -1 && PyErr_Occurred()) {
    PyErr_Clear();
    throw ValueError(
        text("kernel '", kernel.name(), "': ", what, " ", std::string(py::str(index)), " is out of range"));
  }
  return extent;
}

/// An int, or 1 to 3 of them; missing extents are 1.
std::array<int64_t, 3> dims_of(const Kernel& kernel, const char* what, PyObject* value) {
  if (PyLong_Check(value)) return {extent_of(kernel, what, value), 1, 1};
  const bool is_sequence = PyTuple_Check(value) || PyList_Check(value) || PySequence_Check(value);
  if (!is_sequence || PyUnicode_Check(value)) return {extent_of(kernel, what, value), 1, 1};
  const py::object items = py::reinterpret_steal<py::object>(PySequence_Fast(value, "a sequence"));
  const Py_ssize_t count = PySequence_Fast_GET_SIZE(items.ptr());
  if (count < 1 || count > 3) {
    throw ValueError(text("kernel '", kernel.name(), "': ", what, " must be an int or 1 to 3 ints, given ", count));
  }
  std::array<int64_t, 3> dims{1, 1, 1};
  for (Py_ssize_t i = 0; i < count; ++i) {
    dims[static_cast<size_t>(i)] = extent_of(kernel, what, PySequence_Fast_GET_ITEM(items.ptr(), i));
  }
  return dims;
}

std::array<int64_t, 3> block_of(const Kernel& kernel, PyObject* value) {
  if (value != nullptr && value != Py_None) return dims_of(kernel, "block", value);
  if (const auto& block = kernel.block()) return {(*block)[0], (*block)[1], (*block)[2]};
  throw TypeError(text("kernel '", kernel.name(), "': block= is missing: the binary fixes no workgroup size (at most ",
                       kernel.info().metadata.max_flat_workgroup_size, " work-items)"));
}

Geometry geometry_of(const Kernel& kernel, const Keywords& keywords) {
  const int64_t shared_memory =
      keywords.shared_memory == nullptr ? 0 : extent_of(kernel, "shared_memory", keywords.shared_memory);
  return check_geometry(kernel, dims_of(kernel, "grid", keywords.grid), block_of(kernel, keywords.block),
                        shared_memory);
}

/// Whether nothing on this thread wants to see operators: no mode, no tracer, no functorch level, no inference mode.
bool thread_is_plain() {
  const c10::impl::LocalDispatchKeySet keys = c10::impl::tls_local_dispatch_key_set();
  return keys.included_ == c10::default_included_set && keys.excluded_ == c10::default_excluded_set &&
         !c10::impl::dispatch_mode_enabled() && !at::impl::torch_function_mode_enabled();
}

/// The keys that a dense CPU tensor may have. Compared as raw bits: subtracting key sets keeps backend bits.
bool has_plain_keys(const at::Tensor& tensor) {
  using c10::DispatchKey;
  static const uint64_t dense = c10::DispatchKeySet(DispatchKey::CPU).raw_repr();
  static const uint64_t allowed =
      dense | c10::DispatchKeySet({DispatchKey::ADInplaceOrView, DispatchKey::AutogradCPU, DispatchKey::AutocastCPU})
                  .raw_repr();
  const uint64_t keys = tensor.key_set().raw_repr();
  return (keys & ~allowed) == 0 && (keys & dense) == dense;
}

/// A Tensor or a Parameter: other subclasses may override what functions do with them.
bool is_plain_tensor(PyObject* object) {
  return THPVariable_CheckExact(object) && has_plain_keys(THPVariable_Unpack(object));
}

/// Symbolic scalars and tensors that are not plain are the operator's business.
bool is_for_operator(PyObject* object) {
  if (THPVariable_Check(object)) return !is_plain_tensor(object);
  static const py::handle symbolic = [] {
    const py::module_ torch = py::module_::import("torch");
    return py::make_tuple(torch.attr("SymInt"), torch.attr("SymFloat"), torch.attr("SymBool")).release();
  }();
  if (PyLong_CheckExact(object) || PyFloat_CheckExact(object) || PyBool_Check(object)) return false;
  return PyObject_IsInstance(object, symbolic.ptr()) == 1;
}

PyObject* call_operator(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* keyword_names) {
  static const py::handle function =
      py::object(py::module_::import("wave_runtime._kernel").attr("call_operator")).release();
  // self, then the arguments as they came: vectorcall wants them in one array.
  const Py_ssize_t keywords = keyword_names == nullptr ? 0 : PyTuple_GET_SIZE(keyword_names);
  std::vector<PyObject*> stack{self};
  stack.insert(stack.end(), arguments, arguments + count + keywords);
  return PyObject_Vectorcall(function.ptr(), stack.data(), static_cast<size_t>(count) + 1, keyword_names);
}

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

bool is_float_parameter(const Parameter& parameter) {
  return !parameter.is_pointer && parameter.type >= Type::F16 && parameter.type <= Type::F64;
}

/// A zero-dimensional CPU tensor stands for a float: under torch.compile a Python float would recompile for each value.
void pack_tensor_scalar(ArgumentPacker& packer, size_t index, const at::Tensor& tensor) {
  const Parameter& parameter = packer.kernel().signature().parameters[index];
  if (!is_float_parameter(parameter) || tensor.dim() != 0 || !c10::isFloatingType(tensor.scalar_type())) {
    throw TypeError(text(packer.kernel().argument_text(index), ": expected ", parameter.type_text(),
                         ", given a tensor of shape ", list_text(tensor.sizes())));
  }
  packer.floating(index, tensor.item().toDouble());
}

void pack_scalar(ArgumentPacker& packer, size_t index, PyObject* value) {
  const Parameter& parameter = packer.kernel().signature().parameters[index];
  if (PyFloat_Check(value)) return packer.floating(index, PyFloat_AS_DOUBLE(value));
  if (THPVariable_Check(value)) return pack_tensor_scalar(packer, index, THPVariable_Unpack(value));
  if (parameter.type == Type::Bytes && PyObject_CheckBuffer(value)) {
    const py::buffer_info info = py::reinterpret_borrow<py::buffer>(value).request();
    return packer.bytes(index, {static_cast<const uint8_t*>(info.ptr), static_cast<size_t>(info.size * info.itemsize)});
  }
  if (PyIndex_Check(value)) {
    const py::object number = py::reinterpret_steal<py::object>(PyNumber_Index(value));
    if (!number) throw py::error_already_set();
    if (is_float_parameter(parameter)) return packer.floating(index, PyLong_AsDouble(number.ptr()));
    return pack_integer(packer, index, number.ptr());
  }
  if (is_float_parameter(parameter) && Py_TYPE(value)->tp_as_number != nullptr &&
      Py_TYPE(value)->tp_as_number->nb_float != nullptr) {
    const py::object number = py::reinterpret_steal<py::object>(PyNumber_Float(value));
    if (!number) throw py::error_already_set();
    return packer.floating(index, PyFloat_AS_DOUBLE(number.ptr()));
  }
  throw TypeError(
      text(packer.kernel().argument_text(index), ": expected ", parameter.type_text(), ", given ", type_name(value)));
}

void add_tensor(TensorArguments& tensors, const Kernel& kernel, size_t index, PyObject* value) {
  if (THPVariable_Check(value)) return tensors.add(index, THPVariable_Unpack(value));
  const bool is_address = PyLong_Check(value);
  throw TypeError(text(kernel.argument_text(index), ": expected a tensor (",
                       kernel.signature().parameters[index].type_text(), "), given ",
                       value == Py_None ? "None" : type_name(value),
                       is_address ? ": pass the tensor itself, not its data_ptr(); launch_raw() takes addresses" : ""));
}

void check_count(const Kernel& kernel, Py_ssize_t given) {
  const size_t expected = kernel.signature().parameters.size();
  if (static_cast<size_t>(given) == expected) return;
  throw TypeError(text("kernel '", kernel.name(), "' takes ", expected, " arguments (", kernel.signature().text(),
                       "), given ", given));
}

void warn(const std::vector<std::string>& warnings) {
  for (const std::string& warning : warnings) {
    if (PyErr_WarnEx(PyExc_RuntimeWarning, warning.c_str(), 1) != 0) throw py::error_already_set();
  }
}

void read_arguments(const Kernel& kernel, PyObject* const* arguments, ArgumentPacker& packer,
                    TensorArguments& tensors) {
  const auto& parameters = kernel.signature().parameters;
  for (size_t index = 0; index < parameters.size(); ++index) {
    if (parameters[index].is_pointer) {
      add_tensor(tensors, kernel, index, arguments[index]);
    } else {
      pack_scalar(packer, index, arguments[index]);
    }
  }
}

void launch_plain(const Kernel& kernel, PyObject* const* arguments, const Keywords& keywords) {
  TensorArguments tensors(kernel);
  ArgumentPacker packer(kernel);
  read_arguments(kernel, arguments, packer, tensors);
  tensors.check_together();
  tensors.check_inference();
  const Geometry geometry = geometry_of(kernel, keywords);
  for (const auto& item : tensors.items()) check_differentiable(kernel, *item.tensor);
  tensors.mark_written();
  tensors.pack(packer);
  std::vector<std::string> warnings;
  {
    py::gil_scoped_release release;
    warnings = launch_on_cpu(kernel, geometry, packer, tensors);
  }
  warn(warnings);
}

}  // namespace

PyObject* call_kernel(PyObject* self, PyObject* const* arguments, size_t flags, PyObject* keyword_names) {
  const Kernel& kernel = *reinterpret_cast<KernelObject*>(self)->kernel;
  const Py_ssize_t count = PyVectorcall_NARGS(flags);
  return with_python_errors([&]() -> PyObject* {
    check_count(kernel, count);
    const Keywords keywords = read_keywords(kernel, arguments + count, keyword_names);
    bool plain = thread_is_plain();
    for (Py_ssize_t i = 0; plain && i < count; ++i) plain = !is_for_operator(arguments[i]);
    if (!plain) return call_operator(self, arguments, count, keyword_names);
    launch_plain(kernel, arguments, keywords);
    Py_RETURN_NONE;
  });
}

py::dict trace_accesses(const Kernel& kernel, const py::args& arguments, const py::object& grid,
                        const py::object& block, int64_t shared_memory) {
  check_count(kernel, static_cast<Py_ssize_t>(arguments.size()));
  TensorArguments tensors(kernel);
  ArgumentPacker packer(kernel);
  std::vector<PyObject*> values;
  for (const py::handle value : arguments) values.push_back(value.ptr());
  read_arguments(kernel, values.data(), packer, tensors);
  tensors.check_together();
  const Geometry geometry =
      check_geometry(kernel, dims_of(kernel, "grid", grid.ptr()), block_of(kernel, block.ptr()), shared_memory);
  tensors.pack(packer);
  std::vector<MemoryRange> memory = tensors.memory();
  for (MemoryRange& range : memory) range.writable = true;  // whatever the signature says
  AccessTrace trace = tensors.trace();
  std::vector<std::string> warnings;
  {
    py::gil_scoped_release release;
    warnings = launch_on_cpu(kernel, geometry, packer.packed(), std::move(memory), &trace);
  }
  warn(warnings);
  py::dict accesses;
  for (size_t i = 0; i < trace.size(); ++i) {
    accesses[py::int_(tensors.items()[i].index)] = py::make_tuple(trace.read(i), trace.written(i));
  }
  return accesses;
}

void launch_raw(const Kernel& kernel, const py::bytes& arguments, const py::object& grid, const py::object& block,
                int64_t shared_memory, const py::sequence& memory) {
  const std::string_view packed = arguments;
  const size_t wanted = kernel.argument_bytes();
  if (packed.size() > wanted) {
    throw ValueError(text("kernel '", kernel.name(), "': ", packed.size(),
                          " bytes of arguments given, but its kernarg segment has ", wanted));
  }
  std::vector<at::Tensor> tensors;
  for (const py::handle item : memory) {
    if (!THPVariable_Check(item.ptr()))
      throw TypeError(text("memory[", tensors.size(), "]: expected a tensor, given ", type_name(item.ptr())));
    tensors.push_back(THPVariable_Unpack(item.ptr()));
  }
  const Geometry geometry =
      check_geometry(kernel, dims_of(kernel, "grid", grid.ptr()), block_of(kernel, block.ptr()), shared_memory);
  std::vector<MemoryRange> ranges = memory_of(tensors);
  mark_written(tensors);
  std::vector<std::string> warnings;
  {
    py::gil_scoped_release release;
    warnings = launch_on_cpu(kernel, geometry, {reinterpret_cast<const uint8_t*>(packed.data()), packed.size()},
                             std::move(ranges));
  }
  warn(warnings);
}

}  // namespace wave
