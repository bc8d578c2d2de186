#include "emulator/grid_sync.h"

#include <new>

namespace wave::emulator {

GridSync::GridSync(u64 workgroups, u32 work_items) {
  Record& record = *new (memory_.begin()) Record;
  record.work_items = workgroups * work_items;
  record.workgroups = static_cast<u32>(workgroups);
  // ROCm's runtime prepares GWS so before a cooperative launch: of each workgroup one wave arrives.
  for (Resource& resource : resources_) resource.others = static_cast<u32>(workgroups) - 1;
}

MemoryRange GridSync::region() const { return {memory_.span(), true, "the record of the grid's barriers"}; }

void GridSync::set(u32 resource, u32 others) {
  const std::lock_guard lock(mutex_);
  resources_[resource].others = others;
  resources_[resource].arrived = 0;
}

u64 GridSync::arrive(u32 resource, u32 others) {
  const std::lock_guard lock(mutex_);
  Resource& at = resources_[resource];
  if (at.arrived++ < at.others) return at.number;
  ++at.number;
  at.others = others;
  at.arrived = 0;
  return 0;
}

bool GridSync::is_over(u32 resource, u64 ticket) const {
  const std::lock_guard lock(mutex_);
  return resources_[resource].number != ticket;
}

}  // namespace wave::emulator
