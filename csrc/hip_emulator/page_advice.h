// What programs advise of managed memory: kept for each page, and told again.
#pragma once

#include <map>
#include <mutex>
#include <set>

#include "base/address_span.h"
#include "hip_emulator/hip_handles.h"

namespace wave::hip_emulator {

struct AdviceOfPage {
  bool is_read_mostly = false;
  bool is_coarse = false;
  int preferred = hip::kNoDevice;
  int prefetched = hip::kNoDevice;
  std::set<int> accessed_by{};

  bool operator==(const AdviceOfPage&) const = default;
};

/// Of the pages of one allocation. Thread-safe.
class PageAdvice {
 public:
  /// Changes what was advised of each page that has some of the bytes.
  template <class Change>
  void change(AddressSpan bytes, const Change& change) {
    const std::lock_guard lock(mutex_);
    for (uint64_t page = bytes.begin() / kPage; page <= (bytes.end() - 1) / kPage; ++page) change(pages_[page]);
  }

  /// A property of all of these pages, or `otherwise` where they differ in it.
  template <class Read, class Value>
  Value common(AddressSpan bytes, const Read& read, const Value& otherwise) const {
    const std::lock_guard lock(mutex_);
    const auto of_page = [&](uint64_t page) {
      const auto found = pages_.find(page);
      return read(found == pages_.end() ? AdviceOfPage() : found->second);
    };
    const uint64_t first = bytes.begin() / kPage;
    const Value value = of_page(first);
    for (uint64_t page = first + 1; page <= (bytes.end() - 1) / kPage; ++page) {
      if (of_page(page) != value) return otherwise;
    }
    return value;
  }

 private:
  static constexpr uint64_t kPage = 4096;

  mutable std::mutex mutex_;
  std::map<uint64_t, AdviceOfPage> pages_;  ///< by their numbers
};

}  // namespace wave::hip_emulator
