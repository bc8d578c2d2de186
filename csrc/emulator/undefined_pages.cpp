#include "emulator/undefined_pages.h"

#include <algorithm>

namespace wave::emulator {

UndefinedPages::Page& UndefinedPages::page(u64 number) {
  Shard& shard = shards_[number % kShards];
  const std::lock_guard lock(shard.mutex);
  const auto [place, is_new] = shard.pages.try_emplace(number);
  Page& page = place->second;
  if (!is_new) return page;
  if (const std::optional<PageBits> bits = UnwrittenMemory::of_process().undefined_in(number)) {
    page.owned = std::make_unique<Bits>();
    for (size_t i = 0; i < bits->size(); ++i) page.owned->undefined[i].store((*bits)[i], std::memory_order_relaxed);
    page.bits.store(page.owned.get(), std::memory_order_release);
  }
  return page;
}

UndefinedPages::Bits& UndefinedPages::bits_of(Page& page) {
  if (Bits* bits = page.bits.load(std::memory_order_acquire)) return *bits;
  const std::lock_guard lock(mutex_);
  if (page.bits.load(std::memory_order_relaxed) == nullptr) {
    page.owned = std::make_unique<Bits>();
    page.bits.store(page.owned.get(), std::memory_order_release);
    has_some_.store(true, std::memory_order_relaxed);
  }
  return *page.bits.load(std::memory_order_relaxed);
}

void UndefinedPages::note_told(AddressSpan bytes) {
  const std::lock_guard lock(mutex_);
  told_[bytes.begin()] = bytes.size();
}

void UndefinedPages::finish() {
  UndefinedView view(*this);
  for (const auto& [begin, size] : told_) view.define({begin, size});
  for (Shard& shard : shards_) {
    for (const auto& [number, page] : shard.pages) {
      if (page.owned == nullptr) continue;
      PageBits undefined, stored;
      std::ranges::transform(page.owned->undefined, undefined.begin(), [](const auto& some) { return some.load(); });
      std::ranges::transform(page.owned->stored, stored.begin(), [](const auto& some) { return some.load(); });
      UnwrittenMemory::of_process().keep(number, undefined, stored);
    }
  }
}

/// Whether all of some bytes are defined. Defines them besides, where it is asked to.
bool UndefinedView::count(AddressSpan bytes, bool defines) {
  bool is_defined = true;
  for (u64 done = 0; done < bytes.size();) {
    const u64 at = bytes.begin() + done, in_page = at % kShadowPage, bit = in_page % 64;
    const u64 count = std::min(64 - bit, bytes.size() - done);
    const u64 mask = (~u64{0} >> (64 - count)) << bit;
    if (UndefinedPages::Bits* bits = page(at / kShadowPage).bits.load(std::memory_order_acquire)) {
      std::atomic<u64>& word = bits->undefined[in_page / 64];
      const u64 undefined = word.load(std::memory_order_relaxed);
      const bool has_some = (undefined & mask) != 0;
      if (has_some && defines) word.fetch_and(~mask, std::memory_order_relaxed);
      if (undefined != 0 && defines) bits->stored[in_page / 64].fetch_or(mask, std::memory_order_relaxed);
      is_defined &= !has_some;
    }
    done += count;
  }
  return is_defined;
}

void UndefinedView::undefine(u64 address) {
  const u64 in_page = address % kShadowPage;
  UndefinedPages::Bits& bits = pages_.bits_of(page(address / kShadowPage));
  const u64 bit = u64{1} << in_page % 64;
  bits.undefined[in_page / 64].fetch_or(bit, std::memory_order_relaxed);
  bits.stored[in_page / 64].fetch_or(bit, std::memory_order_relaxed);
}

}  // namespace wave::emulator
