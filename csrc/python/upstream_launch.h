// launch(info, tensors, dynamic_dims, scalar_args[, strides]) of upstream's wave_runtime, and what it launches.
#pragma once

#include "python/object.h"

namespace wave {

/// Adds launch, load_raw and the types to the module.
void bind_upstream(py::handle module);

}  // namespace wave
