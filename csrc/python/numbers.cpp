#include "python/numbers.h"

#include "base/error.h"
#include "python/errors.h"

namespace wave {

namespace {

[[noreturn]] void refuse_size(PyObject* object, int bits, const Where& where) {
  throw ValueError(text(where.text(), ": ", py::str::of(object), " does not fit in ", bits, " bits"));
}

}  // namespace

std::string Where::text() const {
  if (kernel != nullptr && what == nullptr) return kernel->argument_text(static_cast<size_t>(index));
  std::string out = kernel == nullptr ? "" : wave::text(kernel_text(kernel->name()), ", ");
  append(out, what);
  return index < 0 ? out : wave::text(out, "[", index, "]");
}

Integer read_integer(PyObject* object, int bits, const Where& where, const char* expected) {
  if (!PyLong_Check(object)) {
    if (PyObject* const number = PyNumber_Index(object); number != nullptr) {
      return read_integer(py::steal(number).ptr(), bits, where, expected);
    }
    PyErr_Clear();
    throw TypeError(text(where.text(), ": expected ", expected, ", given ", py::given_text(object)));
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

bool is_beyond_floats(PyObject* integer) {
  PyLong_AsDouble(integer);
  if (PyErr_Occurred() == nullptr) return false;
  if (PyErr_ExceptionMatches(PyExc_OverflowError) == 0) py::raise();
  PyErr_Clear();
  return true;
}

std::optional<double> read_real(PyObject* object) {
  if (PyFloat_Check(object)) return PyFloat_AsDouble(object);
  PyTypeObject* const type = Py_TYPE(object);
  if (PyType_GetSlot(type, Py_nb_float) == nullptr && PyType_GetSlot(type, Py_nb_index) == nullptr) return std::nullopt;
  const py::object number = py::steal(PyNumber_Float(object));
  return PyFloat_AsDouble(number.ptr());
}

}  // namespace wave
