// What libtorch_python has of tensors. torch/csrc/autograd/python_variable.h needs all of Python's API, and so cannot
// be included where only the stable part of it is there; layout.cpp compares this with it.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/version.h>

#include <exception>

#include "python/layout.h"
#include "python/object.h"

extern PyObject* THPVariableClass;
extern PyObject* ParameterClass;

PyObject* THPVariable_Wrap(const at::TensorBase& tensor);

namespace torch {

/// Sets the Python error for an exception of torch's, or any other.
void translate_exception_to_python(const std::exception_ptr& thrown);

}  // namespace torch

namespace wave {

/// A torch.Tensor: after the head that all objects have comes the tensor.
struct TensorObject {
  PyObject_HEAD at::Tensor tensor;
};
static_assert(offsetof(TensorObject, tensor) == layout::kTensor);

/// The tensor of an object that is one.
inline const at::Tensor& tensor_of(PyObject* object) { return reinterpret_cast<TensorObject*>(object)->tensor; }

/// Whether an object is a torch.Tensor or a Parameter, and no other subclass.
inline bool is_exact_tensor(PyObject* object) {
  const auto* const type = reinterpret_cast<PyObject*>(Py_TYPE(object));
  return type == THPVariableClass || type == ParameterClass;
}

/// Whether an object is a torch.Tensor or of a subclass. Calls into Python for what is no tensor at all.
inline bool is_any_tensor(PyObject* object) {
  if (is_exact_tensor(object)) return true;
  const int result = PyObject_IsInstance(object, THPVariableClass);
  if (result < 0) throw python_error();
  return result != 0;
}

/// A new Python object for a tensor.
inline py::object wrapped(const at::Tensor& tensor) { return py::steal(THPVariable_Wrap(tensor)); }

}  // namespace wave
