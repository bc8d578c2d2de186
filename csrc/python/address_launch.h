// Launches whose pointer arguments are addresses, as data_ptr() gives them.
#pragma once

#include <vector>

#include "python/python_api.h"

namespace wave {

/// Adds to the methods of the type Kernel:
///
/// kernel._device_of(*arguments): where the arguments lie. Tensors say so; an address is of the GPU whose driver knows
/// it, else of the host. Null addresses say nothing; where nothing does, it is the current GPU, if its driver takes the
/// kernel's kind of code, else the CPU.
///
/// kernel._launch_addresses(*arguments, grid=, ...): a call whose pointer arguments may be addresses or None. Modes and
/// tracers see nothing of it. On the CPU the kernel may touch whatever the process has mapped where one of them is an
/// address, and with process_memory=True. With raw=True nor does autograd: tensors may require grad, and none counts
/// as changed; and arguments may share memory with those that the kernel writes.
///
/// Both throw ValueError where arguments lie on different devices.
void add_address_methods(std::vector<PyMethodDef>& methods);

}  // namespace wave
