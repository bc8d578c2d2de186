// The memory that one launch may touch.
#pragma once

#include <atomic>
#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/access_trace.h"
#include "base/memory_range.h"
#include "emulator/atomic_target.h"
#include "emulator/wave.h"

namespace wave::emulator {

/// A range of the process's memory; guest addresses are host addresses.
using Region = MemoryRange;

/// The region that holds an address, asked for addresses that a launch was not given. Called by several threads, one at
/// a time.
using FindRegion = std::function<std::optional<Region>(u64 address)>;

/// How far past a region's end a read is still forgiven: correct kernels over-read what they then discard.
inline constexpr u64 kOverRead = 512;
/// The same of LDS, where the hardware reads zeros at any distance. Compilers may load ahead of the condition that few
/// work-items of a workgroup meet: up to 1,024 of them read as if they did. Who asks for bad accesses is told those
/// that are farther away than the 576 bytes by which rocFFT's transforms of real rows go too far.
inline constexpr u64 kOverReadOfLds = 128 << 10, kSuspectOverReadOfLds = 1024;

/// Throws Fault where an atomic access is not aligned.
void check_atomic(AddressSpan span, int lane);

/// Whether an access past an end would be forgiven where reads there are.
bool is_over_read(const AddressSpan& bytes, AddressSpan span, u64 most, bool write);

/// Of which accesses somebody wants to be told.
enum class WatchedAccesses : u8 { None, OfWhatMayChange, All };

/// The regions of a launch. Immutable while it runs, but for what `find_region` adds and for the record of over-reads,
/// which are locked.
class Memory {
 public:
  /// Regions may overlap: bytes that any writable region covers are writable. The first `arguments` of them are what
  /// the launch was given, which is what messages compare wild addresses with. `trace` may be nullptr,
  /// `find_region` empty. `watched`: which accesses somebody wants to see. Throws ValueError where a region ends past
  /// the last address.
  Memory(std::vector<Region> regions, size_t arguments, bool strict, AccessTrace* trace, FindRegion find_region,
         WatchedAccesses watched);

  /// Whether all of it lies in one region (writable, for a write), so that it can be accessed as it is. Never where
  /// accesses are traced, nor those that are watched.
  bool covers(AddressSpan span, bool write) const { return covering(span, write) != nullptr; }
  /// That region, or nullptr.
  const Region* covering(AddressSpan span, bool write) const {
    if (!is_direct_ && (write || !constants_are_direct_)) [[unlikely]]
      return nullptr;
    const Region* region = around(span);
    const bool may = region != nullptr && (is_direct_ ? !write || region->writable : !region->writable);
    return may ? region : nullptr;
  }
  /// The same where accesses are watched, by who is told of them then.
  bool covers_watched(AddressSpan span, bool write) const { return trace_ == nullptr && lies_in_region(span, write); }

  /// Whether all of it lies in one region that nobody may write.
  bool is_constant(AddressSpan span) const {
    const Region* region = around(span);
    return region != nullptr && !region->writable;
  }

  /// Whether read() copies this byte, rather than to take it for zero.
  bool has(u64 address) const { return find(address) != nullptr; }

  /// Whether the launch has been given this byte, or has found it. Asks nobody, and locks nothing.
  bool has_region(u64 address) const noexcept;

  /// "memory, 8 bytes from the beginning of argument 2 'c' (float32 [64])".
  std::string name_of(u64 address) const;

  /// Copies bytes for `lane`. Those past a region's end but within kOverRead read as zero and are recorded, and so are
  /// those of a dword of which a region has others. Throws Fault.
  void read(AddressSpan span, void* to, int lane) const;
  /// Throws Fault where any byte is outside of the writable regions; nothing is written then.
  void write(AddressSpan span, const void* from, int lane) const;
  /// Throws Fault where write() would.
  void check_write(AddressSpan span, int lane) const;
  /// Where an atomic may work. `serves_parts`: it may be one that a compiler made for a part of a dword, which a region
  /// may have without the rest. Throws Fault.
  AtomicTarget atomic(AddressSpan span, bool serves_parts, int lane) const;

  /// Whether a read that ends so many bytes past the end of what has this name is forgiven, where `most` are. Records
  /// it then.
  bool forgive(AddressSpan span, u64 past, u64 most, const std::string& name, int lane) const;
  /// Throws Fault for an access that is not allowed.
  [[noreturn]] void refuse(AddressSpan span, bool write, int lane) const;

  /// What was read past the end of regions, a line each.
  std::vector<std::string> over_reads() const;

  const std::vector<Region>& regions() const { return regions_; }

 private:
  /// What find_region has found, as a list that is read without a lock.
  struct More {
    Region region;
    const More* next;
  };

  bool lies_in_region(AddressSpan span, bool write) const {
    const Region* region = around(span);
    return region != nullptr && (!write || region->writable);
  }
  /// The region in which all of it lies, or nullptr.
  const Region* around(AddressSpan span) const {
    const Region* region = find(span.begin());
    return region != nullptr && region->bytes.contains(span) ? region : nullptr;
  }
  const Region* find(u64 address) const;
  /// The last of regions_ that does not begin after `address`, or nullptr.
  const Region* before(u64 address) const;
  const Region* find_more(u64 address) const;
  /// What find_region has found already.
  const Region* known_more(u64 address) const noexcept;
  /// The last of those that does not begin after `address`, or nullptr.
  const Region* more_before(u64 address) const noexcept;
  const Region* nearest(u64 address) const;
  bool forgive_part_of_dword(AddressSpan span, int lane) const;
  bool is_first_over_read(const std::string& name) const;
  void record(std::string over_read) const;
  AtomicTarget atomic_part(AddressSpan span, int lane) const;

  std::vector<Region> regions_;  ///< sorted and disjoint
  std::vector<Region> named_;    ///< as given, for messages
  size_t arguments_;             ///< how many of them were given to the launch
  bool strict_;
  FindRegion find_region_;
  AccessTrace* trace_;
  const bool is_direct_;             ///< nobody wants to see accesses
  const bool constants_are_direct_;  ///< ... of what cannot change
  mutable std::atomic<const More*> newest_{nullptr};
  mutable std::mutex mutex_;      ///< guards what follows
  mutable std::list<More> more_;  ///< owns what newest_ leads to
  mutable std::vector<std::string> over_read_names_;
  mutable std::vector<std::string> over_reads_;
};

}  // namespace wave::emulator
