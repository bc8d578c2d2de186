#include "python/kernel_object.h"

#include "base/error.h"
#include "op/dedicated.h"
#include "python/address_launch.h"
#include "python/bound_launch.h"
#include "python/callable_type.h"
#include "python/devices.h"
#include "python/read_call.h"

namespace py = pybind11;

namespace wave {

namespace {

struct KernelState {
  static constexpr const char* kName = "wave_runtime.Kernel";
  static PyObject* call(PyObject* self, PyObject* const* arguments, size_t flags, PyObject* keyword_names) {
    return call_kernel(*state_of<KernelState>(self).kernel, self, arguments, flags, keyword_names);
  }
  template <class Visit>
  void each_reference(Visit) {}  // what it has are strings, numbers and tuples of them

  const Kernel* kernel;      ///< registered, so it lives for the process
  py::object handle;         ///< str
  py::object plan;           ///< what the traced call needs to know of each parameter; see wave_runtime/_kernel.py
  py::object default_block;  ///< tuple of 3 ints, or None
  char has_operator;         ///< whether a traced call becomes an operator of this kernel alone
  std::vector<std::shared_ptr<const void>> held;  ///< keeps the kernel's code loaded where it is

  ~KernelState() {
    const GilRelease release;  // the last holder unloads the modules, which may wait for a launch that needs the lock
    held.clear();
  }
};

const Kernel& kernel_of(PyObject* self) { return *state_of<KernelState>(self).kernel; }

/// For each parameter what call_operator in wave_runtime/_kernel.py does with it: which list its argument goes to.
py::str plan_of(const Parameter& parameter) {
  if (parameter.is_pointer) return parameter.is_const ? "input" : "output";
  if (parameter.is_float()) return "float";
  if (parameter.type == Type::Bytes) return "bytes";
  if (parameter.type == Type::U64 || parameter.type == Type::B64) return "word";
  return parameter.type >= Type::B8 && parameter.type <= Type::B64 ? "bits" : "int";
}

py::tuple plan_of(const Signature& signature) {
  py::tuple plan(signature.parameters.size());
  for (size_t i = 0; i < signature.parameters.size(); ++i) plan[i] = plan_of(signature.parameters[i]);
  return plan;
}

py::object block_tuple(const Kernel& kernel) {
  const auto& block = kernel.block();
  if (!block) return py::none();
  return py::make_tuple((*block)[0], (*block)[1], (*block)[2]);
}

/// A property that is computed.
template <py::object (*kRead)(const Kernel&)>
PyObject* get(PyObject* self, void*) {
  return with_python_errors([&] { return kRead(kernel_of(self)).release().ptr(); });
}

py::object name_of(const Kernel& kernel) { return python_text(kernel.name()); }
py::object signature_of(const Kernel& kernel) { return py::str(kernel.signature().text()); }
py::object strides_of(const Kernel& kernel) {
  return py::str(kernel.strides() == StridePolicy::Any ? "any" : "contiguous");
}
py::object strict_of(const Kernel& kernel) { return py::bool_(kernel.strict()); }

py::object names_of(const Kernel& kernel) {
  py::list names;
  for (const Parameter& parameter : kernel.signature().parameters) names.append(python_text(parameter.name));
  return py::tuple(names);
}

py::object writes_of(const Kernel& kernel) {
  if (!kernel.signature().mutability_known) return py::none();
  py::list writes;
  const auto& parameters = kernel.compact_parameters();
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i].is_written) writes.append(i);
  }
  return py::tuple(writes);
}

