#include "hip_emulator/device_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <mutex>

#include "base/error.h"
#include "emulator/process_memory.h"
#include "hip_emulator/errors.h"

namespace wave::hip_emulator {

namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kGuard = uint64_t{64} << 10;

}  // namespace

MemoryRange Allocation::range() const {
  return {begin, begin + size, true, text(host ? "the hipHostMalloc at " : "the hipMalloc at ", hex(begin))};
}

void* Allocations::allocate(uint64_t size, int device, bool host) {
  if (size > memory_size()) throw Failure(hipErrorOutOfMemory);
  const uint64_t pages = (size + kPage - 1) / kPage * kPage;
  const uint64_t reserved = pages + 2 * kGuard;
  void* begin = mmap(nullptr, reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (begin == MAP_FAILED) throw Failure(hipErrorOutOfMemory);
  char* usable = static_cast<char*>(begin) + kGuard;
  if (mprotect(usable, pages, PROT_READ | PROT_WRITE) != 0) {
    munmap(begin, reserved);
    throw Failure(hipErrorOutOfMemory);
  }
  std::unique_lock lock(mutex_);
  const uint64_t at = reinterpret_cast<uint64_t>(begin);
  by_reservation_[at] = {reinterpret_cast<uint64_t>(usable), size, device, host, at, reserved};
  used_ += pages;
  return usable;
}

bool Allocations::free(void* pointer) {
  std::unique_lock lock(mutex_);
  const auto found = by_reservation_.find(reinterpret_cast<uint64_t>(pointer) - kGuard);
  if (found == by_reservation_.end()) return false;
  const Allocation allocation = found->second;
  by_reservation_.erase(found);
  used_ -= allocation.reserved_size - 2 * kGuard;
  munmap(reinterpret_cast<void*>(allocation.reserved_begin), allocation.reserved_size);
  return true;
}

const Allocation* Allocations::reservation(uint64_t address) const {
  auto after = by_reservation_.upper_bound(address);
  if (after == by_reservation_.begin()) return nullptr;
  const Allocation& allocation = (--after)->second;
  return address - allocation.reserved_begin < allocation.reserved_size ? &allocation : nullptr;
}

std::optional<Allocation> Allocations::find(uint64_t address) const {
  std::shared_lock lock(mutex_);
  const Allocation* allocation = reservation(address);
  return allocation != nullptr && allocation->contains(address) ? std::optional(*allocation) : std::nullopt;
}

std::optional<MemoryRange> Allocations::accessible(uint64_t address) const {
  std::shared_lock lock(mutex_);
  const Allocation* allocation = reservation(address);
  if (allocation == nullptr) return emulator::find_mapping(address);
  return allocation->contains(address) ? std::optional(allocation->range()) : std::nullopt;
}

uint64_t Allocations::used() const {
  std::shared_lock lock(mutex_);
  return used_;
}

uint64_t memory_size() {
  return static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace wave::hip_emulator
