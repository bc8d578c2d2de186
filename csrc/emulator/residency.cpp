#include "emulator/residency.h"

#include "base/error.h"
#include "code_object/occupancy.h"

namespace wave::emulator {

uint32_t workgroups_per_unit(const Module& module, const KernelInfo& kernel, uint32_t work_items, uint64_t lds_bytes) {
  try {
    const ProcessorTraits& processor = module.processor();
    return occupancy(processor.limits, processor.lanes, module.code().target(), kernel, work_items, lds_bytes)
        .workgroups_per_unit;
  } catch (const ValueError&) {
    return 0;
  }
}

uint64_t resident_workgroups(const Module& module, const KernelInfo& kernel, uint32_t work_items, uint64_t lds_bytes) {
  const uint64_t held = workgroups_per_unit(module, kernel, work_items, lds_bytes);
  const uint32_t compute_units = kernel.descriptor->wgp_mode ? 2 : 1;  // of what `held` counts for
  return module.processor().compute_units / compute_units * held;
}

}  // namespace wave::emulator
