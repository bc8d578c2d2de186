// The Python type Kernel: callable through the vectorcall protocol, so that a launch costs no Python frame.
#pragma once

#include <pybind11/pybind11.h>

#include "launch/kernel.h"

namespace wave {

struct KernelObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  const Kernel* kernel;     ///< registered, so it lives for the process
  PyObject* handle;         ///< str
  PyObject* plan;           ///< what the traced call needs to know of each parameter; see wave_runtime/_kernel.py
  PyObject* default_block;  ///< tuple of 3 ints, or None
};

/// A new Python object for a registered kernel.
pybind11::object make_kernel_object(const Kernel& kernel);

/// Adds the type to the module.
void bind_kernel(pybind11::module_& module);

/// Calls kernel(*args, grid=, block=, shared_memory=): the fast call. Defined in kernel_call.cpp.
PyObject* call_kernel(PyObject* self, PyObject* const* arguments, size_t flags, PyObject* keyword_names);

/// Launches on the emulator and returns {index: (read, written)} for the pointer arguments, whatever the signature says
/// of them.
pybind11::dict trace_accesses(const Kernel& kernel, const pybind11::args& arguments, const pybind11::object& grid,
                              const pybind11::object& block, int64_t shared_memory);

/// kernel.launch_raw(arguments: bytes, grid=, block=, shared_memory=0, memory=[tensors]).
void launch_raw(const Kernel& kernel, const pybind11::bytes& arguments, const pybind11::object& grid,
                const pybind11::object& block, int64_t shared_memory, const pybind11::sequence& memory);

}  // namespace wave
