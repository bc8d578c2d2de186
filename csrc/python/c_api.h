// For functions that Python calls through its C API rather than through pybind11.
#pragma once

#include <torch/csrc/Exceptions.h>

#include "python/errors.h"

namespace wave {

/// Turns the exception that is being handled into a Python error: this project's, Python's own, torch's.
inline PyObject* set_python_error() {
  HANDLE_TH_ERRORS
  try {
    set_own_error(std::current_exception());
  } catch (pybind11::error_already_set& error) {
    error.restore();
  }
  return nullptr;
  END_HANDLE_TH_ERRORS
}

/// The name of an object's type, for messages.
inline const char* type_name(PyObject* object) { return Py_TYPE(object)->tp_name; }

/// Runs `body`, which returns a new reference.
template <class Body>
PyObject* with_python_errors(Body body) {
  try {
    return body();
  } catch (...) {
    return set_python_error();
  }
}

}  // namespace wave
