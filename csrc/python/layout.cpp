// Asserts when the binding is built that the headers of torch and Python agree with layout.h. Makes no code: this is
// the one file that sees all of Python's API.
#undef Py_LIMITED_API
#include "python/layout.h"

#include <torch/csrc/autograd/python_variable.h>

#include <concepts>

#pragma GCC diagnostic ignored "-Winvalid-offsetof"  // of a class with virtual functions: every compiler knows it

namespace {

using namespace wave::layout;

static_assert(PY_VERSION_HEX >= 0x030e0000 || offsetof(PyTypeObject, tp_vectorcall) == kTypeVectorCall);
static_assert(offsetof(PyListObject, ob_item) == kListItems);
static_assert(offsetof(THPVariable, cdata) == kTensor && std::same_as<decltype(THPVariable::cdata), at::Tensor>);
static_assert(offsetof(python_error, type) == kErrorType && offsetof(python_error, value) == kErrorValue &&
              offsetof(python_error, traceback) == kErrorTraceback &&
              offsetof(python_error, message) == kErrorMessage && sizeof(python_error) == kErrorSize &&
              std::derived_from<python_error, std::exception>);

using Wrap = PyObject* (*)(const at::TensorBase&);
using Translate = void (*)(const std::exception_ptr&);
static_assert(requires { static_cast<Wrap>(THPVariable_Wrap); });
static_assert(requires { static_cast<Translate>(torch::translate_exception_to_python); });
static_assert(std::same_as<decltype(THPVariableClass), PyObject*> && std::same_as<decltype(ParameterClass), PyObject*>);

}  // namespace
