#include "emulator/global_shadow.h"

#include <utility>

namespace wave::emulator {

void join(MemoryClock& clock, const MemoryClock& other) {
  for (const auto& [wave, reach] : other) clock[wave].join(reach);
}

PastAccesses AccessBlock::of(size_t dword) const {
  if (dwords_ != nullptr) return (*dwords_)[dword];
  PastAccesses all = common_;
  for (PastAccess& past : all) {
    const int at = static_cast<int>(dword);
    if (past.step != 0) past.lane = static_cast<i8>(past.lane + (past.step > 0 ? at / past.step : at * -past.step));
    past.step = 0;
  }
  return all;
}

void AccessBlock::split() {
  auto dwords = std::make_unique<std::array<PastAccesses, kDwords>>();
  for (size_t i = 0; i < kDwords; ++i) (*dwords)[i] = of(i);
  dwords_ = std::move(dwords);
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

GlobalShadow::Released GlobalShadow::released(u64 address) {
  if (!has_released_.load(std::memory_order_acquire)) return {};
  const std::lock_guard lock(mutex_);
  const auto found = released_.find(address);
  return found == released_.end() ? Released() : found->second;
}

}  // namespace wave::emulator
