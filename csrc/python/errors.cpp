#include "python/errors.h"

#include "base/error.h"
#include "op/torch_errors.h"
#include "python/convert.h"
#include "python/define.h"
#include "python/docs.h"
#include "python/gil.h"
#include "python/torch_python.h"

namespace wave {

namespace {

PyObject* kernel_fault_type = nullptr;  ///< owned by the module, which is never unloaded

// Messages quote names out of files: PyErr_SetString would replace one that is not UTF-8 by a UnicodeDecodeError.
void set_error_of(PyObject* type, const std::exception& error) { PyErr_SetObject(type, py::text(error.what()).ptr()); }

void set_kernel_fault(const KernelFault& fault) {
  const py::object value = py::handle(kernel_fault_type)(fault.what());
  const auto set = [&](const char* name, const auto& attribute) { value.set_attr(name, py::to_python(attribute)); };
  set("kernel", fault.kernel);
  set("workgroup", py::make_tuple(fault.workgroup[0], fault.workgroup[1], fault.workgroup[2]));
  set("wave", fault.wave);
  set("lane", fault.lane < 0 ? std::nullopt : std::optional(fault.lane));
  set("pc", fault.pc);
  set("instruction", fault.instruction);
  set("address", fault.address);
  PyErr_SetObject(kernel_fault_type, value.ptr());
}

/// For operators, whose callers may be far from Python, on any thread.
[[noreturn]] void throw_as_python_error(const std::exception_ptr& thrown) {
  const GilAcquire acquire;
  set_error(thrown);
  py::raise();
}

}  // namespace

void set_error(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const KernelFault& fault) {
    set_kernel_fault(fault);
  } catch (const ValueError& error) {
    set_error_of(PyExc_ValueError, error);
  } catch (const TypeError& error) {
    set_error_of(PyExc_TypeError, error);
  } catch (const Error& error) {
    set_error_of(PyExc_RuntimeError, error);
  } catch (const python_error& error) {
    error.restore();
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (...) {
    torch::translate_exception_to_python(thrown);
  }
}

void register_errors(py::handle module) {
  const py::object type = py::steal(
      PyErr_NewExceptionWithDoc("wave_runtime.KernelFault", doc_of("KernelFault"), PyExc_RuntimeError, nullptr));
  py::add_object(module, "KernelFault", type);
  kernel_fault_type = py::object(type).release();
  set_error_translator(throw_as_python_error);
}

}  // namespace wave
