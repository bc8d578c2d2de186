// operator(*args) with plain tensors runs the operator's body at once. Anything that autograd, autocast, a mode, a
// tracer or a tensor subclass must see goes through Python (wave_runtime._op) to the dispatcher.
#include "python/operator_object.h"

#include <c10/core/GradMode.h>
#include <structmember.h>
#include <torch/csrc/autograd/python_variable.h>

#include "base/error.h"
#include "python/c_api.h"
#include "python/launch_arguments.h"

namespace py = pybind11;

namespace wave {

namespace {

OperatorObject& operator_of(PyObject* self) { return *reinterpret_cast<OperatorObject*>(self); }

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

bool is_plain_call(const OperatorObject& self, PyObject* const* arguments, Py_ssize_t count) {
  if (!thread_is_plain() || (self.has_autocast && autocast_is_on())) return false;
  const bool grad_mode = c10::GradMode::is_enabled();
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (!is_plain(arguments[i], grad_mode)) return false;
  }
  return true;
}

PyObject* call_operator(PyObject* self, PyObject* const* arguments, size_t flags, PyObject* keyword_names) {
  return with_python_errors([&]() -> PyObject* {
    const OperatorObject& op = operator_of(self);
    const Py_ssize_t count = PyVectorcall_NARGS(flags);
    const Py_ssize_t keywords = keyword_names == nullptr ? 0 : PyTuple_GET_SIZE(keyword_names);
    if (is_plain_call(op, arguments, count + keywords)) {
      py::object result =
          py::reinterpret_steal<py::object>(PyObject_Vectorcall(op.eager, arguments, flags, keyword_names));
      if (!result) throw py::error_already_set();
      if (op.returns_new) check_aliases(self, arguments, count + keywords, result.ptr());
      return result.release().ptr();
    }
    std::vector<PyObject*> stack{self};
    stack.insert(stack.end(), arguments, arguments + count + keywords);
    return PyObject_Vectorcall(op.dispatched, stack.data(), static_cast<size_t>(count) + 1, keyword_names);
  });
}

PyObject* create(PyTypeObject* type, PyObject*, PyObject*) {
  PyObject* self = type->tp_alloc(type, 0);
  if (self != nullptr) operator_of(self).vectorcall = call_operator;
  return self;
}

int initialize(PyObject* self, PyObject* arguments, PyObject* keywords) {
  const char* names[] = {"eager", "dispatched", nullptr};
  PyObject *eager = nullptr, *dispatched = nullptr;
  if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "OO", const_cast<char**>(names), &eager, &dispatched)) {
    return -1;
  }
  OperatorObject& op = operator_of(self);
  Py_XSETREF(op.eager, Py_NewRef(eager));
  Py_XSETREF(op.dispatched, Py_NewRef(dispatched));
  return 0;
}

void dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  OperatorObject& op = operator_of(self);
  Py_XDECREF(op.eager);
  Py_XDECREF(op.dispatched);
  Py_XDECREF(op.fingerprint);
  type->tp_free(self);
  Py_DECREF(type);
}

/// Computed when first asked for: the globals that a body uses may be defined after it.
PyObject* get_fingerprint(PyObject* self, void*) {
  OperatorObject& op = operator_of(self);
  if (op.fingerprint == nullptr) op.fingerprint = PyObject_CallMethod(self, "_compute_fingerprint", nullptr);
  return Py_XNewRef(op.fingerprint);
}

int set_fingerprint(PyObject* self, PyObject* value, void*) {
  if (value != nullptr) {
    PyErr_SetString(PyExc_AttributeError, "fingerprint cannot be set; deleting it has it computed anew");
    return -1;
  }
  Py_CLEAR(operator_of(self).fingerprint);
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

PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(OperatorObject, vectorcall), READONLY, nullptr},
    {"_has_autocast", T_BOOL, offsetof(OperatorObject, has_autocast), 0, nullptr},
    {"_returns_new", T_BOOL, offsetof(OperatorObject, returns_new), 0, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

PyGetSetDef properties[] = {
    {"fingerprint", get_fingerprint, set_fingerprint, "A hash of the kernels and code that make the operator.",
     nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyType_Slot slots[] = {
    {Py_tp_new, reinterpret_cast<void*>(create)},
    {Py_tp_init, reinterpret_cast<void*>(initialize)},
    {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
    {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
    {Py_tp_members, members},
    {Py_tp_getset, properties},
    {Py_tp_methods, methods},
    {0, nullptr},
};

PyType_Spec spec = {
    "wave_runtime._C.OperatorBase",
    sizeof(OperatorObject),
    0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_VECTORCALL,
    slots,
};

}  // namespace

void bind_operator(py::module_& module) {
  PyObject* type = PyType_FromSpec(&spec);
  if (type == nullptr) throw py::error_already_set();
  module.add_object("OperatorBase", type);
}

}  // namespace wave
