// The product's exceptions as Python's.
#pragma once

#include <exception>

#include "python/object.h"

namespace wave {

/// Sets the Python error for an exception: for one of this project's its Python counterpart; Python's own; torch's.
void set_error(const std::exception_ptr& thrown);

/// Runs `body`, which returns a new reference, for Python: null with the error set where it throws.
template <class Body>
[[gnu::always_inline]] inline PyObject* with_python_errors(Body body) {
  try {
    return body();
  } catch (...) {
    set_error(std::current_exception());
    return nullptr;
  }
}

/// Adds the exception type KernelFault to `module`. Has operators throw this project's exceptions as Python's.
void register_errors(py::handle module);

}  // namespace wave
