#include "python/kernel_object.h"

#include "base/error.h"
#include "op/dedicated.h"
#include "python/address_launch.h"
#include "python/bound_launch.h"
#include "python/callable_type.h"
#include "python/define.h"
#include "python/devices.h"
#include "python/docs.h"
#include "python/read_call.h"

namespace wave {

namespace {

struct KernelState {
  static constexpr const char* kName = "wave_runtime.Kernel";
  static PyObject* call(PyObject* self, PyObject* const* arguments, size_t flags, PyObject* keyword_names) {
    return call_kernel(*state_of<KernelState>(self).kernel, self, arguments, flags, keyword_names);
  }
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
const char* plan_of(const Parameter& parameter) {
  if (parameter.is_pointer) return parameter.is_const ? "input" : "output";
  if (parameter.is_float()) return "float";
  if (parameter.type == Type::Bytes) return "bytes";
  if (parameter.type == Type::U64 || parameter.type == Type::B64) return "word";
  return parameter.type >= Type::B8 && parameter.type <= Type::B64 ? "bits" : "int";
}

py::tuple plan_of(const Signature& signature) {
  py::tuple plan(signature.parameters.size());
  for (size_t i = 0; i < signature.parameters.size(); ++i) plan.set(i, py::to_python(plan_of(signature.parameters[i])));
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
  return with_python_errors([&] { return kRead(kernel_of(self)).release(); });
}

py::object name_of(const Kernel& kernel) { return py::text(kernel.name()); }
py::object signature_of(const Kernel& kernel) { return py::text(kernel.signature().text()); }
py::object strides_of(const Kernel& kernel) {
  return py::text(kernel.strides() == StridePolicy::Any ? "any" : "contiguous");
}
py::object strict_of(const Kernel& kernel) { return py::to_python(kernel.strict()); }

py::object names_of(const Kernel& kernel) {
  py::list names;
  for (const Parameter& parameter : kernel.signature().parameters) names.append(py::text(parameter.name));
  return py::tuple_of(names);
}

py::object writes_of(const Kernel& kernel) {
  if (!kernel.signature().mutability_known) return py::none();
  py::list writes;
  const auto& parameters = kernel.compact_parameters();
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i].is_written) writes.append(i);
  }
  return py::tuple_of(writes);
}

py::object images_of(const Kernel& kernel) {
  py::list images;
  for (const auto& code : kernel.variants()) {
    const Bytes bytes = code->bytes();
    images.append(py::bytes(bytes.data(), bytes.size()));
  }
  return images;
}

/// What the binary says of the kernel, as a wave_runtime.KernelInfo.
py::object info_of(const Kernel& kernel) {
  const py::object info = py::import("wave_runtime._kernel").attr("info");
  return info(py::list(images_of(kernel))[0], name_of(kernel));
}

PyObject* repr(PyObject* self) {
  return with_python_errors([&] {
    const Kernel& kernel = kernel_of(self);
    return py::text(text("<wave_runtime.Kernel ", kernel.name(), "(", kernel.signature().text(), ") for ",
                         kernel.code().target().id(), ">"))
        .release();
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
    const py::object rebuild = py::import("wave_runtime._kernel").attr("rebuild");
    const py::tuple arguments =
        py::make_tuple(images_of(kernel), name_of(kernel), signature, strides_of(kernel), kernel.strict());
    return py::make_tuple(rebuild, arguments).release();
  });
}

void launch_raw_method(const KernelState& self, const py::bytes& arguments, const py::object& memory,
                       const py::object& reads, const py::object& device, bool process_memory,
                       const py::kwargs& keywords) {
  launch_raw(*self.kernel, arguments, memory, reads, optional_device(device), process_memory, keywords);
}

py::dict trace_method(const KernelState& self, const py::args& arguments, const py::kwargs& keywords) {
  return trace_accesses(*self.kernel, arguments, keywords);
}

py::object bind(const py::object& self, const py::args& arguments, const py::kwargs& keywords) {
  return make_bound_launch(self, kernel_of(self.ptr()), arguments, keywords);
}

std::string as_operator(const KernelState& self, const std::string& name, const py::kwargs& keywords) {
  const Kernel& kernel = *self.kernel;
  return define_operator(kernel, name, read_fixed_options(kernel, keywords));
}

void preload(const KernelState& self, const py::object& device) {
  ensure_loaded(*self.kernel, place_of(required_device(device)));
}

py::dict resources(const KernelState& self, const py::object& device) {
  const Kernel& kernel = *self.kernel;
  const Place place = place_of(required_device(device));
  ensure_loaded(kernel, place);
  const FunctionUse function(kernel, place);
  const FunctionInfo& info = function->info;
  py::dict result;
  result.set("registers", info.registers);
  result.set("shared_memory", info.shared_memory);
  result.set("local_memory", info.local_memory);
  result.set("constant_memory", info.constant_memory);
  result.set("max_block_size", function->limits.max_block_size);
  result.set("max_shared_memory", place.driver().device(place.device).shared_memory);
  return result;
}

