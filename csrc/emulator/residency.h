// How many workgroups of a kernel an emulated device holds at once: the one figure for cooperative launches, which may
// have so many, and for the schedule, which has so many under way.
#pragma once

#include <cstdint>

#include "emulator/module.h"

namespace wave::emulator {

/// Of a compute unit, or of a workgroup processor for a kernel in WGP mode; `lds_bytes` are static and dynamic
/// together. 0 where not one fits.
uint32_t workgroups_per_unit(const Module& module, const KernelInfo& kernel, uint32_t work_items, uint64_t lds_bytes);

/// Of the device whose processor the code runs on.
uint64_t resident_workgroups(const Module& module, const KernelInfo& kernel, uint32_t work_items, uint64_t lds_bytes);

}  // namespace wave::emulator
