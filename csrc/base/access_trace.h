// What a launch reads and writes.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/address_span.h"

namespace wave {

/// Which of several ranges of addresses were read and written. Any thread may mark.
class AccessTrace {
 public:
  /// They may overlap.
  explicit AccessTrace(const std::vector<AddressSpan>& ranges)
      : ranges_(new Range[ranges.size()]), size_(ranges.size()) {
    for (size_t i = 0; i < size_; ++i) ranges_[i].bytes = ranges[i];
  }

  void mark(AddressSpan access, bool read, bool write) {
    for (size_t i = 0; i < size_; ++i) {
      Range& range = ranges_[i];
      if (!range.bytes.overlaps(access)) continue;
      if (read) range.read.store(true, std::memory_order_relaxed);
      if (write) range.written.store(true, std::memory_order_relaxed);
    }
  }

  size_t size() const { return size_; }
  bool read(size_t index) const { return ranges_[index].read; }
  bool written(size_t index) const { return ranges_[index].written; }

 private:
  struct Range {
    AddressSpan bytes;
    std::atomic<bool> read{false}, written{false};
  };
  std::unique_ptr<Range[]> ranges_;
  size_t size_;
};

}  // namespace wave
