#include "python/object.h"

#include "python/gil.h"
#include "python/layout.h"

#pragma GCC diagnostic ignored "-Winvalid-offsetof"  // of a class with virtual functions: every compiler knows it
static_assert(offsetof(python_error, type) == wave::layout::kErrorType &&
              offsetof(python_error, value) == wave::layout::kErrorValue &&
              offsetof(python_error, traceback) == wave::layout::kErrorTraceback &&
              offsetof(python_error, message) == wave::layout::kErrorMessage &&
              sizeof(python_error) == wave::layout::kErrorSize);

namespace {

/// What str() makes of a value, or nothing where it raises. No error may be set.
std::string describe(PyObject* value) {
  if (value == nullptr) return "a Python error";
  PyObject* const text = PyObject_Str(value);
  const char* const utf8 = text == nullptr ? nullptr : PyUnicode_AsUTF8AndSize(text, nullptr);
  std::string result = utf8 == nullptr ? "a Python error" : utf8;
  Py_XDECREF(text);
  PyErr_Clear();
  return result;
}

}  // namespace

python_error::python_error() {
  PyErr_Fetch(&type, &value, &traceback);
  message = describe(value);
}

python_error::python_error(const python_error& other)
    : std::exception(other), type(other.type), value(other.value), traceback(other.traceback), message(other.message) {
  const wave::GilAcquire acquire;
  Py_XINCREF(type);
  Py_XINCREF(value);
  Py_XINCREF(traceback);
}

python_error::python_error(python_error&& other) noexcept
    : type(std::exchange(other.type, nullptr)),
      value(std::exchange(other.value, nullptr)),
      traceback(std::exchange(other.traceback, nullptr)),
      message(std::move(other.message)) {}

python_error::~python_error() {
  if (type == nullptr && value == nullptr && traceback == nullptr) return;
  const wave::GilAcquire acquire;
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(traceback);
}

void python_error::restore() const {
  Py_XINCREF(type);
  Py_XINCREF(value);
  Py_XINCREF(traceback);
  PyErr_Restore(type, value, traceback);
}

namespace wave::py {

object handle::attr(const char* name) const { return steal(PyObject_GetAttrString(ptr_, name)); }

object handle::call(const tuple& arguments) const { return steal(PyObject_CallObject(ptr_, arguments.ptr())); }

object handle::call(const tuple& arguments, const dict& keywords) const {
  return steal(PyObject_Call(ptr_, arguments.ptr(), keywords.ptr()));
}

std::string str::of(handle object) {
  const str text = steal(PyObject_Str(object.ptr()));
  // Names may hold what is no character, as Python's own str has it: "\udc80".
  const bytes utf8 = steal(PyUnicode_AsEncodedString(text.ptr(), "utf-8", "backslashreplace"));
  return std::string(utf8.view());
}

std::string type_name(handle object) {
  const handle type(reinterpret_cast<PyObject*>(Py_TYPE(object.ptr())));
  std::string name = str::of(type.attr("__name__"));
  if ((PyType_GetFlags(Py_TYPE(object.ptr())) & Py_TPFLAGS_HEAPTYPE) != 0) return name;
  const std::string module = str::of(type.attr("__module__"));
  return module == "builtins" ? name : module + "." + name;
}

std::shared_ptr<PyObject> shared(const object& object) {
  return {py::object(object).release(), [](PyObject* held) {
            if (Py_IsInitialized() == 0) return;
            const GilAcquire acquire;
            Py_DECREF(held);
          }};
}

str text(std::string_view text) {
  return steal(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "backslashreplace"));
}

}  // namespace wave::py
