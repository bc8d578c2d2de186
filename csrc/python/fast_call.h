// The usual call on a GPU, at the least cost.
#pragma once

#include <Python.h>

#include "launch/kernel.h"

namespace wave {

/// Launches where all is as usual: a kernel that is loaded and whose writes are known, dense contiguous GPU tensors
/// that share no storage, exact Python ints and floats in range, grid=, block= and shared_memory= as ints or tuples
/// within the limits. Returns false, with nothing done, for everything else, wrong calls included: the general call
/// takes it or words the error. The thread must be plain (launch_arguments.h). Throws where the launch fails.
///
/// What costs here is not instructions but cache lines, of code and of data: the driver's launch goes over more than
/// the first-level caches hold. So this is one function over Kernel::compact_parameters.
bool launch_fast(const Kernel& kernel, PyObject* const* arguments, PyObject* const* keywords, PyObject* keyword_names);

}  // namespace wave
