// One function for each part of the extension module: it adds that part's functions and types to the module.
#pragma once

#include "python/object.h"

namespace wave {

/// read_code_object, image, images, parse_signature, occupancy, normal_target, target_runs_on: looking into files, no
/// GPU and no torch needed.
void bind_code_object(py::handle module);

/// isa_rows, decode, disassemble: the instruction tables.
void bind_isa(py::handle module);

/// implemented_instructions, unsupported, emulated_processor and what tests ask about bodies: what the emulator runs.
void bind_coverage(py::handle module);

/// emulator_processors, emulator_processor, choose_emulator_processor: what the emulated device is.
void bind_processors(py::handle module);

/// sanitizer_tools, begin_sanitizer: what launches on the emulator are looked at for.
void bind_sanitizer(py::handle module);
void bind_profile(py::handle module);

/// Devices and drivers, what is loaded on them, variables of modules.
void bind_devices(py::handle module);

/// record_launches, RecordedLaunch: graphs where a GPU is emulated.
void bind_recording(py::handle module);

/// add_hook, remove_hook.
void bind_hooks(py::handle module);

}  // namespace wave
