// The product's exceptions as Python's.
#pragma once

#include <exception>
#include <type_traits>

#include "python/object.h"

namespace wave {

/// Sets the Python error for an exception: for one of this project's its Python counterpart; Python's own; torch's.
void set_error(const std::exception_ptr& thrown);

/// Runs `body` for Python, which gets what it returns: an object, a new reference, or None for nothing. Null with the
/// error set where it throws.
template <class Body>
[[gnu::always_inline]] inline PyObject* with_python_errors(const Body& body) {
  try {
    using Result = decltype(body());
    if constexpr (std::is_void_v<Result>) {
      body();
      Py_RETURN_NONE;
    } else if constexpr (std::is_pointer_v<Result>) {
      return body();
    } else {
      return py::object(body()).release();
    }
  } catch (...) {
    set_error(std::current_exception());
    return nullptr;
  }
}

/// Adds the exception type KernelFault to `module`. Has operators throw this project's exceptions as Python's.
void register_errors(py::handle module);

}  // namespace wave
