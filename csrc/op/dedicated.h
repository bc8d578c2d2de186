// Operators of one kernel: no lists in their schemas, which torch parses slowly.
#pragma once

#include <string>

#include "launch/geometry.h"
#include "launch/kernel.h"

namespace wave {

/// Defines an operator "namespace::name" for the rest of the process: one argument for each parameter of the kernel,
/// then "SymInt grid_x, SymInt grid_y=1, SymInt grid_z=1". Everything but the grid is taken from `options`. It behaves
/// as wave::launch does: on meta tensors, for autograd, under torch.compile. Returns its schema. Throws ValueError
/// where the name is not of that form or is taken, or the kernel has bytes[N] parameters; RuntimeError where it is not
/// known what the kernel writes.
std::string define_operator(const Kernel& kernel, const std::string& name, const LaunchOptions& options);

/// Whether the kernel can have an operator of its own: what it writes is known, and no parameter is bytes[N].
bool can_have_operator(const Kernel& kernel);

/// Defines, at the first call, the operator that a call of the kernel becomes in compiled code, wave_kernel::NAME, and
/// returns NAME. It comes from kernel name and handle, so that it is the same in every process and graphs that hold it
/// have right cache keys. The arguments are the kernel's, then the grid's three extents; in the overload "block" those
/// of the block and the shared memory, too. Only that one is there where the binary does not fix the block.
/// Thread-safe. The kernel must be one that can have an operator.
std::string define_traced_operator(const Kernel& kernel);

}  // namespace wave