py::object images_of(const Kernel& kernel) {
  py::list images;
  for (const auto& code : kernel.variants()) {
    const Bytes bytes = code->bytes();
    images.append(py::bytes(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  }
  return images;
}

/// What the binary says of the kernel, as a wave_runtime.KernelInfo.
py::object info_of(const Kernel& kernel) {
  const py::object info = py::module_::import("wave_runtime._kernel").attr("info");
  return info(py::list(images_of(kernel))[0], name_of(kernel));
}

PyObject* repr(PyObject* self) {
  return with_python_errors([&] {
    const Kernel& kernel = kernel_of(self);
    return python_text(text("<wave_runtime.Kernel ", kernel.name(), "(", kernel.signature().text(), ") for ",
                            kernel.code().target().id(), ">"))
        .release()
        .ptr();
  });
}

PyObject* richcompare(PyObject* self, PyObject* other, int operation) {
  if ((operation != Py_EQ && operation != Py_NE) || !CallableObject<KernelState>::is(other)) Py_RETURN_NOTIMPLEMENTED;
  const bool equal = &kernel_of(self) == &kernel_of(other);
  return PyBool_FromLong(equal == (operation == Py_EQ));
}

Py_hash_t hash(PyObject* self) { return PyObject_Hash(state_of<KernelState>(self).handle.ptr()); }

/// Pickles and copies as the code object's bytes, the name and the options: unpickling registers it again under its
/// handle.
PyObject* reduce(PyObject* self, PyObject*) {
  return with_python_errors([&] {
    const Kernel& kernel = kernel_of(self);
    const py::object signature = kernel.overridden() ? signature_of(kernel) : py::none();
    const py::object rebuild = py::module_::import("wave_runtime._kernel").attr("rebuild");
    const py::tuple arguments =
        py::make_tuple(images_of(kernel), name_of(kernel), signature, strides_of(kernel), kernel.strict());
    return py::make_tuple(rebuild, arguments).release().ptr();
  });
}

void launch_raw_method(const py::object& self, const py::bytes& arguments, const py::sequence& memory,
                       const py::sequence& reads, const py::object& device, bool process_memory,
                       const py::kwargs& keywords) {
  launch_raw(kernel_of(self.ptr()), arguments, memory, reads, optional_device(device), process_memory, keywords);
}

py::dict trace_method(const py::object& self, const py::args& arguments, const py::kwargs& keywords) {
  return trace_accesses(kernel_of(self.ptr()), arguments, keywords);
}

py::object bind(const py::object& self, const py::args& arguments, const py::kwargs& keywords) {
  return make_bound_launch(self, kernel_of(self.ptr()), arguments, keywords);
}

py::str as_operator(const py::object& self, const std::string& name, const py::kwargs& keywords) {
  const Kernel& kernel = kernel_of(self.ptr());
  return define_operator(kernel, name, read_fixed_options(kernel, keywords));
}

void preload(const py::object& self, const py::object& device) {
  ensure_loaded(kernel_of(self.ptr()), place_of(required_device(device)));
}

py::dict resources(const py::object& self, const py::object& device) {
  const Kernel& kernel = kernel_of(self.ptr());
  const Place place = place_of(required_device(device));
  ensure_loaded(kernel, place);
  const FunctionUse function(kernel, place);
  const FunctionInfo& info = function->info;
  py::dict result;
  result["registers"] = info.registers;
  result["shared_memory"] = info.shared_memory;
  result["local_memory"] = info.local_memory;
  result["constant_memory"] = info.constant_memory;
  result["max_block_size"] = function->limits.max_block_size;
  result["max_shared_memory"] = place.driver().device(place.device).shared_memory;
  return result;
}

uint32_t occupancy(const py::object& self, const py::object& device, const py::kwargs& keywords) {
  const Kernel& kernel = kernel_of(self.ptr());
  const Place place = place_of(required_device(device));
  ensure_loaded(kernel, place);
  const FunctionUse function(kernel, place);
  const Geometry geometry = check_geometry(*function, read_fixed_options(kernel, keywords));
  const auto& [x, y, z] = geometry.block;
  return function->function->occupancy(x * y * z, geometry.shared_memory);
}

const std::vector<PyMemberDef> members = {
    {"handle", T_OBJECT_EX, offsetof(KernelState, handle), READONLY, "The key of this kernel in operators and graphs."},
    {"block", T_OBJECT_EX, offsetof(KernelState, default_block), READONLY, "The required workgroup size, or None."},
    {"_plan", T_OBJECT_EX, offsetof(KernelState, plan), READONLY, nullptr},
    {"_has_operator", T_BOOL, offsetof(KernelState, has_operator), READONLY, nullptr},
};

PyGetSetDef properties[] = {
    {"name", get<name_of>, nullptr, "The kernel's name.", nullptr},
    {"signature", get<signature_of>, nullptr, "The parameters' types: \"*f32 const, *f32, i32\".", nullptr},
    {"writes", get<writes_of>, nullptr,
     "Indices of the arguments that the kernel writes, or None where that is unknown.", nullptr},
    {"info", get<info_of>, nullptr, "What the binary says of the kernel: a KernelInfo.", nullptr},
    {"strides", get<strides_of>, nullptr, "\"contiguous\" or \"any\".", nullptr},
    {"strict", get<strict_of>, nullptr, "Whether the emulator checks launches against the signature.", nullptr},
    {"_images", get<images_of>, nullptr, nullptr, nullptr},
    {"_names", get<names_of>, nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyMethodDef methods[] = {
    {"__reduce__", reduce, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

const std::vector<PyType_Slot> slots = {
    {Py_tp_repr, reinterpret_cast<void*>(repr)},
    {Py_tp_hash, reinterpret_cast<void*>(hash)},
    {Py_tp_richcompare, reinterpret_cast<void*>(richcompare)},
    {Py_tp_getset, properties},
    {Py_tp_methods, methods},
};

/// Puts `function` into a type as __call__, where torch.compile looks for what to trace. A call from Python goes the
/// fast way still, by the vectorcall slot: a class that is made in Python would lose that where a base has a __call__.
void define_call(const py::type& type, const py::function& function) {
  auto* object = reinterpret_cast<PyTypeObject*>(type.ptr());
  if (PyDict_SetItemString(object->tp_dict, "__call__", function.ptr()) != 0) throw py::error_already_set();
  object->tp_call = PyVectorcall_Call;
  object->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL;
  PyType_Modified(object);
}

}  // namespace

const Kernel& kernel_of(const py::handle& object) {
  if (CallableObject<KernelState>::is(object.ptr())) return kernel_of(object.ptr());
  throw TypeError(text("expected a kernel, given ", type_name(object.ptr())));
}

py::object make_kernel_object(const Kernel& kernel) {
  std::vector<std::shared_ptr<const void>> held;
  for (const auto& code : kernel.variants()) held.push_back(hold_loaded(code));
  return make_callable<KernelState>(&kernel, python_text(kernel.handle()), plan_of(kernel.signature()),
                                    block_tuple(kernel), can_have_operator(kernel), std::move(held));
}

void bind_kernel(py::module_& module) {
  const py::handle owner = make_callable_type<KernelState>(slots, members);
  const auto add_method = [&](const char* name, auto function, const auto&... arguments) {
    owner.attr(name) = py::cpp_function(function, py::name(name), py::is_method(owner), arguments...);
  };
  add_method("launch_raw", launch_raw_method, py::arg("arguments"), py::kw_only(), py::arg("memory") = py::tuple(),
             py::arg("reads") = py::tuple(), py::arg("device") = py::none(), py::arg("process_memory") = false);
  add_method("_trace", trace_method);
  add_method("bind", bind);
  add_method("_define_operator", as_operator, py::arg("name"));
  add_method("preload", preload, py::arg("device") = py::none());
  add_method("resources", resources, py::arg("device") = py::none());
  add_method("occupancy", occupancy, py::arg("device") = py::none());
  bind_address_launch(owner);
  module.add_object("Kernel", owner);
  module.def(
      "define_traced_operator", [](const std::string& handle) { return define_traced_operator(find_kernel(handle)); },
      py::arg("handle"));
  module.def("define_call", &define_call, py::arg("type"), py::arg("function"));
}

}  // namespace wave
