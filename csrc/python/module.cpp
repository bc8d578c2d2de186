// The extension module wave_runtime._C.
#include <pthread.h>

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
#include "python/define.h"
#include "python/devices.h"
#include "python/errors.h"
#include "python/gil.h"
#include "python/kernel_object.h"
#include "python/read_call.h"
#include "python/torch_python.h"
namespace wave {

namespace {

using Writes = std::vector<std::variant<int64_t, std::string>>;

py::object make_kernel(const std::vector<ParsedCode>& variants, const std::string& name,
                       const std::optional<std::string>& signature, const std::optional<Writes>& writes,
                       const std::string& strides, bool strict) {
  if (strides != "contiguous" && strides != "any") {
    throw ValueError(text("strides= must be \"contiguous\" or \"any\", given \"", strides, "\""));
  }
  const KernelOptions options{signature, writes, strides == "any" ? StridePolicy::Any : StridePolicy::Contiguous,
                              strict};
  return make_kernel_object(register_kernel(std::make_unique<const Kernel>(codes_of(variants), name, options)));
}

py::object code_of(const std::string& handle) { return wrapped(code_tensor(find_kernel(handle))); }

std::atomic<pthread_t> main_thread;  ///< Python's: that of its start or, in a child, the one that forked

void find_main_thread() {
  const py::object thread = py::import("threading").attr("main_thread")();
  main_thread = py::from_python<pthread_t>(thread.attr("ident"), {.what = "the main thread"});
  call_in_children([] { main_thread = pthread_self(); });
}

/// Lets Ctrl-C end a launch. Python's signal handlers run on its main thread alone; others need not ask for the
/// interpreter's lock, with which a thread ends where the interpreter does.
void check_signals() {
  if (pthread_self() != main_thread || Py_IsInitialized() == 0) return;
  const GilAcquire acquire;
  if (PyErr_CheckSignals() != 0) py::raise();
}

/// Reads the environment while no thread of Python can change it.
void read_environment_with_lock(const std::function<void()>& read) {
  if (Py_IsInitialized() == 0) return read();
  const GilAcquire acquire;
  read();
}

/// Waits without the interpreter's lock, which a launch that is waited for may need.
void wait_without_lock(const std::function<void()>& wait) {
  const GilRelease release(holds_gil());
  wait();
}

py::dict emulator_statistics() {
  const LaunchReport& report = last_report();
  py::dict result = py::make_dict({WAVE_MEMBERS(report, instructions, waves, workgroups)});
  if (report.profile == nullptr) return result;
  result.update(py::make_dict({{"names", report.profile->instructions},
                               WAVE_MEMBERS(*report.profile, kinds, bytes, vector_instructions, lanes, lds_cycles,
                                            wave_lanes, lds_conflict_cycles, matrix_operations)}));
  return result;
}

PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_C", nullptr, -1, nullptr, nullptr, nullptr, nullptr, nullptr};

py::object make_module() {
  py::object module = py::steal(PyModule_Create(&definition));
  register_errors(module);
  bind_code_object(module);
  bind_isa(module);
  bind_coverage(module);
  bind_processors(module);
  bind_kernel(module);
  bind_launches(module);
  bind_operator(module);
  bind_declared_call(module);
  bind_inductor_call(module);
  bind_sanitizer(module);
  bind_profile(module);
  bind_devices(module);
  bind_hooks(module);
  bind_recording(module);
  bind_upstream(module);
  py::add_functions(
      module,
      {py::function<make_kernel>("make_kernel", "variants, name, signature, writes, strides, strict"),
       py::function<code_of>("embedded_code", "handle"), py::function<emulator_statistics>("emulator_statistics", "")});
  find_main_thread();
  set_interrupt_check(check_signals);
  set_environment_guard(read_environment_with_lock);
  set_wait_runner(wait_without_lock);
  return module;
}

}  // namespace
}  // namespace wave

PyMODINIT_FUNC PyInit__C() { return wave::with_python_errors(wave::make_module); }
