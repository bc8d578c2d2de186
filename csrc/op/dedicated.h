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

}  // namespace wave
