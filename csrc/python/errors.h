// The product's exceptions as Python's.
#pragma once

#include <exception>

#include "python/object.h"

namespace wave {

/// Sets the Python error for an exception: for one of this project's its Python counterpart; Python's own; torch's.
void set_error(const std::exception_ptr& thrown);

/// Adds the exception type KernelFault to `module`. Has operators throw this project's exceptions as Python's.
void register_errors(py::handle module);

}  // namespace wave
