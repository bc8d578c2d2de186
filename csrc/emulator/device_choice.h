// Changing the processor of the emulated device while a process runs.
#pragma once

#include "emulator/processor.h"

namespace wave::emulator {

/// Makes device_processor() a registered processor, for launches and questions from now on; nullptr: what the
/// environment says again. Kernels that are loaded keep the limits of the device that they were loaded on.
void choose_device_processor(const ProcessorTraits* processor);

}  // namespace wave::emulator
