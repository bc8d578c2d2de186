// One function for each part of the extension module: it adds that part's functions and types to the module.
#pragma once

#include "python/object.h"

namespace wave {

/// CodeObject, code_objects, parse_signature, occupancy, processor_facts, normal_target, target_runs_on: looking into
/// files, no GPU needed.
void bind_code_object(py::handle module);

/// isa_rows, decode, disassemble: the instruction tables.
void bind_isa(py::handle module);

/// implemented_instructions, unsupported, emulated_processor and what tests ask about bodies: what the emulator runs.
void bind_coverage(py::handle module);

/// emulator_processors, emulator_processor, choose_emulator_processor, sum_matrices_exactly: what the emulated device
/// is.
void bind_processors(py::handle module);

/// sanitizer_tools, begin_sanitizer: what launches on the emulator are looked at for.
void bind_sanitizer(py::handle module);

/// begin_profile, ProfileSession: what launches on the emulator are counted for.
void bind_profile(py::handle module);

/// Devices and drivers, what is loaded on them, variables of modules.
void bind_devices(py::handle module);

/// What makes the type Kernel: wave_runtime/_kernel.py has its __call__.
void bind_kernel(py::handle module);

/// BoundLaunch, Sequence: launches whose arguments are read once.
void bind_launches(py::handle module);

/// OperatorBase: what an operator's call costs where PyTorch has nothing to see.
void bind_operator(py::handle module);

/// DeclaredCall, declare: the same for operators that are declared.
void bind_declared_call(py::handle module);

/// KernelInductorCall: what a kernel's call is in Inductor's code.
void bind_inductor_call(py::handle module);

/// launch(info, tensors, dynamic_dims, scalar_args[, strides]) of upstream's wave_runtime, what it launches, and its
/// types.
void bind_upstream(py::handle module);
void bind_upstream_types(py::handle module);

/// record_launches, RecordedLaunch: graphs where a GPU is emulated.
void bind_recording(py::handle module);

/// add_hook, remove_hook.
void bind_hooks(py::handle module);

}  // namespace wave
