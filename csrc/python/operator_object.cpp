// operator(*args) with plain tensors runs the operator's body at once. Anything that autograd, autocast, a mode, a
// tracer or a tensor subclass must see goes through Python (wave_runtime._op) to the dispatcher.
#include <c10/core/GradMode.h>

#include "base/error.h"
#include "op/call.h"
#include "op/running_body.h"
#include "python/bindings.h"
#include "python/define.h"
#include "python/foreign_arrays.h"
#include "python/gil.h"
#include "python/kernel_object.h"
#include "python/plain.h"
#include "python/torch_python.h"

namespace wave {

namespace {

struct OperatorState {
  static constexpr const char* kName = "wave_runtime._C.OperatorBase";
  static PyObject* call(PyObject* self, PyObject* const* arguments, size_t flags, PyObject* keyword_names);
  template <class Visit>
  void each_reference(Visit visit) {
    visit(eager);
    visit(dispatched);
    visit(parameters);
    visit(mutates);
  }

  py::object eager;        ///< what a call runs on plain tensors
  py::object dispatched;   ///< what it runs otherwise, with the operator itself as the first argument
  py::object parameters;   ///< a tuple of the names of those that are given by place; null: bodies are not looked at
  py::object mutates;      ///< a frozenset of the names of those that the body writes
  py::object fingerprint;  ///< str, or null until it is asked for
  char has_autocast;       ///< whether autocast changes what the operator computes
  char returns_new;        ///< whether a result that shares memory with an argument or another result is an error
  int results;             ///< tensors that it returns

