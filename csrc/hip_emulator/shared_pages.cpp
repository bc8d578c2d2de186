#include "hip_emulator/shared_pages.h"

#include <sys/mman.h>

#include <algorithm>

namespace wave::hip_emulator {

uint64_t SharedPages::take(uint64_t size) {
  if (const auto same = given_back_.find(size); same != given_back_.end() && !same->second.empty()) {
    const uint64_t begin = same->second.back();
    same->second.pop_back();
    return begin;
  }
  if (mappings_.empty() || mappings_.back().end() - next_ < size) {
    constexpr uint64_t kMapping = uint64_t{1} << 30;
    const uint64_t mapped = std::max(size, kMapping);
    void* const begin =
        mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (begin == MAP_FAILED) return 0;
    (void)madvise(begin, mapped, MADV_NOHUGEPAGE);  // a large page would fill what lies between the pieces, too
    next_ = reinterpret_cast<uint64_t>(begin);
    mappings_.emplace_back(next_, mapped);
  }
  next_ += size;
  return next_ - size;
}

void SharedPages::empty(AddressSpan pages) {
  (void)madvise(reinterpret_cast<void*>(pages.begin()), pages.size(), MADV_DONTNEED);
}

void SharedPages::give_back(AddressSpan piece) { given_back_[piece.size()].push_back(piece.begin()); }

bool SharedPages::contains(uint64_t address) const {
  return std::ranges::any_of(mappings_, [=](const AddressSpan& mapping) { return mapping.contains(address); });
}

}  // namespace wave::hip_emulator
