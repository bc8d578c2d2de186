// The Python type OperatorBase: what an operator's call costs where PyTorch has nothing to see.
#pragma once

#include <pybind11/pybind11.h>

namespace wave {

/// Adds the type to the module.
void bind_operator(pybind11::module_& module);

}  // namespace wave
