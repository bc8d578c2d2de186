// The memory that one launch may touch.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/access_trace.h"
#include "base/memory_range.h"
#include "emulator/wave.h"

namespace wave::emulator {

/// A range of the process's memory; guest addresses are host addresses.
using Region = MemoryRange;

/// The region that holds an address, asked for addresses that a launch was not given. Called by several threads, one at
/// a time.
using FindRegion = std::function<std::optional<Region>(u64 address)>;

/// How far past a region's end a read is still forgiven: correct kernels over-read what they then discard.
inline constexpr u64 kOverRead = 512;

/// Throws Fault where an atomic of `size` bytes is not aligned.
void check_atomic(u64 address, u32 size, int lane);

/// The regions of a launch. Immutable while it runs, but for what `find_region` adds and for the record of over-reads,
/// which are locked.
class Memory {
 public:
  /// Regions may overlap: bytes that any writable region covers are writable. The first `arguments` of them are what
  /// the launch was given, which is what messages compare wild addresses with. `trace` may be nullptr,
  /// `find_region` empty.
  Memory(std::vector<Region> regions, size_t arguments, bool strict, AccessTrace* trace, FindRegion find_region);

  /// Whether all of [begin, end) lies in one region (writable, for a write), so that it can be accessed as it is. Never
  /// while a trace is kept.
  bool covers(u64 begin, u64 end, bool write) const {
    const Region* region = find(begin);
    return trace_ == nullptr && region != nullptr && end <= region->end && (!write || region->writable);
  }

  /// Copies `size` bytes at `address` for `lane`. Bytes past a region's end but within kOverRead read as zero and are
  /// recorded. Throws Fault.
  void read(u64 address, void* to, u32 size, int lane) const;
  /// Throws Fault where any byte is outside of the writable regions; nothing is written then.
  void write(u64 address, const void* from, u32 size, int lane) const;
  /// The host pointer for an atomic of `size` bytes, aligned. Throws Fault.
  u8* atomic(u64 address, u32 size, int lane) const;

  /// Whether a read of `size` bytes at `address` past `end`, where `name` ends, is forgiven. Records it then.
  bool forgive(u64 address, u32 size, u64 end, const std::string& name, int lane) const;

  /// What was read past the end of regions, a line each.
  std::vector<std::string> over_reads() const;

  const std::vector<Region>& regions() const { return regions_; }

 private:
  /// What find_region has found, as a list that is read without a lock.
  struct More {
    Region region;
    const More* next;
  };

  const Region* find(u64 address) const;
  /// The last of regions_ that does not begin after `address`, or nullptr.
  const Region* before(u64 address) const;
  const Region* find_more(u64 address) const;
  const Region* nearest(u64 address) const;
  [[noreturn]] void refuse(u64 address, u32 size, bool write, int lane) const;

  std::vector<Region> regions_;  ///< sorted and disjoint
  std::vector<Region> named_;    ///< as given, for messages
  size_t arguments_;             ///< how many of them were given to the launch
  bool strict_;
  FindRegion find_region_;
  AccessTrace* trace_;
  mutable std::atomic<const More*> newest_{nullptr};
  mutable std::mutex mutex_;       ///< guards what follows
  mutable std::deque<More> more_;  ///< owns what newest_ leads to
  mutable std::vector<std::string> over_read_names_;
  mutable std::vector<std::string> over_reads_;
};

}  // namespace wave::emulator
