#include "hip_emulator/device_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <mutex>
#include <utility>

#include "base/error.h"
#include "base/freed_memory.h"
#include "base/process_memory.h"
#include "base/sanitizer.h"
#include "base/unwritten_memory.h"
#include "hip_emulator/errors.h"
#include "hip_emulator/stream_order.h"

namespace wave::hip_emulator {

namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kGuard = uint64_t{64} << 10;
// Each page costs a quarter of a microsecond when it is first touched, and one of 2 MB less than eight small ones. More
// memory than that may be meant to be touched here and there alone.
constexpr uint64_t kLeastInLargePages = uint64_t{2} << 20, kMostInLargePages = uint64_t{256} << 20;
constexpr uint64_t kAddresses = uint64_t{1} << 47;  ///< that a process has

// Linux gives a process 65,530 mappings (vm.max_map_count), and an allocation takes two, its pages and those around
// them. Larger ones are never so many.
constexpr size_t kMostMapped = 16'384;
constexpr uint64_t kMostShared = uint64_t{1} << 20;

// Of freed allocations whose addresses are kept: a mapping each, and addresses, which `ulimit -v` may count.
constexpr size_t kMostFreed = 1024;
constexpr uint64_t kMostFreedSize = uint64_t{64} << 30;

constexpr int kReserved = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

/// The last entry that begins at or before `address`.
const Allocation* at_or_before(const std::map<uint64_t, Allocation>& allocations, uint64_t address) {
  const auto after = allocations.upper_bound(address);
  return after == allocations.begin() ? nullptr : &std::prev(after)->second;
}

/// Whether somebody looks for what nobody has written.
bool finds_undefined() {
  const std::shared_ptr<Sanitizer> sanitizer = Sanitizer::active();
  return sanitizer != nullptr && (sanitizer->options.tools & kUninitializedTool) != 0;
}

/// Whether the process has mapped all of it, to read and to write.
bool is_writable(AddressSpan bytes) {
  for (uint64_t address = bytes.begin(); address < bytes.end();) {
    const std::optional<MemoryRange> mapping = find_mapping(address);
    if (!mapping || !mapping->writable) return false;
    address = mapping->bytes.end();
  }
  return true;
}

/// Addresses with pages between guards. Throws Failure where there is no memory.
uint64_t map(uint64_t reserved) {
  void* const begin = mmap(nullptr, reserved, PROT_NONE, kReserved, -1, 0);
  if (begin == MAP_FAILED) throw Failure(hipErrorOutOfMemory);
  char* const usable = static_cast<char*>(begin) + kGuard;
  const uint64_t pages = reserved - 2 * kGuard;
  if (mprotect(usable, pages, PROT_READ | PROT_WRITE) != 0) {
    munmap(begin, reserved);
    throw Failure(hipErrorOutOfMemory);
  }
  if (pages >= kLeastInLargePages && pages <= kMostInLargePages) (void)madvise(usable, pages, MADV_HUGEPAGE);
  return reinterpret_cast<uint64_t>(begin);
}

}  // namespace

MemoryRange Allocation::range() const {
  static constexpr const char* kNames[] = {"hipMalloc", "hipHostMalloc", "hipMallocManaged"};
  const std::string name = variable.empty() ? text("the ", kNames[static_cast<int>(kind)], " at ", hex(begin))
                                            : text("the variable '", variable, "'");
  if (is_freed) return {bytes(), false, text(name, " of ", size, " bytes, which was freed"), false};
  return {bytes(), true, name};
}

uint32_t Allocation::next_id() {
  static std::atomic<uint32_t> next{1};
  return next++;
}

void* Allocations::allocate(uint64_t size, int device, AllocationKind kind, unsigned flags,
                            std::shared_ptr<PoolUse> pool) {
  const bool may_be_more = kind == AllocationKind::Managed;  // than there is: pages are there when they are touched
  if (size > (may_be_more ? kAddresses : memory_size())) throw Failure(hipErrorOutOfMemory);
  const uint64_t pages = (size + kPage - 1) / kPage * kPage;
  const uint64_t reserved = pages + 2 * kGuard;
  const uint64_t shared = pages <= kMostShared ? take_shared(reserved) : 0;
  const uint64_t begin = shared != 0 ? shared : map(reserved);
  const uint64_t usable = begin + kGuard;
  if (finds_undefined()) UnwrittenMemory::of_process().add({usable, size});
  std::unique_lock lock(mutex_);
  if (shared == 0) ++mapped_;
  if (pool != nullptr) pool->high = std::max<uint64_t>(pool->high, pool->current += size);
  by_reservation_[begin] = {.begin = usable,
                            .size = size,
                            .device = device,
                            .kind = kind,
                            .reserved_begin = begin,
                            .reserved_size = reserved,
                            .is_shared = shared != 0,
                            .flags = flags,
                            .pool = std::move(pool),
                            .advice = kind == AllocationKind::Managed ? std::make_shared<PageAdvice>() : nullptr};
  used_ += pages;
  return reinterpret_cast<void*>(usable);
}

