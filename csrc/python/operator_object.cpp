// operator(*args) with plain tensors runs the operator's body at once. Anything that autograd, autocast, a mode, a
// tracer or a tensor subclass must see goes through Python (wave_runtime._op) to the dispatcher.
#include "python/operator_object.h"

#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/python_variable.h>

#include "base/error.h"
#include "op/call.h"
#include "python/callable_type.h"
#include "python/kernel_object.h"
#include "python/plain.h"

namespace py = pybind11;

namespace wave {

namespace {

struct OperatorState {
  static constexpr const char* kName = "wave_runtime._C.OperatorBase";
  static PyObject* call(PyObject* self, PyObject* const* arguments, size_t flags, PyObject* keyword_names);
  template <class Visit>
  void each_reference(Visit visit) {
    visit(eager);
    visit(dispatched);
  }

  py::object eager;        ///< what a call runs on plain tensors
  py::object dispatched;   ///< what it runs otherwise, with the operator itself as the first argument
  py::object fingerprint;  ///< str, or null until it is asked for
  char has_autocast;       ///< whether autocast changes what the operator computes
  char returns_new;        ///< whether a result that shares memory with an argument is an error
};

OperatorState& operator_of(PyObject* self) { return state_of<OperatorState>(self); }

bool autocast_is_on() {
  const c10::DispatchKeySet excluded = c10::impl::tls_local_dispatch_key_set().excluded_;
  return (excluded & c10::autocast_dispatch_keyset) != c10::autocast_dispatch_keyset;
}

/// Whether a launch on the argument may go past the dispatcher.
bool is_plain(PyObject* argument, bool grad_mode) {
  if (THPVariable_CheckExact(argument)) {
    const at::Tensor& tensor = THPVariable_Unpack(argument);
    if (tensor.unsafeGetTensorImpl()->autograd_meta() != nullptr &&
        ((grad_mode && tensor.requires_grad()) || tensor._fw_grad(0).defined())) {
      return false;
    }
    return !is_for_operator(argument);
  }
  if (PyList_CheckExact(argument) || PyTuple_CheckExact(argument)) {
    const Py_ssize_t count = PySequence_Fast_GET_SIZE(argument);
    PyObject** items = PySequence_Fast_ITEMS(argument);
    for (Py_ssize_t i = 0; i < count; ++i) {
      if (!is_plain(items[i], grad_mode)) return false;
    }
    return true;
  }
  return argument == Py_None || !is_for_operator(argument);
}

/// Calls `visit(tensor)` for the tensor that an object is, or for those in the list or tuple.
template <class Visit>
void for_each_tensor(PyObject* object, const Visit& visit) {
  if (THPVariable_Check(object)) return visit(THPVariable_Unpack(object));
  if (!PyList_Check(object) && !PyTuple_Check(object)) return;
  const Py_ssize_t count = PySequence_Fast_GET_SIZE(object);
  for (Py_ssize_t i = 0; i < count; ++i) for_each_tensor(PySequence_Fast_ITEMS(object)[i], visit);
}

bool share_memory(const at::Tensor& a, const at::Tensor& b) {
  if (!a.has_storage() || !b.has_storage()) return false;
  if (a.storage().is_alias_of(b.storage())) return true;
  return storage_bytes(a.unsafeGetTensorImpl()).overlaps(storage_bytes(b.unsafeGetTensorImpl())) && !is_lazy_copy(a) &&
         !is_lazy_copy(b);
}

/// Throws ValueError where a result shares memory with an argument: compilers count on it that none does.
void check_aliases(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* result) {
  for_each_tensor(result, [&](const at::Tensor& output) {
    for (Py_ssize_t i = 0; i < count; ++i) {
      for_each_tensor(arguments[i], [&](const at::Tensor& argument) {
        if (!share_memory(output, argument)) return;
        throw ValueError(text("operator '", std::string(py::str(py::handle(self).attr("name"))),
                              "' returned a tensor that shares memory with an argument: return a new tensor, or "
                              "nothing for an argument that it writes"));
      });
    }
  });
}

bool is_plain_call(const OperatorState& self, PyObject* const* arguments, Py_ssize_t count) {
  if (!thread_is_plain() || (self.has_autocast && autocast_is_on())) return false;
  const bool grad_mode = c10::GradMode::is_enabled();
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (!is_plain(arguments[i], grad_mode)) return false;
  }
  return true;
}

}  // namespace

PyObject* OperatorState::call(PyObject* self, PyObject* const* arguments, size_t flags, PyObject* keyword_names) {
  return with_python_errors([&]() -> PyObject* {
    const OperatorState& op = operator_of(self);
    const Py_ssize_t count = PyVectorcall_NARGS(flags);
    const Py_ssize_t keywords = keyword_names == nullptr ? 0 : PyTuple_GET_SIZE(keyword_names);
    if (is_plain_call(op, arguments, count + keywords)) {
      py::object result =
          py::reinterpret_steal<py::object>(PyObject_Vectorcall(op.eager.ptr(), arguments, flags, keyword_names));
      if (!result) throw py::error_already_set();
      if (op.returns_new) check_aliases(self, arguments, count + keywords, result.ptr());
      return result.release().ptr();
    }
    return call_function(op.dispatched.ptr(), self, arguments, flags, keyword_names);
  });
}

namespace {

PyObject* create(PyTypeObject* type, PyObject*, PyObject*) {
  return with_python_errors([&] { return make_callable_of<OperatorState>(type).release().ptr(); });
}

int initialize(PyObject* self, PyObject* arguments, PyObject* keywords) {
  const char* names[] = {"eager", "dispatched", nullptr};
  PyObject *eager = nullptr, *dispatched = nullptr;
  if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "OO", const_cast<char**>(names), &eager, &dispatched)) {
    return -1;
  }
  operator_of(self).eager = py::reinterpret_borrow<py::object>(eager);
  operator_of(self).dispatched = py::reinterpret_borrow<py::object>(dispatched);
  return 0;
}

/// Computed when first asked for: the globals that a body uses may be defined after it.
PyObject* get_fingerprint(PyObject* self, void*) {
  return with_python_errors([&] {
    py::object& fingerprint = operator_of(self).fingerprint;
    if (!fingerprint) fingerprint = py::handle(self).attr("_compute_fingerprint")();
    return py::object(fingerprint).release().ptr();
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

PyObject* check_aliases_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count) {
  return with_python_errors([&]() -> PyObject* {
    check_aliases(self, arguments, count - 1, arguments[count - 1]);
    Py_RETURN_NONE;
  });
}

PyMethodDef methods[] = {
    {"_check_aliases", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(check_aliases_method)), METH_FASTCALL,
     nullptr},
    {nullptr, nullptr, 0, nullptr},
};

const std::vector<PyMemberDef> members = {
    {"_has_autocast", T_BOOL, offsetof(OperatorState, has_autocast), 0, nullptr},
    {"_returns_new", T_BOOL, offsetof(OperatorState, returns_new), 0, nullptr},
};

PyGetSetDef properties[] = {
    {"fingerprint", get_fingerprint, set_fingerprint, "A hash of the kernels and code that make the operator.",
     nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

const std::vector<PyType_Slot> slots = {
    {Py_tp_new, reinterpret_cast<void*>(create)},
    {Py_tp_init, reinterpret_cast<void*>(initialize)},
    {Py_tp_getset, properties},
    {Py_tp_methods, methods},
};

}  // namespace

void bind_operator(py::module_& module) {
  module.add_object("OperatorBase", make_callable_type<OperatorState>(slots, members, Py_TPFLAGS_BASETYPE));
}

}  // namespace wave
