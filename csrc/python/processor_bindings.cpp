// The processors that the emulator can be, and how it sums products, from Python: for emulate() and the self-test.
#include "emulator/device_choice.h"
#include "emulator/matrix_exact.h"
#include "launch/device_function.h"
#include "python/bindings.h"
#include "python/define.h"

namespace wave {
namespace {

/// {name: figures}, of all that a device can have; or also of generic ones, whose code runs beside it.
py::dict emulator_processors(bool generic) {
  py::dict all;
  for (const emulator::ProcessorTraits* traits :
       generic ? emulator::ProcessorRegistration::all() : emulator::device_processors()) {
    const ProcessorLimits& limits = traits->limits;
    all.set(traits->name,
            py::make_dict({WAVE_MEMBERS(*traits, code, instructions),
                           {"elf_machine", find_processor(traits->code)->elf_machine},
                           {"target", traits->target()},
                           WAVE_MEMBERS(*traits, lanes),
                           {"multiprocessors", traits->multiprocessors()},
                           {"waves", limits.waves_per_simd * limits.simds * traits->units_per_multiprocessor},
                           {"shared_memory", limits.lds_bytes},
                           {"clock", traits->clock},
                           WAVE_MEMBERS(*traits, is_integrated)}));
  }
  return all;
}

std::string emulator_processor() { return emulator::device_processor().name; }

void choose_processor(const std::string& name) {
  for (const emulator::ProcessorTraits* traits : emulator::device_processors()) {
    if (traits->name != name) continue;
    emulator::choose_device_processor(traits);
    return choose_builds_anew();
  }
  PyErr_SetString(PyExc_KeyError, name.c_str());
  py::raise();
}

}  // namespace

void bind_processors(py::handle module) {
  py::add_functions(module, {py::function<emulator_processors>("emulator_processors", "generic=False"),
                             py::function<emulator_processor>("emulator_processor", ""),
                             py::function<choose_processor>("choose_emulator_processor", "name"),
                             py::function<emulator::sum_matrices_exactly>("sum_matrices_exactly", "")});
}

}  // namespace wave