/// So many bytes where there are many allocations already, or else 0.
uint64_t Allocations::take_shared(uint64_t reserved) {
  std::unique_lock lock(mutex_);
  return mapped_ < kMostMapped ? 0 : shared_.take(reserved);
}

const Allocation* Allocations::own(const void* pointer) const {
  const auto found = by_reservation_.find(reinterpret_cast<uint64_t>(pointer) - kGuard);
  return found == by_reservation_.end() ? nullptr : &found->second;
}

bool Allocations::free(void* pointer) {
  std::unique_lock lock(mutex_);
  Allocation* const allocation = own(pointer);
  if (allocation == nullptr || allocation->is_freed) return false;
  UnwrittenMemory::of_process().remove(allocation->begin);
  stream_order().forget(allocation->bytes());
  const uint64_t pages = allocation->reserved_size - 2 * kGuard;
  void* const begin = reinterpret_cast<void*>(allocation->reserved_begin);
  if (allocation->is_shared) {
    SharedPages::empty({allocation->begin, pages});
  } else if (mmap(begin, allocation->reserved_size, PROT_NONE, kReserved | MAP_FIXED, -1, 0) == MAP_FAILED) {
    throw Failure(hipErrorOutOfMemory, "out of mappings");
  }
  used_ -= pages;
  allocation->is_freed = true;
  if (allocation->pool != nullptr) allocation->pool->current -= allocation->size;
  if (!allocation->is_reserved) keep_for_a_while(*allocation);
  return true;
}

void Allocations::keep_for_a_while(const Allocation& allocation) {
  freed_.push_back(allocation.reserved_begin);
  freed_size_ += allocation.reserved_size;
  while (freed_.size() > kMostFreed || freed_size_ > kMostFreedSize) forget_oldest_freed();
}

void* Allocations::reserve(uint64_t size, int device, std::shared_ptr<PoolUse> pool) {
  void* const pointer = allocate(size, device, AllocationKind::Device);
  {
    std::unique_lock lock(mutex_);
    own(pointer)->is_reserved = true;
  }
  free(pointer);
  std::unique_lock lock(mutex_);
  own(pointer)->pool = std::move(pool);
  return pointer;
}

bool Allocations::restore(void* pointer) {
  std::unique_lock lock(mutex_);
  Allocation* const allocation = own(pointer);
  if (allocation == nullptr || !allocation->is_freed) return false;
  const uint64_t pages = allocation->reserved_size - 2 * kGuard;
  if (mprotect(pointer, pages, PROT_READ | PROT_WRITE) != 0) throw Failure(hipErrorOutOfMemory);
  if (finds_undefined()) UnwrittenMemory::of_process().add(allocation->bytes());
  used_ += pages;
  allocation->is_freed = false;
  PoolUse& use = *allocation->pool;
  use.high = std::max<uint64_t>(use.high, use.current += allocation->size);
  return true;
}

void Allocations::abandon(void* pointer) {
  std::unique_lock lock(mutex_);
  Allocation* const allocation = own(pointer);
  allocation->is_reserved = false;
  if (allocation->is_freed) keep_for_a_while(*allocation);
}

std::optional<Allocation> Allocations::reserved_at(uint64_t address) const {
  std::shared_lock lock(mutex_);
  const Allocation* const allocation = reservation(address);
  const bool is_found = allocation != nullptr && allocation->is_reserved && allocation->bytes().contains(address);
  return is_found ? std::optional(*allocation) : std::nullopt;
}

void Allocations::promise(void* pointer, bool is_there) {
  std::unique_lock lock(mutex_);
  if (Allocation* const allocation = own(pointer)) allocation->is_promised = is_there;
}

bool Allocations::is_promised(void* pointer) const {
  std::shared_lock lock(mutex_);
  const Allocation* const allocation = own(pointer);
  return allocation != nullptr && allocation->is_promised;
}

void Allocations::leave(void* pointer) {
  std::unique_lock lock(mutex_);
  if (Allocation* const allocation = own(pointer); allocation != nullptr && !allocation->is_reserved)
    allocation->is_leaving = true;
}

void Allocations::forget_oldest_freed() {
  const auto oldest = by_reservation_.find(freed_.front());
  const uint64_t size = oldest->second.reserved_size;
  if (oldest->second.is_shared) {
    shared_.give_back({oldest->first, size});
  } else {
    munmap(reinterpret_cast<void*>(oldest->first), size);
    --mapped_;
  }
  freed_size_ -= size;
  by_reservation_.erase(oldest);
  freed_.pop_front();
}

const Allocation* Allocations::reservation(uint64_t address) const {
  const Allocation* found = at_or_before(by_reservation_, address);
  if (found == nullptr) return nullptr;
  return AddressSpan(found->reserved_begin, found->reserved_size).contains(address) ? found : nullptr;
}

const Allocation* Allocations::besides(uint64_t address) const {
  const Allocation* found = at_or_before(besides_, address);
  return found != nullptr && found->bytes().contains(address) ? found : nullptr;
}

