#include "python/declared_call.h"

#include <pybind11/stl.h>
#include <torch/csrc/Dtype.h>
#include <torch/csrc/DynamicTypes.h>

#include "base/error.h"
#include "op/declaration.h"
#include "python/callable_type.h"
#include "python/kernel_object.h"
#include "python/read_call.h"

namespace py = pybind11;

namespace wave {

namespace {

constexpr size_t kMaxResults = 8;

/// What a call needs.
struct DeclaredCall {
  static constexpr const char* kName = "wave_runtime._C.DeclaredCall";
  static PyObject* call(PyObject* self, PyObject* const* arguments, size_t flags, PyObject* keyword_names);
  template <class Visit>
  void each_reference(Visit visit) {
    visit(kernel);
    visit(fallback);
    for (py::object& value : defaults) visit(value);
  }

  py::object kernel;    ///< keeps its code loaded
  py::object fallback;  ///< takes the calls that are not as usual
  std::vector<py::object> names;
  std::vector<py::object> defaults;  ///< null where there is none
  std::shared_ptr<const Declaration> declaration;
  std::shared_ptr<void> implementation;  ///< what the dispatcher knows

  /// What the dispatcher was told and nobody took back it knows to the end of the process.
  ~DeclaredCall() {
    if (implementation) new std::shared_ptr<void>(std::move(implementation));
  }
};

/// Puts positional arguments, keywords and defaults into the inputs' places. False where one is missing or too much.
bool bind(const DeclaredCall& call, PyObject* const* arguments, size_t count, PyObject* keyword_names,
          PyObject** inputs) {
  const size_t size = call.names.size();
  if (count > size) return false;
  std::copy(arguments, arguments + count, inputs);
  for (size_t i = count; i < size; ++i) inputs[i] = call.defaults[i].ptr();
  const Py_ssize_t keywords = keyword_names == nullptr ? 0 : PyTuple_GET_SIZE(keyword_names);
  for (Py_ssize_t i = 0; i < keywords; ++i) {
    size_t at = count;
    while (at < size && call.names[at].ptr() != PyTuple_GET_ITEM(keyword_names, i)) ++at;
    if (at == size) return false;
    inputs[at] = arguments[static_cast<Py_ssize_t>(count) + i];
  }
  return std::find(inputs + count, inputs + size, nullptr) == inputs + size;
}

/// Takes the inputs for the launch and for the expressions.
bool read_inputs(Call& call, const std::vector<size_t>& indices, PyObject* const* inputs, InputView* views) {
  for (size_t i = 0; i < indices.size(); ++i) {
    if (!Usual::argument(call, indices[i], inputs[i])) return false;
    if (call.kernel.compact_parameters()[indices[i]].is_pointer) {
      views[i].tensor = THPVariable_Unpack(inputs[i]).unsafeGetTensorImpl();
    } else if (PyFloat_CheckExact(inputs[i])) {
      views[i].number.real = PyFloat_AS_DOUBLE(inputs[i]);
    } else {
      read_exact_integer(inputs[i], views[i].number.integer);
    }
  }
  return true;
}

PyObject* wrapped(std::vector<at::Tensor>& results) {
  if (results.empty()) Py_RETURN_NONE;
  if (results.size() == 1) return THPVariable_Wrap(std::move(results[0]));
  py::tuple tuple(results.size());
  for (size_t i = 0; i < results.size(); ++i) {
    tuple[i] = py::reinterpret_steal<py::object>(THPVariable_Wrap(std::move(results[i])));
  }
  return tuple.release().ptr();
}

}  // namespace

PyObject* DeclaredCall::call(PyObject* self, PyObject* const* arguments, size_t flags, PyObject* keyword_names) {
  return with_python_errors([&]() -> PyObject* {
    const DeclaredCall& declared = state_of<DeclaredCall>(self);
    const Declaration& declaration = *declared.declaration;
    PyObject* inputs[Declaration::kMaxInputs];
    InputView views[Declaration::kMaxInputs];
    Call call(declaration.kernel());
    if (!bind(declared, arguments, static_cast<size_t>(PyVectorcall_NARGS(flags)), keyword_names, inputs) ||
        !read_inputs(call, declaration.roles().inputs, inputs, views)) {
      return PyObject_Vectorcall(declared.fallback.ptr(), arguments, flags, keyword_names);
    }
    std::vector<at::Tensor> results;
    declaration.with_name([&] {
      if (declaration.complete(call, views, results)) submit_unlocked(call);
    });
    return wrapped(results);
  });
}

namespace {

/// (name, value, input, dim): an instruction.
void add_instruction(Program& program, const py::handle& instruction) {
  const auto [name, value, input, dim] = instruction.cast<std::tuple<std::string, py::object, size_t, int64_t>>();
  const Number number = py::isinstance<py::float_>(value) ? Number{.real = value.cast<double>()}
                                                          : Number{.integer = value.cast<int64_t>()};
  program.add(name, number, input, dim);
}

/// What Python makes of [(rank, dtype)]: ([instruction], [(rank, dtype, zeroed)]).
Specialization specialize(const py::handle& function, std::span<const TensorKind> kinds) {
  const py::gil_scoped_acquire acquire;
  py::list described;
  for (const TensorKind& kind : kinds) {
    const py::handle dtype(reinterpret_cast<PyObject*>(torch::getTHPDtype(kind.dtype)));
    described.append(py::make_tuple(kind.rank, dtype));
  }
  const py::tuple made = function(described);
  Specialization specialization;
  for (const py::handle instruction : made[0]) add_instruction(specialization.program, instruction);
  for (const py::handle item : made[1]) {
    const auto [rank, dtype, zeroed] = item.cast<std::tuple<size_t, py::object, bool>>();
    const c10::ScalarType type = reinterpret_cast<THPDtype*>(dtype.ptr())->scalar_type;
    specialization.results.push_back({rank, type, zeroed});
  }
  return specialization;
}

/// `inputs`, `results` and `computed` are the indices of parameters; `defaults` those of the inputs, where they have
/// one.
py::object declare(const std::string& name, const py::object& kernel_object, Declaration::Roles roles,
                   const std::vector<std::string>& names, const py::dict& defaults, const py::dict& options,
                   const py::object& function, const py::object& fallback) {
  const Kernel& kernel = kernel_of(kernel_object);
  std::vector<py::object> keys, values;
  for (const std::string& input : names) {
    const py::str key = py::reinterpret_steal<py::str>(PyUnicode_InternFromString(input.c_str()));
    keys.push_back(key);
    values.push_back(defaults.contains(key) ? py::object(defaults[key]) : py::object());
  }
  const py::handle kept = py::object(function).release();  // the dispatcher may call it to the end of the process
  auto declaration = std::make_shared<const Declaration>(
      name, kernel, std::move(roles), read_fixed_options(kernel, options),
      [kept](std::span<const TensorKind> kinds) { return specialize(kept, kinds); });
  return make_callable<DeclaredCall>(kernel_object, fallback, std::move(keys), std::move(values),
                                     std::move(declaration), nullptr);
}

void implement_method(const py::object& self, const std::string& autograd) {
  DeclaredCall& call = state_of<DeclaredCall>(self.ptr());
  call.implementation = implement(call.declaration, autograd);
}

void withdraw(const py::object& self) { state_of<DeclaredCall>(self.ptr()).implementation.reset(); }

}  // namespace

void bind_declared_call(py::module_& module) {
  const py::handle owner = make_callable_type<DeclaredCall>({});
  owner.attr("implement") =
      py::cpp_function(implement_method, py::name("implement"), py::is_method(owner), py::arg("autograd"));
  owner.attr("withdraw") = py::cpp_function(withdraw, py::name("withdraw"), py::is_method(owner));
  module.add_object("DeclaredCall", owner);
  module.def(
      "declare",
      [](const std::string& name, const py::object& kernel, std::vector<size_t> inputs, std::vector<size_t> results,
         std::vector<size_t> computed, const std::vector<std::string>& names, const py::dict& defaults,
         const py::dict& options, const py::object& specialize, const py::object& fallback) {
        return declare(name, kernel, {std::move(inputs), std::move(results), std::move(computed)}, names, defaults,
                       options, specialize, fallback);
      },
      py::arg("name"), py::arg("kernel"), py::arg("inputs"), py::arg("results"), py::arg("computed"), py::arg("names"),
      py::arg("defaults"), py::arg("options"), py::arg("specialize"), py::arg("fallback"));
}

}  // namespace wave