uint32_t occupancy(const KernelState& self, const py::object& device, const py::kwargs& keywords) {
  const Kernel& kernel = *self.kernel;
  const Place place = place_of(required_device(device));
  ensure_loaded(kernel, place);
  const FunctionUse function(kernel, place);
  const Geometry geometry = check_geometry(*function, read_fixed_options(kernel, keywords));
  const auto& [x, y, z] = geometry.block;
  return function->function->occupancy(x * y * z, geometry.shared_memory);
}

/// Makes the type Kernel. `call` is its __call__, which torch.compile finds and traces: in a base, since a call from
/// Python goes the fast way still, by the vectorcall slot, which a type loses where __call__ is set on itself.
py::object make_kernel_type(const py::object& call) {
  PyTypeObject* const made = CallableObject<KernelState>::type;  // where the package is imported anew
  if (made != nullptr) return py::borrow(reinterpret_cast<PyObject*>(made));
  py::dict members;
  members.set("__slots__", py::tuple());
  members.set("__call__", call);
  members.set("__module__", "wave_runtime");
  const py::handle type(reinterpret_cast<PyObject*>(&PyType_Type));
  std::vector<PyMethodDef> methods = {
      {"__reduce__", reduce, METH_NOARGS, nullptr},
      py::method<launch_raw_method>("launch_raw",
                                    "arguments, *, memory=(), reads=(), device=None, process_memory=False, **keywords",
                                    doc_of("Kernel.launch_raw")),
      py::method<trace_method>("_trace", "*arguments, **keywords"),
      py::method<bind>("bind", "*arguments, **keywords", doc_of("Kernel.bind")),
      py::method<as_operator>("_define_operator", "name, **keywords"),
      py::method<preload>("preload", "device=None", doc_of("Kernel.preload")),
      py::method<resources>("resources", "device=None", doc_of("Kernel.resources")),
      py::method<occupancy>("occupancy", "device=None, **keywords", doc_of("Kernel.occupancy")),
  };
  add_address_methods(methods);
  return make_callable_type<KernelState>(
      {.slots = {{Py_tp_doc, const_cast<char*>(doc_of("Kernel"))},
                 {Py_tp_repr, reinterpret_cast<void*>(repr)},
                 {Py_tp_hash, reinterpret_cast<void*>(hash)},
                 {Py_tp_richcompare, reinterpret_cast<void*>(richcompare)}},
       .methods = std::move(methods),
       .properties = {{"name", get<name_of>, nullptr, doc_of("Kernel.name"), nullptr},
                      {"signature", get<signature_of>, nullptr, doc_of("Kernel.signature"), nullptr},
                      {"writes", get<writes_of>, nullptr, doc_of("Kernel.writes"), nullptr},
                      {"info", get<info_of>, nullptr, doc_of("Kernel.info"), nullptr},
                      {"strides", get<strides_of>, nullptr, doc_of("Kernel.strides"), nullptr},
                      {"strict", get<strict_of>, nullptr, doc_of("Kernel.strict"), nullptr},
                      {"_images", get<images_of>, nullptr, nullptr, nullptr},
                      {"_names", get<names_of>, nullptr, nullptr, nullptr}},
       .members = {{"handle", T_OBJECT_EX, offsetof(KernelState, handle), READONLY, doc_of("Kernel.handle")},
                   {"block", T_OBJECT_EX, offsetof(KernelState, default_block), READONLY, doc_of("Kernel.block")},
                   {"_plan", T_OBJECT_EX, offsetof(KernelState, plan), READONLY, nullptr},
                   {"_has_operator", T_BOOL, offsetof(KernelState, has_operator), READONLY, nullptr}},
       .base = type("CalledKernel", py::tuple(), members)});
}

std::string doc(const std::string& name) { return doc_of(name); }

std::string traced_operator(const std::string& handle) { return define_traced_operator(find_kernel(handle)); }

}  // namespace

const Kernel& kernel_of(const py::handle& object) {
  if (CallableObject<KernelState>::is(object.ptr())) return kernel_of(object.ptr());
  throw TypeError(text("expected a kernel, given ", py::type_name(object.ptr())));
}

py::object make_kernel_object(const Kernel& kernel) {
  std::vector<std::shared_ptr<const void>> held;
  for (const auto& code : kernel.variants()) held.push_back(hold_loaded(code));
  return make_callable<KernelState>(&kernel, py::text(kernel.handle()), plan_of(kernel.signature()),
                                    block_tuple(kernel), can_have_operator(kernel), std::move(held));
}

void bind_kernel(py::handle module) {
  py::add_functions(
      module, {py::function<make_kernel_type>("make_kernel_type", "call"),
               py::function<traced_operator>("define_traced_operator", "handle"), py::function<doc>("doc", "name")});
}

}  // namespace wave
