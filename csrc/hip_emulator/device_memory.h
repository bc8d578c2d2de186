// Memory that programs allocate, and what else kernels may touch.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <span>
#include <string>
#include <utility>

#include "base/memory_range.h"
#include "hip_emulator/page_advice.h"
#include "hip_emulator/shared_pages.h"

namespace wave::hip_emulator {

/// How much of a memory pool is in use, in bytes.
struct PoolUse {
  std::atomic<uint64_t> current{0};
  std::atomic<uint64_t> high{0};
};

/// The function that made it: hipMalloc, hipHostMalloc or hipHostRegister, hipMallocManaged.
enum class AllocationKind { Device, Host, Managed };

struct Allocation {
  uint64_t begin;
  uint64_t size;
  int device;
  AllocationKind kind;
  uint64_t reserved_begin;
  uint64_t reserved_size;
  bool is_shared = false;  ///< lies in SharedPages
  bool is_freed = false;
  bool is_reserved = false;              ///< a graph's: the memory comes and goes, and the addresses stay
  bool is_promised = false;              ///< of such: will be there when the streams have done what they were given
  bool is_leaving = false;               ///< hipFreeAsync was given it: what is asked of it from then on is an error
  bool is_registered = false;            ///< by hipHostRegister: the process's own
  unsigned flags = 0;                    ///< of hipHostRegister and hipHostMalloc
  std::string variable{};                ///< its name, where it is a variable of a module
  std::shared_ptr<PoolUse> pool{};       ///< that it is of, nullptr where it is of none
  std::shared_ptr<PageAdvice> advice{};  ///< of managed memory; else nullptr
  uint32_t id = next_id();               ///< of which there is one only, as far as 32 bits go

  AddressSpan bytes() const { return {begin, size}; }
  MemoryRange range() const;
  static uint32_t next_id();
};

/// All allocations of the process. Each lies alone between pages that nobody may touch, so that an access past its end
/// never meets something else. Where there are very many, those pages are kept from kernels and from HIP's functions
/// alone. Thread-safe.
class Allocations {
 public:
  /// Throws Failure where there is no memory.
  void* allocate(uint64_t size, int device, AllocationKind kind, unsigned flags = 0,
                 std::shared_ptr<PoolUse> pool = nullptr);
  /// Gives the pages back, and keeps their addresses for a while, so that what touches them later meets nothing else.
  /// False where `pointer` is not of allocate(), or was freed.
  bool free(void* pointer);

  /// Addresses at which there is memory between restore() and free(), until abandon(). restore() says false where it is
  /// there already.
  void* reserve(uint64_t size, int device, std::shared_ptr<PoolUse> pool);
  bool restore(void* pointer);
  void abandon(void* pointer);
  /// The allocation of reserve() that contains this address, whether there is memory now or not.
  std::optional<Allocation> reserved_at(uint64_t address) const;
  /// Notes whether memory of reserve() will be there.
  void promise(void* pointer, bool is_there);
  bool is_promised(void* pointer) const;
  /// A stream will free the memory.
  void leave(void* pointer);

  /// Makes memory that the process has mapped already a host allocation until remove(), which says false where none
  /// begins at `pointer`. Throws Failure where the process may not write it, and where it overlaps an allocation.
  void add(void* pointer, uint64_t size, int device, unsigned flags);
  bool remove(void* pointer);

  /// Makes the variables of a module, which are memory of its own, memory of the device, until they are removed: all
  /// that begin in these bytes.
  void add_variable(const std::string& name, AddressSpan bytes, int device);
  void remove_variables(AddressSpan bytes);

  /// The allocation that contains this address; none that was freed.
  std::optional<Allocation> find(uint64_t address) const;
  /// Calls `visit` with the allocations that numbers among these bytes are addresses in, at each multiple of `step`.
  template <class Visit>
  void visit_pointed_to(std::span<const uint8_t> bytes, size_t step, const Visit& visit) const {
    constexpr uint64_t kEndOfUserSpace = uint64_t{1} << 56;  // of any processor; most floats are beyond
    for (size_t at = 0; at + sizeof(uint64_t) <= bytes.size(); at += step) {
      uint64_t address = 0;
      std::memcpy(&address, &bytes[at], sizeof(address));
      if (address == 0 || address >= kEndOfUserSpace) continue;
      if (const auto allocation = find(address)) visit(*allocation);
    }
  }
  bool was_freed(uint64_t address) const;
  /// Whether the address lies in the pages of an allocation, but not in it.
  bool is_beside(uint64_t address) const;

  /// What is at `address` for a kernel: an allocation, which it may touch unless it was freed, or else memory that the
  /// process has mapped itself, with its permissions. Nothing between the two: the pages around allocations belong to
  /// nobody.
  std::optional<MemoryRange> at(uint64_t address) const;
  /// The same, but that memory which the process has mapped itself may not be touched, unless it is registered.
  std::optional<MemoryRange> exactly_at(uint64_t address) const;

  uint64_t used() const;

 private:
  const Allocation* own(const void* pointer) const;
  Allocation* own(const void* pointer) { return const_cast<Allocation*>(std::as_const(*this).own(pointer)); }
  void keep_for_a_while(const Allocation& allocation);
  const Allocation* reservation(uint64_t address) const;
  const Allocation* besides(uint64_t address) const;
  void forget_oldest_freed();
  uint64_t take_shared(uint64_t reserved);

  mutable std::shared_mutex mutex_;
  std::map<uint64_t, Allocation> by_reservation_;
  std::map<uint64_t, Allocation> besides_;  ///< what others have allocated: add(), add_variable(); by their beginnings
  size_t mapped_ = 0;                       ///< how many have mappings of their own
  SharedPages shared_;                      ///< of the others
  uint64_t used_ = 0;
  std::deque<uint64_t> freed_;  ///< their keys in by_reservation_, the oldest first
  uint64_t freed_size_ = 0;
};

/// Bytes of the host's memory, which is the device's.
uint64_t memory_size();

}  // namespace wave::hip_emulator
