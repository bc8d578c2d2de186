#include "code_object/occupancy.h"

#include <algorithm>
#include <array>

#include "base/round_up.h"

// The formula of LLVM (AMDGPUBaseInfo.cpp: getNumWavesPerEUWithNumVGPRs, getMaxWorkGroupsPerCU) and of the HIP runtime
// (hipOccupancyMaxActiveBlocksPerMultiprocessor in ROCm/clr): registers and slots limit the waves of a SIMD, the waves
// of a workgroup are spread over the SIMDs, and LDS and barriers limit the workgroups. Two differences: SGPRs are
// counted in the hardware's granule of 16 as HIP does (LLVM has a table in granules of 8), and LDS in its granule
// (neither rounds).

namespace wave {
namespace {

uint64_t ceil_divide(uint64_t value, uint64_t divisor) { return (value + divisor - 1) / divisor; }

// What one kernel finds on a unit (compute unit or workgroup processor).
struct UnitLimits {
  uint64_t simds;
  uint64_t lds_bytes;
  uint64_t workgroups;
  uint64_t vgprs;
  uint64_t vgpr_granularity;
  uint32_t lanes;
};

UnitLimits unit_for(const ProcessorLimits& limits, uint32_t lanes, const KernelDescriptor& descriptor) {
  UnitLimits unit{limits.simds, limits.lds_bytes,        limits.workgroups_per_unit,
                  limits.vgprs, limits.vgpr_granularity, lanes};
  if (lanes == 32 && !descriptor.enable_wavefront_size32) {
    // A wave of 64 takes two of a SIMD's registers for each of its own.
    unit.lanes = 64;
    unit.vgprs /= 2;
    unit.vgpr_granularity /= 2;
  }
  if (descriptor.wgp_mode) {
    unit.simds *= 2;
    unit.lds_bytes *= 2;
    unit.workgroups *= 2;
  }
  return unit;
}

// Workgroups of a unit that a resource allows.
struct Limit {
  const char* resource;
  uint64_t workgroups;
};

Limit smallest(const ProcessorLimits& limits, const UnitLimits& unit, const KernelDescriptor& descriptor,
               uint64_t waves, uint64_t lds_bytes) {
  const auto fit = [&](uint64_t waves_per_simd) { return waves_per_simd * unit.simds / waves; };
  const uint64_t vgprs = round_up<uint64_t>(descriptor.vgprs, unit.vgpr_granularity);
  const uint64_t sgprs = limits.sgprs == 0 ? 0 : round_up<uint64_t>(descriptor.sgprs, limits.sgpr_granularity);
  // A workgroup of one wave takes no barrier.
  const uint64_t slots = waves == 1 ? fit(limits.waves_per_simd) : unit.workgroups;
  // Of equal ones the first is told. LDS before registers: where it leaves room for few waves, compilers give them all.
  const std::array<Limit, 5> all = {{
      {"wave slots", fit(limits.waves_per_simd)},
      {"LDS", lds_bytes == 0 ? UINT64_MAX : unit.lds_bytes / round_up(lds_bytes, limits.lds_granularity)},
      {"VGPRs", fit(unit.vgprs / vgprs)},
      {"SGPRs", sgprs == 0 ? UINT64_MAX : fit(limits.sgprs / sgprs)},
      {"workgroup slots", slots},
  }};
  return *std::ranges::min_element(all, {}, &Limit::workgroups);
}

}  // namespace

uint32_t allocated_vgprs(const Target& target, const KernelDescriptor& descriptor) {
  const Processor* const processor = find_processor(target.processor);
  const uint32_t asked = descriptor.vgprs;
  if (processor == nullptr || processor->limits == nullptr) return asked;
  return static_cast<uint32_t>(
      round_up(asked, unit_for(*processor->limits, processor->lanes(), descriptor).vgpr_granularity));
}

Occupancy occupancy(const Target& target, const KernelInfo& kernel, uint32_t workgroup_size, uint64_t lds_bytes) {
  const Processor* const processor = find_processor(target.processor);
  if (processor == nullptr || processor->limits == nullptr) {
    throw ValueError(text("the limits of ", target.processor, " are not known"));
  }
  return occupancy(*processor->limits, processor->lanes(), target, kernel, workgroup_size, lds_bytes);
}

Occupancy occupancy(const ProcessorLimits& limits, uint32_t lanes, const Target& target, const KernelInfo& kernel,
                    uint32_t workgroup_size, uint64_t lds_bytes) {
  if (!kernel.descriptor) throw ValueError(text("kernel ", kernel.metadata.name, " has no kernel descriptor"));
  const auto refuse = [&](const std::string& reason) {
    throw ValueError(text("kernel ", kernel.metadata.name, " on ", target.processor, ": ", reason));
  };
  if (workgroup_size == 0 || workgroup_size > kMostWorkItems) {
    refuse(text("workgroups have 1 to ", kMostWorkItems, " work-items, not ", workgroup_size));
  }
  if (lds_bytes > limits.lds_bytes) {
    refuse(text(lds_bytes, " bytes of LDS are more than the ", limits.lds_bytes, " that a workgroup may have"));
  }
  const UnitLimits unit = unit_for(limits, lanes, *kernel.descriptor);
  const uint64_t waves = ceil_divide(workgroup_size, unit.lanes);
  const Limit limit = smallest(limits, unit, *kernel.descriptor, waves, lds_bytes);
  if (limit.workgroups == 0) {
    refuse(text("a workgroup of ", workgroup_size, " work-items (", waves, " waves) does not fit: too many ",
                limit.resource));
  }
  return Occupancy{.waves_per_simd = static_cast<uint32_t>(ceil_divide(limit.workgroups * waves, unit.simds)),
                   .max_waves_per_simd = limits.waves_per_simd,
                   .workgroups_per_unit = static_cast<uint32_t>(limit.workgroups),
                   .limited_by = limit.resource};
}

}  // namespace wave
