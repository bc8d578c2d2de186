// Launches whose arguments are read once and that are repeated.
#pragma once

#include "launch/kernel.h"
#include "python/object.h"

namespace wave {

/// Adds the types BoundLaunch and Sequence to the module.
void bind_launches(py::handle module);

/// kernel.bind(*args, grid=, ...): a BoundLaunch.
py::object make_bound_launch(const py::object& kernel_object, const Kernel& kernel, const py::args& arguments,
                             const py::kwargs& keywords);

}  // namespace wave
