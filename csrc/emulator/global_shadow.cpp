#include "emulator/global_shadow.h"

#include <algorithm>
#include <thread>

#include "base/fork_safe.h"
#include "base/pause.h"

namespace wave::emulator {

namespace {

/// Pages that launches have left, for those to come: memory that is allocated anew costs a fault of the host's for each
/// page. Any thread may call.
class SparePages {
 public:
  std::unique_ptr<ShadowPage> take() {
    {
      const std::lock_guard lock(mutex_);
      if (!pages_.empty()) {
        std::unique_ptr<ShadowPage> page = std::move(pages_.back());
        pages_.pop_back();
        return page;
      }
    }
    return std::make_unique<ShadowPage>();
  }
  void give(std::unique_ptr<ShadowPage> page) {
    constexpr size_t kMost = 8192;
    page->clear();
    const std::lock_guard lock(mutex_);
    if (pages_.size() < kMost) pages_.push_back(std::move(page));
  }

 private:
  Mutex mutex_;  ///< guards what follows
  std::vector<std::unique_ptr<ShadowPage>> pages_;
};

SparePages& spare_pages = *new SparePages();  // made at load; launches of other threads may outlive what is static

constexpr auto kWave = &std::pair<u32, Reach>::first;

}  // namespace

const Reach* MemoryClock::find(u32 wave) const {
  const auto found = std::ranges::lower_bound(all_, wave, {}, kWave);
  return found != all_.end() && found->first == wave ? &found->second : nullptr;
}

void MemoryClock::insert(u32 wave, const Reach& reach) {
  const auto found = std::ranges::lower_bound(all_, wave, {}, kWave);
  if (found != all_.end() && found->first == wave) return found->second.join(reach);
  all_.insert(found, {wave, reach});
}

void MemoryClock::join(const MemoryClock& other) {
  std::vector<std::pair<u32, Reach>> added;  // of waves that are new here
  auto own = all_.begin();
  for (const auto& [wave, reach] : other.all_) {
    own = std::lower_bound(own, all_.end(), wave, [](const auto& one, u32 value) { return one.first < value; });
    if (own != all_.end() && own->first == wave) {
      own->second.join(reach);
    } else {
      added.emplace_back(wave, reach);
    }
  }
  if (added.empty()) return;
  const auto middle = static_cast<std::ptrdiff_t>(all_.size());
  all_.insert(all_.end(), added.begin(), added.end());
  std::ranges::inplace_merge(all_, all_.begin() + middle, {}, kWave);
}

void MemoryClock::join_loads(const MemoryClock& other) {
  for (const auto& [wave, reach] : other.all_) {
    if (reach.loads != 0) join(wave, {.loads = reach.loads});
  }
}

PastAccesses ShadowPage::of(size_t dword) const {
  const size_t block = dword / kBlockDwords, at = dword % kBlockDwords;
  return (split_ >> block & 1) == 0 ? of_dword(common_[block], at) : (*dwords_[block])[at];
}

/// A dword of a block, by itself.
PastAccesses ShadowPage::of_dword(const PastAccesses& common, size_t dword) {
  PastAccesses all = common;
  for (PastAccess& past : all) {
    const int at = static_cast<int>(dword);
    if (past.step != 0) past.lane = static_cast<i8>(past.lane + (past.step > 0 ? at / past.step : at * -past.step));
    past.step = 0;
  }
  return all;
}

void ShadowPage::split(u64 block) {
  std::unique_ptr<Dwords>& dwords = dwords_[block];
  if (dwords == nullptr) dwords = std::make_unique<Dwords>();
  for (size_t i = 0; i < kBlockDwords; ++i) (*dwords)[i] = of_dword(common_[block], i);
  split_ |= u64{1} << block;
}

Released& ShadowPage::releases(u64 address) {
  if (released_ == nullptr) released_ = std::make_unique<std::array<std::unique_ptr<Released>, kBytes>>();
  std::unique_ptr<Released>& one = (*released_)[address % kBytes];
  if (one == nullptr) one = std::make_unique<Released>();
  return *one;
}

void ShadowPage::clear() {
  if (split_ != 0) dwords_ = {};
  split_ = 0;
  common_ = {};
  released_.reset();
  for (std::atomic<u64>& counters : counters_) counters.store(0, std::memory_order_relaxed);
}

void ShadowPage::lock() {
  constexpr u32 kPatience = 64;
  while (is_locked_.exchange(true, std::memory_order_acquire)) {
    for (u32 i = 0; is_locked_.load(std::memory_order_relaxed); ++i)
      i % kPatience == 0 ? std::this_thread::yield() : pause();
  }
}

GlobalShadow::~GlobalShadow() {
  for (Shard& shard : shards_) {
    for (auto& [number, page] : shard.pages) spare_pages.give(std::move(page));
  }
}

ShadowPage* GlobalShadow::find(u64 number) {
  Shard& shard = shards_[number % kShards];
  const std::lock_guard lock(shard.mutex);
  std::unique_ptr<ShadowPage>& page = shard.pages[number];
  if (page == nullptr) page = spare_pages.take();
  return page.get();
}

void GlobalShadow::Hold::turn_to(u64 number) {
  const auto held = std::ranges::lower_bound(held_, number, {}, &std::pair<u64, ShadowPage*>::first);
  if (held == held_.end() || held->first != number) {
    let_go();
    add(number);
  } else {
    page_ = held->second;
  }
  number_ = number;
}

void GlobalShadow::Hold::take(const std::vector<u64>& numbers) {
  let_go();
  for (const u64 number : numbers) add(number);
}

ShadowPage* GlobalShadow::Hold::find(u64 number) {
  auto& [known, page] = known_[number % kKnown];
  if (page == nullptr || known != number) page = shadow_.find(number), known = number;
  return page;
}

void GlobalShadow::Hold::add(u64 number) {
  ShadowPage* const page = find(number);
  page->lock();
  page_ = page;
  held_.emplace_back(number, page);
}

}  // namespace wave::emulator
