// The extension module wave_runtime._C.
#include <pthread.h>
#include <pybind11/stl.h>
#include <torch/csrc/autograd/python_variable.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/environment.h"
#include "base/error.h"
#include "base/fork_safe.h"
#include "driver/driver.h"
#include "op/embedded.h"
#include "python/bindings.h"
#include "python/bound_launch.h"
#include "python/declared_call.h"
#include "python/devices.h"
#include "python/errors.h"
#include "python/gil.h"
#include "python/kernel_object.h"
#include "python/operator_object.h"
#include "python/read_call.h"
#include "python/upstream_launch.h"

namespace py = pybind11;

namespace wave {

namespace {

ParsedCode parse(const py::bytes& data) {
  const std::string_view bytes = data;
  return {.code = CodeObject::parse({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, std::nullopt)};
}

py::tuple kernel_names(const ParsedCode& parsed) {
  py::list names;
  for (const KernelInfo& kernel : parsed.code->kernels()) names.append(python_text(kernel.metadata.name));
  return py::tuple(names);
}

using Writes = std::vector<std::variant<int64_t, std::string>>;

py::object make_kernel(const std::vector<ParsedCode>& variants, const std::string& name,
                       const std::optional<std::string>& signature, const std::optional<Writes>& writes,
                       const std::string& strides, bool strict) {
  if (strides != "contiguous" && strides != "any") {
    throw ValueError(text("strides= must be \"contiguous\" or \"any\", given \"", strides, "\""));
  }
  const KernelOptions options{signature, writes, strides == "any" ? StridePolicy::Any : StridePolicy::Contiguous,
                              strict};
  CodeObjects codes;
  for (const ParsedCode& variant : variants) codes.push_back(variant.code);
  return make_kernel_object(register_kernel(std::make_unique<const Kernel>(std::move(codes), name, options)));
}

py::object code_of(const std::string& handle) {
  return py::reinterpret_steal<py::object>(THPVariable_Wrap(code_tensor(find_kernel(handle))));
}

std::atomic<pthread_t> main_thread;  ///< Python's: that of its start or, in a child, the one that forked

void find_main_thread() {
  const py::object thread = py::module_::import("threading").attr("main_thread")();
  main_thread = thread.attr("ident").cast<pthread_t>();
  call_in_children([] { main_thread = pthread_self(); });
}

/// Lets Ctrl-C end a launch. Python's signal handlers run on its main thread alone; others need not ask for the
/// interpreter's lock, with which a thread ends where the interpreter does.
void check_signals() {
  if (pthread_self() != main_thread || Py_IsInitialized() == 0) return;
  const py::gil_scoped_acquire acquire;
  if (PyErr_CheckSignals() != 0) throw py::error_already_set();
}

/// Reads the environment while no thread of Python can change it.
void read_environment_with_lock(const std::function<void()>& read) {
  if (Py_IsInitialized() == 0) return read();
  const py::gil_scoped_acquire acquire;
  read();
}

/// Waits without the interpreter's lock, which a launch that is waited for may need.
void wait_without_lock(const std::function<void()>& wait) {
  const GilRelease release(PyGILState_Check() != 0);
  wait();
}

py::dict emulator_statistics() {
  const LaunchReport& report = last_report();
  py::dict result;
  result["instructions"] = report.instructions;
  result["waves"] = report.waves;
  result["workgroups"] = report.workgroups;
  if (report.profile == nullptr) return result;
  const LaunchProfile& profile = *report.profile;
  result["kinds"] = profile.kinds;
  result["names"] = profile.instructions;
  result["bytes"] = profile.bytes;
  result["vector_instructions"] = profile.vector_instructions;
  result["lanes"] = profile.lanes;
  result["lds_cycles"] = profile.lds_cycles;
  result["wave_lanes"] = profile.wave_lanes;
  result["lds_conflict_cycles"] = profile.lds_conflict_cycles;
  result["matrix_operations"] = profile.matrix_operations;
  return result;
}

}  // namespace

PYBIND11_MODULE(_C, module) {
  register_errors(module);
  bind_code_object(module);
  bind_isa(module);
  bind_coverage(module);
  bind_processors(module);
  bind_kernel(module);
  bind_launches(module);
  bind_operator(module);
  bind_declared_call(module);
  bind_sanitizer(module);
  bind_profile(module);
  bind_devices(module);
  bind_hooks(module);
  bind_upstream(module);
  py::class_<ParsedCode>(module, "CodeObject", py::is_final())
      .def(py::init(&parse), py::arg("data"))
      .def_property_readonly("format", [](const ParsedCode& parsed) { return name(parsed.code->format()); })
      .def_property_readonly("target", [](const ParsedCode& parsed) { return parsed.code->target().id(); })
      .def_property_readonly("kernels", &kernel_names)
      .def_property_readonly("data", [](const ParsedCode& parsed) {
        const std::span<const uint8_t> bytes = parsed.code->bytes().span();
        return py::bytes(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      });
  module.def("make_kernel", &make_kernel, py::arg("variants"), py::arg("name"), py::arg("signature"), py::arg("writes"),
             py::arg("strides"), py::arg("strict"));
  module.def("embedded_code", &code_of, py::arg("handle"));
  module.def("emulator_statistics", &emulator_statistics);
  find_main_thread();
  set_interrupt_check(check_signals);
  set_environment_guard(read_environment_with_lock);
  set_wait_runner(wait_without_lock);
}

}  // namespace wave
