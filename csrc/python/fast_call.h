// The usual call on a GPU, at the least cost.
#pragma once

#include <Python.h>

#include "launch/kernel.h"

namespace wave {

/// Launches where all is as usual, as fast_launch.h has it, with grid=, block= and shared_memory= as ints or tuples.
/// Returns false, with nothing done, for everything else, wrong calls included: the general call takes it or words the
/// error. The thread must be plain (launch_arguments.h). Throws where the launch fails.
bool launch_fast(const Kernel& kernel, PyObject* const* arguments, PyObject* const* keywords, PyObject* keyword_names);

}  // namespace wave