  static constexpr int kAnything = -1;
};

OperatorState& operator_of(PyObject* self) { return state_of<OperatorState>(self); }

bool autocast_is_on() {
  const c10::DispatchKeySet excluded = c10::impl::tls_local_dispatch_key_set().excluded_;
  return (excluded & c10::autocast_dispatch_keyset) != c10::autocast_dispatch_keyset;
}

/// Calls `visit(item)` for each of a list's or a tuple's.
template <class Visit>
void for_each_item(PyObject* items, const Visit& visit) {
  if (PyTuple_Check(items)) {
    const Py_ssize_t count = PyTuple_Size(items);
    for (Py_ssize_t i = 0; i < count; ++i) visit(PyTuple_GetItem(items, i));
    return;
  }
  for (Py_ssize_t i = 0; i < PyList_Size(items); ++i) visit(PyList_GetItem(items, i));
}

/// Whether a launch on the argument may go past the dispatcher.
bool is_plain(PyObject* argument, bool grad_mode) {
  if (is_exact_tensor(argument)) {
    const at::Tensor& tensor = tensor_of(argument);
    if (tensor.unsafeGetTensorImpl()->autograd_meta() != nullptr &&
        ((grad_mode && tensor.requires_grad()) || tensor._fw_grad(0).defined())) {
      return false;
    }
    return !is_for_operator(argument);
  }
  if (PyList_CheckExact(argument) || PyTuple_CheckExact(argument)) {
    bool all = true;
    for_each_item(argument, [&](PyObject* item) { all = all && is_plain(item, grad_mode); });
    return all;
  }
  return argument == Py_None || !is_for_operator(argument);
}

/// Calls `visit(tensor)` for the tensor that an object is, or for those in the list or tuple.
template <class Visit>
void for_each_tensor(PyObject* object, const Visit& visit) {
  if (is_any_tensor(object)) return visit(tensor_of(object));
  if (!PyList_Check(object) && !PyTuple_Check(object)) return;
  for_each_item(object, [&](PyObject* item) { for_each_tensor(item, visit); });
}

bool share_memory(const at::Tensor& a, const at::Tensor& b) {
  if (!a.has_storage() || !b.has_storage()) return false;
  if (a.storage().is_alias_of(b.storage())) return true;
  return storage_bytes(a.unsafeGetTensorImpl()).overlaps(storage_bytes(b.unsafeGetTensorImpl())) && !is_lazy_copy(a) &&
         !is_lazy_copy(b);
}

/// Which of several results the `wanted`th of their tensors is: "1", or "1[0]" for the first of a list.
std::string place_of(PyObject* results, size_t wanted) {
  std::string place;
  size_t seen = 0, result = 0;
  for_each_item(results, [&](PyObject* item) {
    size_t in_list = 0;
    for_each_tensor(item, [&](const at::Tensor&) {
      if (seen++ == wanted) place = is_any_tensor(item) ? text(result) : text(result, "[", in_list, "]");
      ++in_list;
    });
    ++result;
  });
  return place;
}

/// Throws ValueError where two results share memory: compilers take each for a tensor of its own, so that a change of
/// one would not be seen in the other.
void check_results(PyObject* self, PyObject* results) {
  if (!PyTuple_Check(results) && !PyList_Check(results)) return;
  std::vector<const at::Tensor*> tensors;
  for_each_tensor(results, [&](const at::Tensor& tensor) { tensors.push_back(&tensor); });
  for (size_t second = 1; second < tensors.size(); ++second) {
    for (size_t first = 0; first < second; ++first) {
      if (!share_memory(*tensors[first], *tensors[second])) continue;
      throw ValueError(text("operator '", py::str::of(py::handle(self).attr("name")), "' returned results ",
                            place_of(results, first), " and ", place_of(results, second),
                            ", which share memory, but compiled code takes each for a tensor of its own: return a "
                            "clone of one of them"));
    }
  }
}

/// Throws TypeError where a body returned something else than tensors, as many as its type hints say.
void check_kind(PyObject* self, PyObject* result) {
  const int expected = operator_of(self).results;
  if (expected == OperatorState::kAnything) return;
  const bool is_several = PyTuple_Check(result) || PyList_Check(result);
  const int count = is_any_tensor(result) ? 1 : is_several ? static_cast<int>(PyObject_Size(result)) : 0;
  const bool fits = expected == 0 ? result == Py_None : count == expected && is_several == (expected > 1);
  if (fits) return;
  throw TypeError(text("operator '", py::str::of(py::handle(self).attr("name")), "': expected ",
                       expected == 0   ? "nothing"
                       : expected == 1 ? "a tensor"
                                       : text("a tuple of ", expected, " tensors"),
                       ", as its type hints say, its body returned ", py::given_text(result),
                       is_several ? text(" of ", count) : "", ": change the one or the other"));
}

/// Throws ValueError where a result shares memory with an argument or with another result: compilers count on it that
/// none does. TypeError where it is none that was declared.
void check_aliases(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* result) {
  check_kind(self, result);
  for_each_tensor(result, [&](const at::Tensor& output) {
    for (Py_ssize_t i = 0; i < count; ++i) {
      for_each_tensor(arguments[i], [&](const at::Tensor& argument) {
        if (!share_memory(output, argument)) return;
        throw ValueError(text("operator '", py::str::of(py::handle(self).attr("name")),
                              "' returned a tensor that shares memory with an argument: return a new tensor, or "
                              "nothing for an argument that it writes"));
      });
    }
  });
  check_results(self, result);
}

/// A body written in Python: what its launches write of the operator's inputs must be in mutates=, else compilers count
/// on the old contents. It borrows the inputs and their names.
class PythonBody : public RunningBody {
 public:
  explicit PythonBody(PyObject* self) : self_(self), any_declared_(PySet_Size(operator_of(self).mutates.ptr()) > 0) {}

  /// As many arguments as there are names.
  void add(PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
    for (Py_ssize_t i = 0; i < count && i < PyTuple_Size(names); ++i) add(arguments[i], PyTuple_GetItem(names, i));
  }
  void add(const py::tuple& arguments, const py::dict& keywords) {
    const std::vector<PyObject*> items = items_of(arguments);
    add(items.data(), static_cast<Py_ssize_t>(items.size()), operator_of(self_).parameters.ptr());
    keywords.each([&](py::handle name, py::handle argument) { add(argument.ptr(), name.ptr()); });
  }

 protected:
  [[noreturn]] void refuse(const void* name, const std::string& writer) const override {
    const GilAcquire gil;
    const std::string argument = py::str::of(py::handle(static_cast<PyObject*>(const_cast<void*>(name))));
    throw ValueError(text("operator '", py::str::of(py::handle(self_).attr("name")), "' was given '", argument,
                          "', which ", writer, " writes, but mutates= does not name it, so that compiled code would ",
                          "go on with its old contents: pass mutates=[\"", argument, "\"] to define_op, have the ",
                          "kernel write a new tensor, or mark the pointer const in the kernel's signature if the ",
                          "kernel only reads it"));
  }

