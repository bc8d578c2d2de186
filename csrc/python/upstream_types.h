// The types of upstream's wave_runtime: KernelLaunchInfo, Int64Vector, Int32Vector. Made anew for every launch, so they
// are plain C types.
#pragma once

#include <pybind11/pybind11.h>

#include "op/raw_launch.h"

namespace wave {

/// What a KernelLaunchInfo says.
struct LaunchInfo {
  uint64_t function;
  RawOptions options;
};

/// Throws TypeError for an object of another type.
LaunchInfo read_launch_info(PyObject* object);

/// What an error is about: "kernel 'gemm', tensors[2]", "gridX".
struct Where {
  const Kernel* kernel = nullptr;
  const char* what;
  Py_ssize_t index = -1;

  std::string text() const;
};

/// A Python integer in [-2^(bits-1), 2^bits), negative ones as two's complement of 64 bits. Takes what has __index__,
/// too. Throws TypeError and ValueError.
uint64_t read_word(PyObject* object, int bits, const Where& where);

/// Adds the types to the module.
void bind_upstream_types(pybind11::module_& module);

}  // namespace wave
