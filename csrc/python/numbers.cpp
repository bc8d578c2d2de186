#include "python/numbers.h"

#include <pybind11/pybind11.h>

#include "base/error.h"
#include "python/c_api.h"

namespace py = pybind11;

namespace wave {

namespace {

[[noreturn]] void refuse_size(PyObject* object, int bits, const Where& where) {
  throw ValueError(
      text(where.text(), ": ", std::string(py::str(py::handle(object))), " does not fit in ", bits, " bits"));
}

}  // namespace

std::string Where::text() const {
  if (kernel != nullptr && what == nullptr) return kernel->argument_text(static_cast<size_t>(index));
  std::string out = kernel == nullptr ? "" : wave::text("kernel '", kernel->name(), "', ");
  append(out, what);
  return index < 0 ? out : wave::text(out, "[", index, "]");
}

Integer read_integer(PyObject* object, int bits, const Where& where, const char* expected) {
  if (!PyLong_Check(object)) {
    const py::object number = py::reinterpret_steal<py::object>(PyNumber_Index(object));
    if (number) return read_integer(number.ptr(), bits, where, expected);
    PyErr_Clear();
    throw TypeError(
        text(where.text(), ": expected ", expected, ", given ", object == Py_None ? "None" : type_name(object)));
  }
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(object, &overflow);
  if (overflow == 0) {
    const long long rest = bits == 64 ? 0 : value >> (value < 0 ? bits - 1 : bits);
    if (rest != 0 && rest != -1) refuse_size(object, bits, where);
    return {static_cast<uint64_t>(value), value < 0};
  }
  const unsigned long long large = PyLong_AsUnsignedLongLong(object);
  if (!PyErr_Occurred() && bits == 64) return {large, false};
  PyErr_Clear();
  refuse_size(object, bits, where);
}

int64_t read_signed(PyObject* object, const Where& where) {
  const Integer integer = read_integer(object, 64, where);
  const auto value = static_cast<int64_t>(integer.word);
  if ((value < 0) != integer.is_negative) refuse_size(object, 64, where);
  return value;
}

std::optional<double> read_real(PyObject* object) {
  if (PyFloat_Check(object)) return PyFloat_AS_DOUBLE(object);
  const PyNumberMethods* const methods = Py_TYPE(object)->tp_as_number;
  if (methods == nullptr || (methods->nb_float == nullptr && methods->nb_index == nullptr)) return std::nullopt;
  const py::object number = py::reinterpret_steal<py::object>(PyNumber_Float(object));
  if (!number) throw py::error_already_set();
  return PyFloat_AS_DOUBLE(number.ptr());
}

}  // namespace wave
