// Arrays of other libraries (NumPy's, and what has __dlpack__ or __cuda_array_interface__) among a launch's arguments.
#pragma once

#include <vector>

#include "launch/kernel.h"
#include "python/object.h"

namespace wave {

/// Whether one of the arguments, as many as there are parameters, is neither a tensor nor a number where the kernel may
/// take a tensor: an array, or something that is no argument at all.
bool has_foreign_arrays(const Kernel& kernel, PyObject* const* arguments);

/// The arguments with arrays as tensors over the same memory. What is no array stays. Throws TypeError and ValueError,
/// which name the argument, for an array that torch cannot see as it is.
py::tuple with_tensors(const Kernel& kernel, PyObject* const* arguments);

/// A tuple's items, borrowed, side by side.
std::vector<PyObject*> items_of(const py::tuple& tuple);

}  // namespace wave
