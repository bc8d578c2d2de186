// The Python type DeclaredCall: what a declared operator's call costs where PyTorch has nothing to see.
#pragma once

#include "python/object.h"

namespace wave {

/// Adds the type and the function that makes it to the module.
void bind_declared_call(py::handle module);

}  // namespace wave
