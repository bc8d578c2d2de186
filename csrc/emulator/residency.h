// How many workgroups of a kernel an emulated device holds at once: the one figure for cooperative launches, which may
// have so many, and for the schedule, which has so many under way.
#pragma once

#include <cstdint>

#include "code_object/code_object.h"

namespace wave::emulator {

/// Of the device that stands for the code's processor; `lds_bytes` are static and dynamic together. Throws ValueError
/// where not one fits.
uint64_t resident_workgroups(const Target& target, const KernelInfo& kernel, uint32_t work_items, uint32_t lds_bytes);

}  // namespace wave::emulator
