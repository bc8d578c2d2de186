#include "emulator/residency.h"

#include "base/error.h"
#include "code_object/occupancy.h"
#include "emulator/processor.h"

namespace wave::emulator {

uint32_t workgroups_per_unit(const Target& target, const KernelInfo& kernel, uint32_t work_items, uint64_t lds_bytes) {
  try {
    return occupancy(target, kernel, work_items, lds_bytes).workgroups_per_unit;
  } catch (const ValueError&) {
    return 0;
  }
}

uint64_t resident_workgroups(const Target& target, const KernelInfo& kernel, uint32_t work_items, uint64_t lds_bytes) {
  const ProcessorTraits* processor = find_processor_for(target);
  if (processor == nullptr) throw ValueError(text("the emulator does not run code for ", target.processor));
  const uint64_t held = workgroups_per_unit(target, kernel, work_items, lds_bytes);
  const uint32_t compute_units = kernel.descriptor->wgp_mode ? 2 : 1;  // of what `held` counts for
  return processor->compute_units / compute_units * held;
}

}  // namespace wave::emulator
