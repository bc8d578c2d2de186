// What of the process's memory nobody has written since it was allocated.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <optional>

#include "base/address_span.h"
#include "base/fork_safe.h"

namespace wave {

inline constexpr uint64_t kShadowPage = 4096;

/// Of a page, a bit for each byte that is undefined.
using PageBits = std::array<uint64_t, kShadowPage / 64>;

/// Allocations that were filled with a pattern when they were made. The host writes memory without telling anybody, so
/// that its contents are the only witness: what does not hold the pattern any more was written, and what does was not,
/// or is a copy of what was not. Only granules of 8 bytes that hold all of it count, so that no other value is taken
/// for it. Where kernels leave granules that are undefined in part, or copy undefined bytes elsewhere, that is kept
/// beside the contents of then, and holds as long as they are the same. Thread-safe.
class UnwrittenMemory {
 public:
  static constexpr uint64_t kGranule = sizeof(uint64_t);
  /// A NaN in every type of floats, a far address and large negative integers, as what registers begin with. Half of it
  /// signals as f32, so that arithmetic makes another value of it.
  static constexpr uint64_t kPattern = 0xfff3'ffe6'ffa5'ffd3;

  /// Never destroyed.
  static UnwrittenMemory& of_process();

  /// A new allocation, of as many bytes as the program may write; the memory goes on to a whole granule. It is filled
  /// but for a rest of few bytes, unless it is so large that filling it would take memory that the program may never
  /// touch.
  void add(AddressSpan bytes);
  /// Before an allocation is freed. Nothing where add() does not know it.
  void remove(uint64_t begin);
  /// Where nobody looks any more.
  void clear();

  /// Whether nothing can be undefined.
  bool is_empty() const { return is_empty_.load(std::memory_order_acquire); }

  /// What is undefined in the page with this number now; nothing where all of it is defined.
  std::optional<PageBits> undefined_in(uint64_t page) const;
  /// Behind a launch: what is undefined there as far as it knows, and what it has stored to. What it has not stored to
  /// others may have written since it began.
  void keep(uint64_t page, const PageBits& undefined, const PageBits& stored);

 private:
  /// What kernels have left undefined in a page, and its contents then.
  struct Left {
    PageBits bits;
    std::array<uint64_t, kShadowPage / kGranule> contents;
  };

  bool add_unwritten(uint64_t page, PageBits& bits) const;
  bool add_left(uint64_t page, PageBits& bits) const;

  std::atomic<bool> is_empty_{true};
  mutable SharedMutex mutex_;                 ///< guards what follows
  std::map<uint64_t, uint64_t> allocations_;  ///< ends of what was filled, by its begin
  std::map<uint64_t, Left> left_;             ///< by the numbers of pages
};

}  // namespace wave
