#include <torch/csrc/Dtype.h>
#include <torch/csrc/DynamicTypes.h>

#include "base/error.h"
#include "op/declaration.h"
#include "python/bindings.h"
#include "python/define.h"
#include "python/kernel_object.h"
#include "python/read_call.h"
#include "python/torch_python.h"

namespace wave {

namespace {

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
bool read_inputs(const DeclaredCall& call, PyObject* const* arguments, size_t count, PyObject* keyword_names,
                 PyObject** inputs) {
  const size_t size = call.names.size();
  if (count > size) return false;
  std::copy(arguments, arguments + count, inputs);
  for (size_t i = count; i < size; ++i) inputs[i] = call.defaults[i].ptr();
  for (Py_ssize_t i = 0; i < keyword_count(keyword_names); ++i) {
    size_t at = count;
    while (at < size && call.names[at].ptr() != PyTuple_GetItem(keyword_names, i)) ++at;
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
      views[i].tensor = tensor_of(inputs[i]).unsafeGetTensorImpl();
    } else if (PyFloat_CheckExact(inputs[i])) {
      views[i].number.real = PyFloat_AsDouble(inputs[i]);
    } else {
      read_exact_integer(inputs[i], views[i].number.integer);
    }
  }
  return true;
}

/// Nothing, a tensor, or a tuple of them.
PyObject* wrapped_all(const std::vector<at::Tensor>& results) {
  if (results.empty()) Py_RETURN_NONE;
  if (results.size() == 1) return THPVariable_Wrap(results[0]);
  return py::tuple_of(results, wrapped).release();
}

PyObject* DeclaredCall::call(PyObject* self, PyObject* const* arguments, size_t flags, PyObject* keyword_names) {
  const DeclaredCall& declared = state_of<DeclaredCall>(self);
  const Declaration& declaration = *declared.declaration;
  PyObject* inputs[Declaration::kMaxInputs];
  InputView views[Declaration::kMaxInputs];
  Call call(declaration.kernel());
  if (!read_inputs(declared, arguments, static_cast<size_t>(positional(flags)), keyword_names, inputs) ||
      !read_inputs(call, declaration.roles().inputs, inputs, views)) {
    return call_vector(declared.fallback.ptr(), arguments, flags, keyword_names);
  }
  std::vector<at::Tensor> results;
  declaration.with_name([&] {
    if (declaration.complete(call, views, results)) submit_unlocked(call);
  });
  return wrapped_all(results);
}

/// (name, value, input, dim): an instruction.
void add_instruction(Program& program, const py::tuple& instruction) {
  const Where where{.what = "an instruction of an operator's shapes"};
  const py::handle value = instruction[1];
  const Number number = PyFloat_Check(value.ptr()) ? Number{.real = py::from_python<double>(value, where)}
                                                   : Number{.integer = py::from_python<int64_t>(value, where)};
  program.add(py::from_python<std::string>(instruction[0], where), number,
              py::from_python<size_t>(instruction[2], where), py::from_python<int64_t>(instruction[3], where));
}

/// What Python makes of [(rank, dtype)]: ([instruction], [(rank, dtype, zeroed)]).
Specialization specialize(const py::handle& function, std::span<const TensorKind> kinds) {
  const GilAcquire acquire;
  const py::list described = py::list_of(kinds, [](const TensorKind& kind) {
    return py::make_tuple(kind.rank, py::handle(reinterpret_cast<PyObject*>(torch::getTHPDtype(kind.dtype))));
  });
  const py::tuple made = function(described);
  const py::tuple instructions = py::tuple_of(made[0]), results = py::tuple_of(made[1]);
  Specialization specialization;
  for (size_t i = 0; i < instructions.size(); ++i) {
    add_instruction(specialization.program, py::tuple_of(instructions[i]));
  }
  const Where where{.what = "a result of an operator's shapes"};
  for (size_t i = 0; i < results.size(); ++i) {
    const py::tuple result = py::tuple_of(results[i]);
    const c10::ScalarType type = reinterpret_cast<THPDtype*>(result[1].ptr())->scalar_type;
    specialization.results.push_back(
        {py::from_python<size_t>(result[0], where), type, py::from_python<bool>(result[2], where)});
  }
  return specialization;
}

/// `inputs`, `results` and `computed` are the indices of parameters; `defaults` those of the inputs, where they have
/// one.
py::object declare(const std::string& name, const py::object& kernel_object, std::vector<size_t> inputs,
                   std::vector<size_t> results, std::vector<size_t> computed, const std::vector<std::string>& names,
                   const py::dict& defaults, const py::dict& options, const py::object& function,
                   const py::object& fallback) {
  const Kernel& kernel = kernel_of(kernel_object);
  std::vector<py::object> keys, values;
  for (const std::string& input : names) {
    const py::object key = py::steal(PyUnicode_InternFromString(input.c_str()));
    keys.push_back(key);
    values.push_back(py::borrow(defaults.find(key)));
  }
  const py::handle kept = py::object(function).release();  // the dispatcher may call it to the end of the process
  auto declaration = std::make_shared<const Declaration>(
      name, kernel, Declaration::Roles{std::move(inputs), std::move(results), std::move(computed)},
      read_fixed_options(kernel, options),
      [kept](std::span<const TensorKind> kinds) { return specialize(kept, kinds); });
  return make_callable<DeclaredCall>(kernel_object, fallback, std::move(keys), std::move(values),
                                     std::move(declaration), nullptr);
}

void implement_method(DeclaredCall& self, const std::string& autograd) {
  self.implementation = implement(self.declaration, autograd);
}

void withdraw(DeclaredCall& self) { self.implementation.reset(); }

}  // namespace

void bind_declared_call(py::handle module) {
  py::add_type<DeclaredCall>(module, {.methods = {py::method<implement_method>("implement", "autograd"),
                                                  py::method<withdraw>("withdraw", "")}});
  py::add_functions(
      module,
      {py::function<declare>(
          "declare", "name, kernel, inputs, results, computed, names, defaults, options, specialize, fallback")});
}

}  // namespace wave