 private:
  void add(PyObject* argument, PyObject* name) {
    for_each_tensor(argument, [&](const at::Tensor& tensor) {
      const bool declared = any_declared_ && PySet_Contains(operator_of(self_).mutates.ptr(), name) == 1;
      RunningBody::add(tensor, name, declared);
    });
  }

  PyObject* const self_;
  const bool any_declared_;
};

/// Calls what runs on plain tensors.
PyObject* call_eager(PyObject* self, PyObject* const* arguments, size_t flags, PyObject* keyword_names) {
  const OperatorState& op = operator_of(self);
  if (!op.parameters) return call_vector(op.eager.ptr(), arguments, flags, keyword_names);
  PythonBody body(self);
  const Py_ssize_t count = positional(flags);
  body.add(arguments, count, op.parameters.ptr());
  if (keyword_names != nullptr) body.add(arguments + count, PyTuple_Size(keyword_names), keyword_names);
  return call_vector(op.eager.ptr(), arguments, flags, keyword_names);
}

bool is_plain_call(const OperatorState& self, PyObject* const* arguments, Py_ssize_t count) {
  if (!thread_is_plain() || (self.has_autocast && autocast_is_on())) return false;
  const bool grad_mode = c10::GradMode::is_enabled();
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (!is_plain(arguments[i], grad_mode)) return false;
  }
  return true;
}

/// A call of which PyTorch has nothing to see.
py::object run_plain(PyObject* self, PyObject* const* arguments, size_t flags, PyObject* keyword_names) {
  py::object result = py::steal(call_eager(self, arguments, flags, keyword_names));
  if (operator_of(self).returns_new) {
    check_aliases(self, arguments, positional(flags) + keyword_count(keyword_names), result.ptr());
  }
  return result;
}

PyObject* OperatorState::call(PyObject* self, PyObject* const* arguments, size_t flags, PyObject* keyword_names) {
  const OperatorState& op = operator_of(self);
  if (!is_plain_call(op, arguments, positional(flags) + keyword_count(keyword_names))) {
    return call_function(op.dispatched.ptr(), self, arguments, flags, keyword_names);
  }
  return run_plain(self, arguments, flags, keyword_names).release();
}

/// What an operator's call is in the code that Inductor writes for Python, which counts on it that results begin at the
/// start of their storage.
struct OperatorInductorCall {
  static constexpr const char* kName = "wave_runtime._C.OperatorInductorCall";
  static PyObject* call(PyObject* self, PyObject* const* arguments, size_t flags, PyObject* keyword_names);
  template <class Visit>
  void each_reference(Visit visit) {
    visit(op);
    visit(overload);
    visit(from_start);
  }

  py::object op;          ///< the OperatorBase
  py::object overload;    ///< takes the calls that PyTorch must see
  py::object from_start;  ///< makes results of those that do not begin there
};

bool all_from_start(PyObject* result) {
  bool all = true;
  for_each_tensor(result, [&](const at::Tensor& tensor) {
    all = all && (tensor.layout() != c10::kStrided || tensor.storage_offset() == 0);
  });
  return all;
}

PyObject* OperatorInductorCall::call(PyObject* self, PyObject* const* arguments, size_t flags,
                                     PyObject* keyword_names) {
  const OperatorInductorCall& state = state_of<OperatorInductorCall>(self);
  const Py_ssize_t count = positional(flags) + keyword_count(keyword_names);
  if (!is_plain_call(operator_of(state.op.ptr()), arguments, count)) {
    return call_vector(state.overload.ptr(), arguments, flags, keyword_names);
  }
  py::object result = run_plain(state.op.ptr(), arguments, flags, keyword_names);
  if (!all_from_start(result.ptr())) result = state.from_start(result);
  return result.release();
}

py::object operator_inductor_call(const py::object& op, const py::object& overload, const py::object& from_start) {
  return make_callable<OperatorInductorCall>(op, overload, from_start);
}

PyObject* create(PyTypeObject* type, PyObject*, PyObject*) {
  return with_python_errors([&] { return make_callable_of<OperatorState>(type); });
}

int initialize(PyObject* self, PyObject* arguments, PyObject* keywords) {
  const char* names[] = {"eager", "dispatched", nullptr};
  PyObject *eager = nullptr, *dispatched = nullptr;
  if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "OO", const_cast<char**>(names), &eager, &dispatched)) {
    return -1;
  }
  operator_of(self).eager = py::borrow(eager);
  operator_of(self).dispatched = py::borrow(dispatched);
  operator_of(self).parameters = operator_of(self).mutates = py::object();
  operator_of(self).results = OperatorState::kAnything;
  return 0;
}

