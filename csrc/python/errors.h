// The product's exceptions as Python's.
#pragma once

#include <pybind11/pybind11.h>

#include <exception>
#include <string_view>

namespace wave {

/// Makes wave::ValueError, TypeError, RuntimeError and KernelFault raise their Python counterparts, from this module
/// and from torch's own bindings (torch.ops). Adds the exception type KernelFault to `module`.
void register_errors(pybind11::module_& module);

/// Sets the Python error for one of this project's exceptions, and rethrows others.
void set_own_error(std::exception_ptr thrown);

/// A Python string of text that came out of a file: bytes that are not UTF-8 become "\xff".
pybind11::str python_text(std::string_view text);

}  // namespace wave
