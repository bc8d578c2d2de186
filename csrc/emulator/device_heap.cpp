#include "emulator/device_heap.h"

#include <sys/mman.h>

#include <memory>

namespace wave::emulator {

namespace {

constexpr u64 kRecord = 128 << 10;  ///< as ROCm's runtime allocates it
constexpr u64 kPage = 4096, kLargePage = 2 << 20;

u64 rounded_up(u64 value, u64 to) { return (value + to - 1) / to * to; }

Lazy<std::unique_ptr<DeviceHeap>>& heap = *new Lazy<std::unique_ptr<DeviceHeap>>();

}  // namespace

DeviceHeap& DeviceHeap::get() {
  return *heap.get([] { return std::unique_ptr<DeviceHeap>(new DeviceHeap); });
}

DeviceHeap::DeviceHeap() {
  void* const memory = mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return;
  madvise(memory, kSize, MADV_DONTDUMP);
  begin_ = reinterpret_cast<u64>(memory);
  end_ = begin_ + kSize;
  next_ = begin_ + kRecord;
}

u64 DeviceHeap::allocate(u64 size) {
  if (size == 0 || size > end_ - begin_) return 0;
  const u64 alignment = size < kLargePage ? kPage : kLargePage, rounded = rounded_up(size, alignment);
  std::lock_guard lock(mutex_);
  u64 address = 0;
  if (std::vector<u64>& blocks = freed_blocks_[rounded]; !blocks.empty()) {
    address = blocks.back();
    blocks.pop_back();
  } else {
    address = rounded_up(next_, alignment);
    if (address >= end_ || rounded > end_ - address) return 0;
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
