// Arrays of other libraries (NumPy's, and what has __dlpack__ or __cuda_array_interface__) among a launch's arguments.
#pragma once

#include <pybind11/pybind11.h>

#include "launch/kernel.h"

namespace wave {

/// Whether one of the arguments, as many as there are parameters, is neither a tensor nor a number where the kernel may
/// take a tensor: an array, or something that is no argument at all.
bool has_foreign_arrays(const Kernel& kernel, PyObject* const* arguments);

/// The arguments with arrays as tensors over the same memory. What is no array stays. Throws TypeError and ValueError,
/// which name the argument, for an array that torch cannot see as it is.
pybind11::tuple with_tensors(const Kernel& kernel, PyObject* const* arguments);

/// The first item of a tuple, which the others follow.
inline PyObject* const* items_of(const pybind11::tuple& tuple) { return &PyTuple_GET_ITEM(tuple.ptr(), 0); }

}  // namespace wave
