// The keywords of a launch: grid=, block=, shared_memory=, cluster=, cooperative=, programmatic=, priority=, device=.
#pragma once

#include <pybind11/pybind11.h>

#include "launch/geometry.h"
#include "launch/kernel.h"

namespace wave {

/// The names of the most usual keywords, interned as those of calls are.
extern PyObject* const kGridName;
extern PyObject* const kBlockName;
extern PyObject* const kSharedMemoryName;

/// Reads the keywords of a vectorcall. `device` gets the value of device=, which is borrowed; without, there is no such
/// keyword. Throws TypeError for one that there is not, and where grid= is missing.
LaunchOptions read_options(const Kernel& kernel, PyObject* const* values, PyObject* names, PyObject** device = nullptr);

/// The same from a dictionary.
LaunchOptions read_options(const Kernel& kernel, const pybind11::dict& keywords, PyObject** device = nullptr);

}  // namespace wave
