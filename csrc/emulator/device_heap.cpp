#include "emulator/device_heap.h"

#include <sys/mman.h>

#include <memory>

#include "base/error.h"
#include "base/round_up.h"

namespace wave::emulator {

namespace {

constexpr u64 kLeast = u64{8} << 20;  ///< of address space, where the process has little
constexpr u64 kShare = 4;             ///< of what it has left then, one part of so many
constexpr u64 kRecord = 128 << 10;    ///< as ROCm's runtime allocates it
constexpr u64 kHeapPage = 4096, kLargePage = 2 << 20;

Lazy<std::unique_ptr<DeviceHeap>>& heap = *new Lazy<std::unique_ptr<DeviceHeap>>();

}  // namespace

DeviceHeap& DeviceHeap::get() {
  return *heap.get([] { return std::unique_ptr<DeviceHeap>(new DeviceHeap); });
}

DeviceHeap::DeviceHeap() {
  memory_ = MappedMemory(kSize);
  for (u64 left = kSize / 2; memory_.is_empty() && left / kShare >= kLeast; left /= 2) {
    if (!MappedMemory(left).is_empty()) memory_ = MappedMemory(left / kShare);
  }
  if (memory_.is_empty()) return;
  madvise(memory_.begin(), memory_.span().size(), MADV_DONTDUMP);
  next_ = record() + kRecord;
}

u64 DeviceHeap::allocate(u64 size) {
  const u64 address = size == 0 ? 0 : find_room(size);
  if (size != 0 && address == 0) has_refused_.store(true, std::memory_order_relaxed);
  return address;
}

std::string DeviceHeap::shortage() const {
  if (memory_.is_empty()) return "the process has no address space left for the heap of malloc in kernels (ulimit -v)";
  if (!has_refused_.load(std::memory_order_relaxed)) return "";
  const u64 size = memory_.span().size();
  return text("malloc in kernels has returned null, since its heap of ", size >> 20, " MiB has no more room",
              size < kSize ? " (ulimit -v leaves the process no more)" : "");
}

u64 DeviceHeap::find_room(u64 size) {
  const AddressSpan all = memory_.span();
  if (size > all.size()) return 0;
  const u64 alignment = size < kLargePage ? kHeapPage : kLargePage, rounded = round_up(size, alignment);
  std::lock_guard lock(mutex_);
  u64 address = 0;
  if (std::vector<u64>& blocks = freed_blocks_[rounded]; !blocks.empty()) {
    address = blocks.back();
    blocks.pop_back();
  } else {
    address = round_up(next_, alignment);
    if (address >= all.end() || rounded > all.end() - address) return 0;
    next_ = address + rounded;
  }
  sizes_[address] = rounded;
  return address;
}

bool DeviceHeap::free(u64 address) {
  std::lock_guard lock(mutex_);
  const auto found = sizes_.find(address);
  if (found == sizes_.end()) return false;
  madvise(reinterpret_cast<void*>(address), found->second, MADV_DONTNEED);
  freed_blocks_[found->second].push_back(address);
  sizes_.erase(found);
  return true;
}

}  // namespace wave::emulator
