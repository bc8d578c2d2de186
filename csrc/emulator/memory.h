// The memory that one launch may touch.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "base/access_trace.h"
#include "base/memory_range.h"
#include "emulator/wave.h"

namespace wave::emulator {

/// A range of the process's memory; guest addresses are host addresses.
using Region = MemoryRange;

/// How far past a region's end a read is still forgiven: correct kernels over-read what they then discard.
inline constexpr u64 kOverRead = 512;

/// Throws Fault where an atomic of `size` bytes is not aligned.
void check_atomic(u64 address, u32 size, int lane);

/// The regions of a launch. Immutable while it runs, but for the record of over-reads, which is locked.
class Memory {
 public:
  /// Regions may overlap: bytes that any writable region covers are writable. The first `arguments` of them are what
  /// the launch was given, which is what messages compare wild addresses with. `trace` may be nullptr.
  Memory(std::vector<Region> regions, size_t arguments, bool strict, AccessTrace* trace);

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
  const Region* find(u64 address) const;
  const Region* nearest(u64 address) const;
  [[noreturn]] void refuse(u64 address, u32 size, bool write, int lane) const;

  std::vector<Region> regions_;  ///< sorted and disjoint
  std::vector<Region> named_;    ///< as given, for messages
  size_t arguments_;             ///< how many of them were given to the launch
  bool strict_;
  AccessTrace* trace_;
  mutable std::mutex mutex_;
  mutable std::vector<std::string> over_read_names_;
  mutable std::vector<std::string> over_reads_;
};

}  // namespace wave::emulator