void Allocations::add(void* pointer, uint64_t size, int device, unsigned flags) {
  const AddressSpan bytes(reinterpret_cast<uint64_t>(pointer), size);
  require(size <= ~uint64_t{0} - bytes.begin());
  std::unique_lock lock(mutex_);
  const uint64_t last = bytes.begin() + size - 1;
  const Allocation* before = at_or_before(besides_, last);
  const auto is_allocated = [this](uint64_t address) {
    const Allocation* allocation = reservation(address);
    return allocation != nullptr && !allocation->is_freed;
  };
  const bool overlaps = before != nullptr && before->bytes().end() > bytes.begin();
  require(!overlaps && !is_allocated(bytes.begin()) && !is_allocated(last), hipErrorHostMemoryAlreadyRegistered);
  require(is_writable(bytes), hipErrorInvalidValue, "the process has no such memory, or may not write it");
  besides_[bytes.begin()] = {.begin = bytes.begin(),
                             .size = size,
                             .device = device,
                             .kind = AllocationKind::Host,
                             .reserved_begin = bytes.begin(),
                             .reserved_size = size,
                             .is_registered = true,
                             .flags = flags};
}

bool Allocations::remove(void* pointer) {
  std::unique_lock lock(mutex_);
  const auto found = besides_.find(reinterpret_cast<uint64_t>(pointer));
  if (found == besides_.end() || !found->second.is_registered) return false;
  besides_.erase(found);
  return true;
}

void Allocations::add_variable(const std::string& name, AddressSpan bytes, int device) {
  std::unique_lock lock(mutex_);
  besides_.try_emplace(bytes.begin(), Allocation{.begin = bytes.begin(),
                                                 .size = bytes.size(),
                                                 .device = device,
                                                 .kind = AllocationKind::Device,
                                                 .reserved_begin = bytes.begin(),
                                                 .reserved_size = bytes.size(),
                                                 .variable = name});
}

void Allocations::remove_variables(AddressSpan bytes) {
  std::unique_lock lock(mutex_);
  besides_.erase(besides_.lower_bound(bytes.begin()), besides_.lower_bound(bytes.end()));
}

std::optional<Allocation> Allocations::find(uint64_t address) const {
  std::shared_lock lock(mutex_);
  const Allocation* allocation = reservation(address);
  if (allocation == nullptr) allocation = besides(address);
  if (allocation == nullptr || allocation->is_freed || !allocation->bytes().contains(address)) return std::nullopt;
  return *allocation;
}

bool Allocations::was_freed(uint64_t address) const {
  std::shared_lock lock(mutex_);
  const Allocation* allocation = reservation(address);
  return allocation != nullptr && allocation->is_freed;
}

bool Allocations::is_beside(uint64_t address) const {
  std::shared_lock lock(mutex_);
  const Allocation* allocation = reservation(address);
  return allocation != nullptr && !allocation->bytes().contains(address);
}

std::optional<MemoryRange> Allocations::at(uint64_t address) const {
  std::shared_lock lock(mutex_);
  const Allocation* allocation = reservation(address);
  if (allocation == nullptr) {
    return shared_.contains(address) ? std::nullopt : FreedMemory::of_process().find_mapping_besides(address);
  }
  return allocation->bytes().contains(address) ? std::optional(allocation->range()) : std::nullopt;
}

std::optional<MemoryRange> Allocations::exactly_at(uint64_t address) const {
  if (const auto allocation = find(address)) return allocation->range();
  std::optional<MemoryRange> range = at(address);
  if (range && !range->readable) return range;
  std::shared_lock lock(mutex_);
  const Allocation* const before = at_or_before(besides_, address);
  if (before != nullptr && before->bytes().contains(address)) return before->range();  // since find() has looked
  std::string place;
  if (before != nullptr && !before->variable.empty() && address - before->bytes().end() < kPage) {
    place = text("behind the variable '", before->variable, "' of ", before->size, " bytes ");
    range = MemoryRange{AddressSpan(address / kPage * kPage, kPage), {}, {}};
  }
  if (!range) return std::nullopt;
  // Who asks keeps it for its other addresses: what is registered in the same mapping is no part of it.
  uint64_t begin = range->bytes.begin(), end = range->bytes.end();
  if (before != nullptr) begin = std::max(begin, before->bytes().end());
  if (const auto after = besides_.upper_bound(address); after != besides_.end())
    end = std::min(end, after->second.begin);
  range->bytes = AddressSpan::up_to(begin, end);
  range->name = text("memory ", place, "that HIP did not allocate, which WAVE_RUNTIME_EMULATOR_BOUNDS=exact forbids");
  range->readable = range->writable = false;
  range->why_unreadable = "out-of-bounds";
  return range;
}

uint64_t Allocations::used() const {
  std::shared_lock lock(mutex_);
  return used_;
}

uint64_t memory_size() {
  return static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace wave::hip_emulator
