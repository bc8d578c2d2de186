#include "python/errors.h"

#include "base/error.h"

namespace py = pybind11;

namespace wave {

namespace {

PyObject* kernel_fault_type = nullptr;  ///< owned by the module, which is never unloaded

// Messages quote names out of files: PyErr_SetString would replace one that is not UTF-8 by a UnicodeDecodeError.
void set_error(PyObject* type, const std::exception& error) { PyErr_SetObject(type, python_text(error.what()).ptr()); }

void set_kernel_fault(const KernelFault& fault) {
  const py::object value = py::reinterpret_borrow<py::object>(kernel_fault_type)(python_text(fault.what()));
  value.attr("kernel") = python_text(fault.kernel);
  value.attr("workgroup") = py::make_tuple(fault.workgroup[0], fault.workgroup[1], fault.workgroup[2]);
  value.attr("wave") = fault.wave;
  value.attr("lane") = fault.lane < 0 ? py::object(py::none()) : py::int_(fault.lane);
  value.attr("pc") = fault.pc;
  value.attr("instruction") = fault.instruction;
  value.attr("address") = fault.address ? py::object(py::int_(*fault.address)) : py::none();
  PyErr_SetObject(kernel_fault_type, value.ptr());
}

}  // namespace

void set_own_error(std::exception_ptr thrown) {
  try {
    if (thrown) std::rethrow_exception(thrown);
  } catch (const KernelFault& fault) {
    set_kernel_fault(fault);
  } catch (const ValueError& error) {
    set_error(PyExc_ValueError, error);
  } catch (const TypeError& error) {
    set_error(PyExc_TypeError, error);
  } catch (const Error& error) {
    set_error(PyExc_RuntimeError, error);
  }
}

void register_errors(py::module_& module) {
  constexpr const char* kDoc =
      "What a kernel did that it must not, found by the emulator.\n\n"
      "Attributes: kernel (str), workgroup (tuple of 3 ints), wave (int), lane (int or None), pc (int, bytes from the "
      "kernel's\n"
      "entry), instruction (str), address (int or None).";
  kernel_fault_type = PyErr_NewExceptionWithDoc("wave_runtime.KernelFault", kDoc, PyExc_RuntimeError, nullptr);
  if (kernel_fault_type == nullptr) throw py::error_already_set();
  module.add_object("KernelFault", kernel_fault_type);
  py::register_exception_translator(set_own_error);
}

py::str python_text(std::string_view text) {
  PyObject* result = PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "backslashreplace");
  if (result == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::str>(result);
}

}  // namespace wave
