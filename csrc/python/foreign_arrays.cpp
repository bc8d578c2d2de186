#include "python/foreign_arrays.h"

#include "python/convert.h"
#include "python/plain.h"

namespace wave {

namespace {

bool may_be_array(const Parameter& parameter, PyObject* object) {
  if (!parameter.is_pointer && !parameter.may_be_pointer) return false;
  return object != Py_None && !PyLong_Check(object) && !PyFloat_Check(object) && !is_tensor(object);
}

}  // namespace

bool has_foreign_arrays(const Kernel& kernel, PyObject* const* arguments) {
  const auto& parameters = kernel.signature().parameters;
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (may_be_array(parameters[i], arguments[i])) return true;
  }
  return false;
}

py::tuple with_tensors(const Kernel& kernel, PyObject* const* arguments) {
  static const py::handle tensor_over = py::object(py::import("wave_runtime._foreign").attr("tensor_over")).release();
  const auto& parameters = kernel.signature().parameters;
  py::tuple result(parameters.size());
  for (size_t i = 0; i < parameters.size(); ++i) {
    py::object argument = py::borrow(arguments[i]);
    if (may_be_array(parameters[i], arguments[i])) {
      const py::object tensor = tensor_over(argument, kernel.argument_text(i), bool(parameters[i].is_const));
      if (!tensor.is_none()) argument = tensor;
    }
    result.set(i, std::move(argument));
  }
  return result;
}

std::vector<PyObject*> items_of(const py::tuple& tuple) {
  std::vector<PyObject*> items;
  for (size_t i = 0; i < tuple.size(); ++i) items.push_back(tuple[i].ptr());
  return items;
}

}  // namespace wave
