#include "emulator/global_shadow.h"

#include <utility>

namespace wave::emulator {

void join(MemoryClock& clock, const MemoryClock& other) {
  for (const auto& [wave, reach] : other) clock[wave].join(reach);
}

void GlobalShadow::Hold::take(u64 number) {
  let_go();
  Shard& shard = shadow_.shards_[number % kShards];
  lock_ = std::unique_lock(shard.mutex);
  std::unique_ptr<Page>& page = shard.pages[number];
  if (page == nullptr) page = std::make_unique<Page>();
  page_ = page.get();
  number_ = number;
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
