// Launches whose arguments are read once and that are repeated.
#pragma once

#include <pybind11/pybind11.h>

#include "launch/kernel.h"

namespace wave {

/// Adds the types BoundLaunch and Sequence to the module.
void bind_launches(pybind11::module_& module);

/// kernel.bind(*args, grid=, ...): a BoundLaunch.
pybind11::object make_bound_launch(const pybind11::object& kernel_object, const Kernel& kernel,
                                   const pybind11::args& arguments, const pybind11::kwargs& keywords);

}  // namespace wave
