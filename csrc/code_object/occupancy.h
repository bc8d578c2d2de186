// How many waves of a kernel fit on a compute unit, and what limits them.
#pragma once

#include <cstdint>
#include <string>

#include "code_object/code_object.h"

namespace wave {

struct Occupancy {
  uint32_t waves_per_simd;  ///< on the SIMD that gets the most of them
  uint32_t max_waves_per_simd;
  uint32_t workgroups_per_unit;  ///< of a compute unit; of a workgroup processor for a kernel in WGP mode
  std::string limited_by;        ///< "VGPRs", "SGPRs", "LDS", "workgroup slots" or "wave slots"
};

/// VGPRs that the hardware sets aside for a wave, which are whole granules: more than the descriptor asks for where
/// those are larger than the units that it counts in (24, or 12 for waves of 64 lanes, on gfx1100). What the descriptor
/// says where the processor's limits are not known.
uint32_t allocated_vgprs(const Target& target, const KernelDescriptor& descriptor);

/// For workgroups of `workgroup_size` work-items and `lds_bytes` of LDS (static and dynamic together). Registers are
/// those that the kernel descriptor allocates. Throws ValueError where the processor's limits are not known or one
/// workgroup does not fit. Scratch memory is not counted.
Occupancy occupancy(const Target& target, const KernelInfo& kernel, uint32_t workgroup_size, uint64_t lds_bytes);
/// On a processor of these limits, whose waves have so many lanes by default, and which runs code for the target.
Occupancy occupancy(const ProcessorLimits& limits, uint32_t lanes, const Target& target, const KernelInfo& kernel,
                    uint32_t workgroup_size, uint64_t lds_bytes);

}  // namespace wave
