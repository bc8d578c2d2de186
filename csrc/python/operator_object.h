// The Python type OperatorBase: what an operator's call costs where PyTorch has nothing to see.
#pragma once

#include "python/object.h"

namespace wave {

/// Adds the type to the module.
void bind_operator(py::handle module);

}  // namespace wave
