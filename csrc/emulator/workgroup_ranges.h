// The workgroups of a launch that have not begun, and which of them a thread begins.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>

#include "base/host_line.h"

namespace wave::emulator {

/// Workgroups, by number.
struct WorkgroupRange {
  uint64_t next = 0, end = 0;
  uint64_t size() const { return end - next; }
};

/// Gives out each workgroup once. Thread-safe.
///
/// Each thread has a range of its own, so that threads that keep their numbers have the same workgroups in every
/// launch, whose memory their caches have. Threads have few neighbours so, too: where each workgroup writes a column of
/// a matrix, cache lines go from core to core while two threads have neighbours. A thread whose range is empty takes
/// half of the longest one.
class WorkgroupRanges {
 public:
  /// Of the workgroups below this number, in one range.
  explicit WorkgroupRanges(uint64_t workgroups);

  /// Gives each of so many threads a range of what is left, while nobody takes anything.
  void share_out(int threads);

  /// Takes up to so many for a thread, few where it has few, since nobody else helps it with them. Empty where none is
  /// left.
  WorkgroupRange take(int thread, uint64_t most);

  /// Gives back what is left of what the thread took last, for whoever is next. False where its range has changed.
  bool give_back(int thread, WorkgroupRange rest);

  /// Takes the one with the lowest number, if there is one.
  std::optional<uint64_t> take_first();

  /// Forgets those from this number on.
  void end_before(uint64_t workgroup);

  uint64_t left() const { return left_.load(std::memory_order_acquire); }

 private:
  struct alignas(kHostLine) Range {
    std::mutex mutex;  ///< of who changes it
    std::atomic<uint64_t> next{0}, end{0};

    /// Of one that others change it is a guess.
    uint64_t size() const {
      const uint64_t begin = next.load(std::memory_order_relaxed), behind = end.load(std::memory_order_relaxed);
      return behind > begin ? behind - begin : 0;
    }
    void set(WorkgroupRange range) {
      next.store(range.next, std::memory_order_relaxed);
      end.store(range.end, std::memory_order_relaxed);
    }
    WorkgroupRange take(uint64_t count);
  };

  Range& range_of(int thread) { return ranges_[static_cast<size_t>(thread) % count_]; }
  std::span<Range> ranges() { return std::span(ranges_.data(), count_); }
  bool take_half_of_longest(Range& own);

  std::array<Range, 64> ranges_;  ///< the first ones count
  size_t count_ = 1;
  std::atomic<uint64_t> left_;  ///< in all ranges
};

}  // namespace wave::emulator
