#include "python/kernel_object.h"

#include "base/error.h"
#include "op/dedicated.h"
#include "op/kernel_operator.h"
#include "python/bindings.h"
#include "python/callable_type.h"
#include "python/define.h"
#include "python/devices.h"
#include "python/docs.h"
#include "python/read_call.h"
#include "python/torch_python.h"

namespace wave {

namespace {

struct KernelState {
  static constexpr const char* kName = "wave_runtime.Kernel";
  static PyObject* call(PyObject* self, PyObject* const* arguments, size_t flags, PyObject* keyword_names) noexcept {
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

/// For each parameter what call_operator in wave_runtime/_kernel.py does with it: which list its argument goes to.
const char* plan_of(const Parameter& parameter) {
  if (parameter.is_pointer) return parameter.is_const ? "input" : "output";
  if (parameter.is_float()) return "float";
  if (parameter.type == Type::Bytes) return "bytes";
  if (parameter.type == Type::U64) return "u64";
  if (parameter.type == Type::B64) return "b64";
  return parameter.type >= Type::B8 && parameter.type <= Type::B64 ? "bits" : "int";
}

py::object block_tuple(const Kernel& kernel) {
  if (!kernel.block()) return py::none();
  return py::tuple_of(*kernel.block());
}

std::string signature_of(const Kernel& kernel) { return kernel.signature().text(); }
std::string text_of_binary(const Kernel& kernel) { return kernel_text(kernel.name()); }
const char* strides_of(const Kernel& kernel) { return kernel.strides() == StridePolicy::Any ? "any" : "contiguous"; }
py::tuple argument_names_of(const Kernel& kernel) {
  return py::tuple_of(kernel.signature().parameters, [](const Parameter& parameter) { return parameter.name; });
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

std::string repr_of_kernel(const Kernel& kernel) {
  return text("<wave_runtime.Kernel ", kernel.name(), "(", kernel.signature().text(), ") for ",
              kernel.code().target().id(), ">");
}

PyObject* richcompare(PyObject* self, PyObject* other, int operation) {
  if ((operation != Py_EQ && operation != Py_NE) || !CallableObject<KernelState>::is(other)) Py_RETURN_NOTIMPLEMENTED;
  const bool equal = state_of<KernelState>(self).kernel == state_of<KernelState>(other).kernel;
  return PyBool_FromLong(equal == (operation == Py_EQ));
}

Py_hash_t hash(PyObject* self) { return PyObject_Hash(state_of<KernelState>(self).handle.ptr()); }

std::string as_operator(const Kernel& kernel, const std::string& name, const py::dict& keywords) {
  return define_operator(kernel, name, read_fixed_options(kernel, keywords));
}

/// Throws RuntimeError where a launch would lose the derivative of a tensor that is given for a number.
void check_number(const Kernel& kernel, py::handle object) {
  if (!is_any_tensor(object.ptr())) return;
  check_autograd(kernel.name(), [&](VisitTensor visit) { visit(tensor_of(object.ptr())); });
}

/// The kernel where it is loaded, which it is without the interpreter's lock.
FunctionUse loaded(const Kernel& kernel, const std::optional<c10::Device>& device) {
  const Place place = place_of(device ? *device : default_device(kernel.variants()));
  if (!is_loaded(kernel, place)) {
    const GilRelease release;
    const FunctionUse load(kernel, place);
  }
  return {kernel, place};
}

void preload(const Kernel& kernel, const std::optional<c10::Device>& device) { loaded(kernel, device); }

py::dict resources(const Kernel& kernel, const std::optional<c10::Device>& device) {
  const FunctionUse function = loaded(kernel, device);
  const Place& place = function->place;
  return py::make_dict({WAVE_MEMBERS(function->info, registers, shared_memory, local_memory, constant_memory),
                        WAVE_MEMBERS(function->limits, max_block_size),
                        {"max_shared_memory", place.driver().device(place.device).shared_memory}});
}

uint32_t occupancy(const Kernel& kernel, const std::optional<c10::Device>& device, const py::dict& keywords) {
  const FunctionUse function = loaded(kernel, device);
  const Geometry geometry = check_geometry(*function, read_fixed_options(kernel, keywords));
  const auto& [x, y, z] = geometry.block;
  return function->function->occupancy(x * y * z, geometry.shared_memory);
}

/// Makes the type Kernel. `call` is its __call__, which torch.compile finds and traces: in a base, since a call from
/// Python goes the fast way still, by the vectorcall slot, which a type loses where __call__ is set on itself.
py::object make_kernel_type(const py::object& call) {
  PyTypeObject* const made = CallableObject<KernelState>::type;  // where the package is imported anew
  if (made != nullptr) return py::borrow(reinterpret_cast<PyObject*>(made));
  const py::dict members =
      py::make_dict({{"__slots__", py::tuple()}, {"__call__", call}, {"__module__", "wave_runtime"}});
  const py::handle type(reinterpret_cast<PyObject*>(&PyType_Type));
  std::vector<PyMethodDef> methods = {
      py::method<launch_raw>("launch_raw",
                             "arguments, *, memory=(), reads=(), device=None, process_memory=False, **keywords"),
      py::method<device_of_arguments>("_device_of", "*arguments"),
      py::method<launch_addresses>("_launch_addresses", "*arguments, process_memory=False, raw=False, **keywords"),
      py::method<trace_accesses>("_trace", "*arguments, **keywords"),
      py::method<bind>("bind", "*arguments, **keywords"),
      py::method<as_operator>("_define_operator", "name, **keywords"),
      py::method<check_number>("_check_number", "value"),
      py::method<preload>("preload", "device=None"),
      py::method<resources>("resources", "device=None"),
      py::method<occupancy>("occupancy", "device=None, **keywords"),
  };
  return make_callable_type<KernelState>(
      {.slots = {py::repr_slot<repr_of_kernel>(), py::slot(Py_tp_hash, hash), py::slot(Py_tp_richcompare, richcompare)},
       .methods = std::move(methods),
       .properties = {py::property<&Kernel::name>("name"), py::property<signature_of>("signature"),
                      py::property<writes_of>("writes"), py::property<strides_of>("strides"),
                      py::property<&Kernel::strict>("strict"), py::property<&Kernel::overridden>("_overridden"),
                      py::property<&Kernel::variants>("_codes"), py::property<argument_names_of>("_names"),
                      py::property<text_of_binary>("_text")},
       .members = {{"handle", T_OBJECT_EX, offsetof(KernelState, handle), READONLY, nullptr},
                   {"block", T_OBJECT_EX, offsetof(KernelState, default_block), READONLY, nullptr},
                   {"_plan", T_OBJECT_EX, offsetof(KernelState, plan), READONLY, nullptr},
                   {"_has_operator", T_BOOL, offsetof(KernelState, has_operator), READONLY, nullptr}},
       .base = type("CalledKernel", py::tuple(), members)});
}

const char* doc(const std::string& name) {
  if (const char* const found = doc_of(name)) return found;
  throw ValueError(text("_C.pyi has no docstring of ", name));
}

std::string traced_operator(const std::string& handle) { return define_traced_operator(find_kernel(handle)); }

}  // namespace

const Kernel& kernel_of(const py::handle& object) {
  if (py::Converter<Kernel>::is(object)) return *state_of<KernelState>(object.ptr()).kernel;
  throw TypeError(text("expected a kernel, given ", py::type_name(object.ptr())));
}

bool py::Converter<Kernel>::is(handle object) { return CallableObject<KernelState>::is(object.ptr()); }

py::object make_kernel_object(const Kernel& kernel) {
  std::vector<std::shared_ptr<const void>> held;
  for (const auto& code : kernel.variants()) held.push_back(hold_loaded(code));
  return make_callable<KernelState>(&kernel, py::text(kernel.handle()),
                                    py::tuple_of(kernel.signature().parameters, plan_of), block_tuple(kernel),
                                    can_have_operator(kernel), std::move(held));
}

void bind_kernel(py::handle module) {
  py::add_functions(
      module, {py::function<make_kernel_type>("make_kernel_type", "call"),
               py::function<traced_operator>("define_traced_operator", "handle"), py::function<doc>("doc", "name")});
}

}  // namespace wave
