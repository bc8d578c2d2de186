// A launch as its options ask for it, whoever launches: the driver of CPU tensors, or the HIP library.
#pragma once

#include <functional>

#include "base/emulator_options.h"
#include "emulator/checks.h"
#include "emulator/dispatch.h"

namespace wave::emulator {

/// Runs a launch within the limits of `options`, with a trace and a bar of its progress where they ask for it, and with
/// `checks`, whose finish() is the caller's. `interrupted` is called on the calling thread some twenty times a second,
/// and may throw to stop the launch. Throws KernelFault as run() does, and RuntimeError where a trace cannot be
/// written.
Statistics run_as_asked(Dispatch& dispatch, const EmulatorOptions& options, Checks* checks,
                        const std::function<void()>& interrupted);

}  // namespace wave::emulator
