#include "python/callable_type.h"

namespace wave::detail {

PyObject* call_collected(PyObject* self, PyObject* const*, size_t, PyObject*) {
  return PyErr_Format(PyExc_RuntimeError, "this %s was garbage, and what it held is gone", py::type_name(self).c_str());
}

}  // namespace wave::detail
