#include "emulator/global_shadow.h"

#include <utility>

namespace wave::emulator {

void join(MemoryClock& clock, const MemoryClock& other) {
  for (const auto& [wave, reach] : other) clock[wave].join(reach);
}

void GlobalShadow::release(u64 address, Released released, bool adds) {
  has_released_.store(true, std::memory_order_release);
  const std::lock_guard lock(mutex_);
  Released& known = released_[address];
  if (!adds || known.group != released.group) known.to_group.clear();
  if (!adds) known.to_all.clear();
  known.group = released.group;
  join(known.to_all, released.to_all);
  join(known.to_group, released.to_group);
}

GlobalShadow::Released GlobalShadow::released(u64 address) {
  if (!has_released_.load(std::memory_order_acquire)) return {};
  const std::lock_guard lock(mutex_);
  const auto found = released_.find(address);
  return found == released_.end() ? Released() : found->second;
}

}  // namespace wave::emulator
