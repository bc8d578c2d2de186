// Changing the processor of the emulated device while a process runs.
#pragma once

#include <vector>

#include "emulator/processor.h"

namespace wave::emulator {

/// The registered processors that a device can have, by name: not a generic one, whose code runs beside the device's.
std::vector<const ProcessorTraits*> device_processors();

/// Makes device_processor() a registered processor, for launches and questions from now on; nullptr: what the
/// environment says again. Kernels that are loaded keep the limits of the device that they were loaded on.
void choose_device_processor(const ProcessorTraits* processor);

}  // namespace wave::emulator
