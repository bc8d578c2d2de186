// How many workgroups of a kernel an emulated device holds at once: the one figure for cooperative launches, which may
// have so many, and for the schedule, which has so many under way.
#pragma once

#include <cstdint>

#include "code_object/code_object.h"

namespace wave::emulator {

/// Of a compute unit, or of a workgroup processor for a kernel in WGP mode; `lds_bytes` are static and dynamic
/// together. 0 where not one fits.
uint32_t workgroups_per_unit(const Target& target, const KernelInfo& kernel, uint32_t work_items, uint64_t lds_bytes);

/// Of the device that stands for the code's processor.
uint64_t resident_workgroups(const Target& target, const KernelInfo& kernel, uint32_t work_items, uint64_t lds_bytes);

}  // namespace wave::emulator
