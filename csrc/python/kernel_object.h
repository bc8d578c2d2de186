// The Python type Kernel: callable through the vectorcall protocol, so that a launch costs no Python frame.
#pragma once

#include <c10/core/Device.h>

#include <memory>
#include <optional>
#include <vector>

#include "launch/kernel.h"
#include "python/object.h"

namespace wave {

/// A new Python object for a registered kernel.
py::object make_kernel_object(const Kernel& kernel);

/// The kernel of a Python object. Throws TypeError where it is of another type.
const Kernel& kernel_of(const py::handle& object);

/// Adds what makes the type to the module: wave_runtime/_kernel.py has its __call__.
void bind_kernel(py::handle module);

/// Calls kernel(*args, grid=, block=, shared_memory=), whose object is `self`. Defined in kernel_call.cpp.
PyObject* call_kernel(const Kernel& kernel, PyObject* self, PyObject* const* arguments, size_t flags,
                      PyObject* keyword_names);

/// Calls function(self, *arguments), keywords included.
PyObject* call_function(PyObject* function, PyObject* self, PyObject* const* arguments, size_t flags,
                        PyObject* keyword_names);

/// Launches on the emulator and returns {index: (read, written)} for the pointer arguments, whatever the signature says
/// of them.
py::dict trace_accesses(const Kernel& kernel, const py::args& arguments, const py::kwargs& keywords);

/// kernel.launch_raw(arguments: bytes, memory=[tensors], reads=[tensors], device=None, process_memory=False, grid=,
/// ...). On the device, else on that of the tensors, else on the CPU.
void launch_raw(const Kernel& kernel, const py::bytes& arguments, const py::object& memory, const py::object& reads,
                const std::optional<c10::Device>& device, bool process_memory, const py::kwargs& keywords);

}  // namespace wave
