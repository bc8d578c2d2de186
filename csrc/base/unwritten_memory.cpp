#include "base/unwritten_memory.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <mutex>
#include <shared_mutex>

#include "base/process_memory.h"

namespace wave {

namespace {

UnwrittenMemory& all_unwritten = *new UnwrittenMemory;

constexpr uint64_t kMostFilled = uint64_t{1} << 30;
constexpr size_t kMostPagesLeft = 16384;
/// Fewer undefined bytes than these of a granule are too few to tell whether the host has written it since: one byte
/// that the host writes is what was there once in 256 times.
constexpr int kFewest = 4;

/// The host may write it meanwhile.
uint64_t load(uint64_t address) {
  return __atomic_load_n(reinterpret_cast<const uint64_t*>(address), __ATOMIC_RELAXED);
}

uint64_t address_of(uint64_t page, size_t granule) { return page * kShadowPage + granule * UnwrittenMemory::kGranule; }

/// Whoever had the page may have given it back.
bool is_page_readable(uint64_t page) { return has_ends_of({page * kShadowPage, kShadowPage}); }

uint8_t bits_of(const PageBits& bits, size_t granule) {
  return static_cast<uint8_t>(bits[granule / 8] >> granule % 8 * 8);
}
void add_bits(PageBits& bits, size_t granule, uint8_t added) {
  bits[granule / 8] |= uint64_t{added} << granule % 8 * 8;
}
void clear_bits(PageBits& bits, size_t granule) { bits[granule / 8] &= ~(uint64_t{0xff} << granule % 8 * 8); }

/// A bit for each byte that is the same in both.
uint8_t same_bytes(uint64_t one, uint64_t other) {
  uint8_t bits = 0;
  for (int i = 0; i < 8; ++i) {
    if (((one ^ other) >> 8 * i & 0xff) == 0) bits |= static_cast<uint8_t>(1 << i);
  }
  return bits;
}

}  // namespace

UnwrittenMemory& UnwrittenMemory::of_process() { return all_unwritten; }

void UnwrittenMemory::add(AddressSpan bytes) {
  const uint64_t granules = (bytes.size() + kGranule - kFewest) / kGranule;
  if (bytes.begin() % kGranule != 0 || granules == 0 || bytes.size() > kMostFilled) return;
  std::fill_n(reinterpret_cast<uint64_t*>(bytes.begin()), granules, kPattern);
  const std::lock_guard lock(mutex_);
  allocations_[bytes.begin()] = bytes.begin() + granules * kGranule;
  is_empty_.store(false, std::memory_order_release);
}

void UnwrittenMemory::remove(uint64_t begin) {
  if (is_empty()) return;
  const std::lock_guard lock(mutex_);
  const auto found = allocations_.find(begin);
  if (found == allocations_.end()) return;
  const uint64_t end = found->second;
  allocations_.erase(found);
  for (auto left = left_.lower_bound(begin / kShadowPage); left != left_.end() && left->first * kShadowPage < end;) {
    const uint64_t page = left->first * kShadowPage;
    for (uint64_t at = std::max(begin, page); at < std::min(end, page + kShadowPage); at += kGranule)
      clear_bits(left->second.bits, (at - page) / kGranule);
    left = left->second.bits == PageBits{} ? left_.erase(left) : std::next(left);
  }
}

void UnwrittenMemory::clear() {
  const std::lock_guard lock(mutex_);
  allocations_.clear();
  left_.clear();
  is_empty_.store(true, std::memory_order_release);
}

/// Granules that hold the pattern, of allocations.
bool UnwrittenMemory::add_unwritten(uint64_t page, PageBits& bits) const {
  const uint64_t first = page * kShadowPage, end = first + kShadowPage;
  auto next = allocations_.upper_bound(first);
  if (next != allocations_.begin()) --next;
  bool has_some = false;
  for (; next != allocations_.end() && next->first < end; ++next) {
    for (uint64_t at = std::max(next->first, first); at < std::min(next->second, end); at += kGranule) {
      if (load(at) != kPattern) continue;
      add_bits(bits, (at - first) / kGranule, 0xff);
      has_some = true;
    }
  }
  return has_some;
}

/// What kernels have left, where the contents are the same as then.
bool UnwrittenMemory::add_left(uint64_t page, PageBits& bits) const {
  const auto found = left_.find(page);
  if (found == left_.end() || !is_page_readable(page)) return false;
  bool has_some = false;
  for (size_t granule = 0; granule < found->second.contents.size(); ++granule) {
    const uint8_t undefined = bits_of(found->second.bits, granule);
    if (undefined == 0 || load(address_of(page, granule)) != found->second.contents[granule]) continue;
    add_bits(bits, granule, undefined);
    has_some = true;
  }
  return has_some;
}

std::optional<PageBits> UnwrittenMemory::undefined_in(uint64_t page) const {
  const std::shared_lock lock(mutex_);
  PageBits bits{};
  const bool has_some = add_unwritten(page, bits) | add_left(page, bits);
  return has_some ? std::optional(bits) : std::nullopt;
}

void UnwrittenMemory::keep(uint64_t page, const PageBits& undefined, const PageBits& stored) {
  const std::lock_guard lock(mutex_);
  PageBits before{}, unwritten{};
  add_left(page, before);
  add_unwritten(page, unwritten);
  const auto earlier = left_.extract(page);
  if (!is_page_readable(page) || left_.size() == kMostPagesLeft) return;
  Left left{};
  bool has_some = false;
  for (size_t granule = 0; granule < left.contents.size(); ++granule) {
    uint8_t bits = bits_of(undefined, granule);
    const bool is_known = bits_of(stored, granule) != 0 || bits_of(before, granule) != 0;
    const bool is_told_by_contents = bits == 0xff && bits_of(unwritten, granule) == 0xff;
    if (!is_known || is_told_by_contents || std::popcount(bits) < kFewest) continue;
    // What this launch has not stored one beside it may have: then it is neither the pattern nor as it was left.
    const uint64_t contents = load(address_of(page, granule));
    uint8_t is_witnessed = bits_of(stored, granule) | same_bytes(contents, kPattern);
    if (!earlier.empty()) {
      const Left& was = earlier.mapped();
      is_witnessed |= bits_of(was.bits, granule) & same_bytes(contents, was.contents[granule]);
    }
    bits &= is_witnessed;
    if (std::popcount(bits) < kFewest) continue;
    add_bits(left.bits, granule, bits);
    left.contents[granule] = contents;
    has_some = true;
  }
  if (!has_some) return;
  left_.emplace(page, left);
  is_empty_.store(false, std::memory_order_release);
}

}  // namespace wave