/// Computed when first asked for: the globals that a body uses may be defined after it.
PyObject* get_fingerprint(PyObject* self, void*) {
  return with_python_errors([&] {
    py::object& fingerprint = operator_of(self).fingerprint;
    if (!fingerprint) fingerprint = py::handle(self).attr("_compute_fingerprint")();
    return fingerprint;
  });
}

int set_fingerprint(PyObject* self, PyObject* value, void*) {
  if (value != nullptr) {
    PyErr_SetString(PyExc_AttributeError, "fingerprint cannot be set; deleting it has it computed anew");
    return -1;
  }
  operator_of(self).fingerprint = py::object();
  return 0;
}

void check_aliases_method(py::handle self, const py::tuple& given) {
  const std::vector<PyObject*> items = items_of(given);
  check_aliases(self.ptr(), items.data(), static_cast<Py_ssize_t>(items.size()) - 1, items.back());
}

void watch_body(py::handle self, const py::tuple& parameters, const py::object& mutates, int results) {
  operator_of(self.ptr()).parameters = parameters;
  operator_of(self.ptr()).mutates = mutates;
  operator_of(self.ptr()).results = results;
}

py::object run_body(py::handle self, const py::tuple& arguments, const py::dict& keywords) {
  const py::object body = self.attr("body");
  if (!operator_of(self.ptr()).parameters) return body.call(arguments, keywords);
  PythonBody running(self.ptr());
  running.add(arguments, keywords);
  return body.call(arguments, keywords);
}

/// A type over one that is made in Python, whose calls go by the vectorcall slot that it has from OperatorBase, though
/// it has a __call__ for compilers to find. A class that is made in Python would lose the slot, before Python 3.12.
py::object called_by_slot(const py::object& base) {
  const auto name = [&](const char* attribute) { return py::str::of(base.attr(attribute)); };
  PyType_Slot none[] = {{0, nullptr}};
  const char* const full_name = py::keep(text(name("__module__"), ".", name("__name__")));
  PyType_Spec spec = {full_name, 0, 0, static_cast<unsigned>(Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | kHasVectorCall),
                      none};
  py::object type = py::steal(PyType_FromSpecWithBases(&spec, base.ptr()));
  type.set_attr("__doc__", base.attr("__doc__"));
  return type;
}

}  // namespace

void bind_operator(py::handle module) {
  py::add_type<OperatorState>(module,
                              {.slots = {py::slot(Py_tp_new, create), py::slot(Py_tp_init, initialize)},
                               .methods = {py::method<check_aliases_method>("_check_aliases", "*arguments_and_result"),
                                           py::method<watch_body>("_watch_body", "parameters, mutates, results"),
                                           py::method<run_body>("_run_body", "arguments, keywords")},
                               .properties = {{"fingerprint", get_fingerprint, set_fingerprint, nullptr, nullptr}},
                               .members = {{"_has_autocast", T_BOOL, offsetof(OperatorState, has_autocast), 0, nullptr},
                                           {"_returns_new", T_BOOL, offsetof(OperatorState, returns_new), 0, nullptr}},
                               .flags = Py_TPFLAGS_BASETYPE});
  py::add_type<OperatorInductorCall>(module, {});
  py::add_functions(module,
                    {py::function<called_by_slot>("called_by_slot", "base"),
                     py::function<operator_inductor_call>("operator_inductor_call", "operator, overload, from_start")});
}

}  // namespace wave
