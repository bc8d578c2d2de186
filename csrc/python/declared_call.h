// The Python type DeclaredCall: what a declared operator's call costs where PyTorch has nothing to see.
#pragma once

#include <pybind11/pybind11.h>

namespace wave {

/// Adds the type and the function that makes it to the module.
void bind_declared_call(pybind11::module_& module);

}  // namespace wave
