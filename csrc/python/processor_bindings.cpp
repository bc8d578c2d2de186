// The processors that the emulator can be, from Python: for wave_runtime.emulate().
#include "emulator/device_choice.h"
#include "python/bindings.h"

namespace py = pybind11;

namespace wave {
namespace {

/// {name: figures}, of all that a device can have.
py::dict emulator_processors() {
  py::dict all;
  for (const emulator::ProcessorTraits* traits : emulator::device_processors()) {
    py::dict figures;
    figures["code"] = traits->code;
    figures["target"] = traits->target().id();
    figures["lanes"] = traits->lanes;
    figures["multiprocessors"] = traits->multiprocessors();
    figures["waves"] = traits->limits.waves_per_simd * traits->limits.simds * traits->units_per_multiprocessor;
    figures["shared_memory"] = traits->limits.lds_bytes;
    figures["clock"] = traits->clock;
    all[traits->name] = figures;
  }
  return all;
}

std::string emulator_processor() { return emulator::device_processor().name; }

void choose_processor(const std::string& name) {
  for (const emulator::ProcessorTraits* traits : emulator::device_processors()) {
    if (traits->name == name) return emulator::choose_device_processor(traits);
  }
  throw py::key_error(name);
}

}  // namespace

void bind_processors(py::module_& module) {
  module.def("emulator_processors", &emulator_processors);
  module.def("emulator_processor", &emulator_processor);
  module.def("choose_emulator_processor", &choose_processor, py::arg("name"));
}

}  // namespace wave
