// The Python type Kernel: callable through the vectorcall protocol, so that a launch costs no Python frame.
#pragma once

#include <c10/core/Device.h>

#include <memory>
#include <optional>
#include <vector>

#include "launch/kernel.h"
#include "python/convert.h"

namespace wave {

/// A new Python object for a registered kernel.
py::object make_kernel_object(const Kernel& kernel);

/// The kernel of a Python object. Throws TypeError where it is of another type.
const Kernel& kernel_of(const py::handle& object);

/// Calls kernel(*args, grid=, block=, shared_memory=), whose object is `self`. Defined in kernel_call.cpp.
PyObject* call_kernel(const Kernel& kernel, PyObject* self, PyObject* const* arguments, size_t flags,
                      PyObject* keyword_names) noexcept;

/// Calls function(self, *arguments), keywords included.
PyObject* call_function(PyObject* function, PyObject* self, PyObject* const* arguments, size_t flags,
                        PyObject* keyword_names);

/// Launches on the emulator and returns {index: (read, written)} for the pointer arguments, whatever the signature says
/// of them.
py::dict trace_accesses(const Kernel& kernel, const py::tuple& arguments, const py::dict& keywords);

/// kernel.launch_raw(arguments: bytes, memory=[tensors], reads=[tensors], device=None, process_memory=False, grid=,
/// ...). On the device, else on that of the tensors, else on the CPU.
void launch_raw(const Kernel& kernel, const py::bytes& arguments, const py::object& memory, const py::object& reads,
                const std::optional<c10::Device>& device, bool process_memory, const py::dict& keywords);

/// kernel.bind(*arguments, grid=, ...): a BoundLaunch. Defined in bound_launch.cpp.
py::object bind(const py::object& kernel, const py::tuple& arguments, const py::dict& keywords);

/// kernel._device_of(*arguments): where the arguments lie, some of whose pointers may be addresses, as data_ptr() gives
/// them. Tensors say so; an address is of the GPU whose driver knows it, else of the host. Null addresses say nothing;
/// where nothing does, it is the current GPU, if its driver takes the kernel's kind of code, else the CPU. Throws
/// ValueError where arguments lie on different devices. Defined in address_launch.cpp, as the next.
c10::Device device_of_arguments(const Kernel& kernel, const py::tuple& arguments);

/// kernel._launch_addresses(*arguments, grid=, ...): a call whose pointer arguments may be addresses or None. Modes and
/// tracers see nothing of it. On the CPU the kernel may touch whatever the process has mapped where one of them is an
/// address, and with process_memory=True. With raw=True nor does autograd: tensors may require grad, and none counts
/// as changed; and arguments may share memory with those that the kernel writes. Throws the same.
void launch_addresses(const Kernel& kernel, const py::tuple& arguments, bool process_memory, bool raw,
                      const py::dict& keywords);

/// Functions take the kernel of such an object.
template <>
struct py::Converter<Kernel> {
  static bool is(handle object);
  static constexpr const char* kExpected = "a kernel";
  static const Kernel& from(handle object, const Where&) { return kernel_of(object); }
};

}  // namespace wave
