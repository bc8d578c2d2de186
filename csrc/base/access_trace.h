// What a launch reads and writes.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

namespace wave {

/// Which of several ranges of addresses were read and written. Any thread may mark.
class AccessTrace {
 public:
  /// Ranges [first, second); they may overlap.
  explicit AccessTrace(const std::vector<std::pair<uint64_t, uint64_t>>& ranges)
      : ranges_(new Range[ranges.size()]), size_(ranges.size()) {
    for (size_t i = 0; i < size_; ++i) std::tie(ranges_[i].begin, ranges_[i].end) = ranges[i];
  }

  void mark(uint64_t begin, uint64_t end, bool read, bool write) {
    for (size_t i = 0; i < size_; ++i) {
      Range& range = ranges_[i];
      if (begin >= range.end || end <= range.begin) continue;
      if (read) range.read.store(true, std::memory_order_relaxed);
      if (write) range.written.store(true, std::memory_order_relaxed);
    }
  }

  size_t size() const { return size_; }
  bool read(size_t index) const { return ranges_[index].read; }
  bool written(size_t index) const { return ranges_[index].written; }

 private:
  struct Range {
    uint64_t begin = 0, end = 0;
    std::atomic<bool> read{false}, written{false};
  };
  std::unique_ptr<Range[]> ranges_;
  size_t size_;
};

}  // namespace wave
