// The arguments of a launch as Python passes them.
#pragma once

#include <pybind11/pybind11.h>

#include "op/call.h"

namespace wave {

/// Whether nothing on this thread wants to see operators: no mode, no tracer, no functorch level.
bool thread_is_plain();

/// Whether a tensor has the keys of a dense one on a GPU and no others.
bool has_plain_gpu_keys(const c10::TensorImpl* tensor);
/// The same for the CPU.
bool has_plain_cpu_keys(const c10::TensorImpl* tensor);

/// Whether the argument is the operator's business: a tensor that is not a plain dense one on the CPU or a GPU, or a
/// symbolic scalar.
bool is_for_operator(PyObject* argument);

/// Throws TypeError where the number of arguments is not the signature's.
void check_count(const Kernel& kernel, Py_ssize_t given);

/// Takes the argument for one parameter: a tensor for a pointer, else a scalar. The tensor is borrowed. Throws
/// TypeError and ValueError.
void read_argument(const Kernel& kernel, size_t index, PyObject* argument, ArgumentPacker& packer,
                   TensorArguments& tensors);

/// Where a call launches: where its tensors are, else where `given`, the value of device=, says. Checks the tensors
/// together. Throws ValueError where neither says it, or the two differ. `given` may be nullptr or None.
c10::Device device_of_call(const Kernel& kernel, const TensorArguments& tensors, PyObject* given);

/// Raises each as a RuntimeWarning.
void warn(const std::vector<std::string>& warnings);

/// Lets other Python threads run for a scope.
class GilRelease {
 public:
  explicit GilRelease(bool release = true) : state_(release ? PyEval_SaveThread() : nullptr) {}
  ~GilRelease() {
    if (state_ != nullptr) PyEval_RestoreThread(state_);
  }
  GilRelease(const GilRelease&) = delete;
  GilRelease& operator=(const GilRelease&) = delete;

 private:
  PyThreadState* state_;
};

/// Loads the kernel where it is not, without the interpreter's lock.
void ensure_loaded(const Kernel& kernel, const Place& place);

}  // namespace wave
