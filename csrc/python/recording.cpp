// Recording of launches, for Python.
#include "op/recording.h"

#include "python/bindings.h"
#include "python/define.h"
#include "python/gil.h"
#include "python/read_call.h"
#include "python/torch_python.h"

namespace wave {

namespace {

struct Recorded {
  static constexpr const char* kName = "wave_runtime._C.RecordedLaunch";
  static void call(PyObject* self, PyObject* const*, size_t, PyObject*) {
    RecordedLaunch& launch = *state_of<Recorded>(self).launch;
    emulate_unlocked([&](Emulation* emulation) { launch.launch(*emulation); });
  }

  std::unique_ptr<RecordedLaunch> launch;
};

py::tuple tensors(const Recorded& recorded) { return py::tuple_of(recorded.launch->tensors(), wrapped); }
std::string kernel_name(const Recorded& recorded) { return recorded.launch->kernel().name(); }

/// Has this thread's launches on CPU tensors be given to a function, as RecordedLaunch, in place of being made; None
/// ends it.
void record_launches(const py::object& function) {
  if (function.is_none()) {
    set_launch_recorder({});
    return;
  }
  set_launch_recorder([held = py::shared(function)](std::unique_ptr<RecordedLaunch> launch) {
    const GilAcquire acquire;
    py::handle(held.get())(make_callable<Recorded>(std::move(launch)));
  });
}

}  // namespace

void bind_recording(py::handle module) {
  py::add_type<Recorded>(module,
                         {.properties = {py::property<tensors>("tensors"), py::property<kernel_name>("kernel")}});
  py::add_functions(module, {py::function<record_launches>("record_launches", "recorder")});
}

}  // namespace wave
