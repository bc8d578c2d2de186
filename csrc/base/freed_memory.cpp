#include "base/freed_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <iterator>
#include <mutex>
#include <shared_mutex>
#include <utility>

#include "base/error.h"
#include "base/process_memory.h"

namespace wave {

namespace {

FreedMemory& all_freed = *new FreedMemory;

constexpr size_t kMostBlocks = 4096;
constexpr uint64_t kMostBytes = uint64_t{1} << 30;

/// Keeps the addresses alone, where it is worth a call of the kernel.
void give_pages_back(AddressSpan bytes) {
  constexpr uint64_t kPage = 4096, kFew = 16;
  const uint64_t begin = (bytes.begin() + kPage - 1) / kPage * kPage, end = bytes.end() / kPage * kPage;
  if (end > begin + kFew * kPage) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

}  // namespace

FreedMemory& FreedMemory::of_process() { return all_freed; }

void FreedMemory::add(AddressSpan bytes, Release release) {
  void* const begin = reinterpret_cast<void*>(bytes.begin());
  if (bytes.is_empty() || bytes.size() > kMostBytes) return release(begin);
  give_pages_back(bytes);
  std::deque<std::pair<uint64_t, Release>> oldest;
  {
    const std::lock_guard lock(mutex_);
    blocks_[bytes.begin()] = {bytes.size(), release};
    order_.push_back(bytes.begin());
    size_ += bytes.size();
    is_empty_.store(false, std::memory_order_release);
    while (is_too_much()) {
      const auto block = blocks_.find(order_.front());
      oldest.emplace_back(block->first, block->second.release);
      size_ -= block->second.size;
      blocks_.erase(block);
      order_.pop_front();
    }
  }
  for (const auto& [address, give_back] : oldest) give_back(reinterpret_cast<void*>(address));
}

bool FreedMemory::is_too_much() const { return size_ > kMostBytes || blocks_.size() > kMostBlocks; }

void FreedMemory::clear() {
  std::map<uint64_t, Block> blocks;
  {
    const std::lock_guard lock(mutex_);
    blocks.swap(blocks_);
    order_.clear();
    size_ = 0;
    is_empty_.store(true, std::memory_order_release);
  }
  for (const auto& [address, block] : blocks) block.release(reinterpret_cast<void*>(address));
}

const std::pair<const uint64_t, FreedMemory::Block>* FreedMemory::block_at(uint64_t address) const {
  const auto after = blocks_.upper_bound(address);
  if (after == blocks_.begin()) return nullptr;
  const auto& block = *std::prev(after);
  return AddressSpan(block.first, block.second.size).contains(address) ? &block : nullptr;
}

std::optional<MemoryRange> FreedMemory::at(uint64_t address) const {
  if (is_empty_.load(std::memory_order_acquire)) return std::nullopt;
  const std::shared_lock lock(mutex_);
  const auto* const block = block_at(address);
  if (block == nullptr) return std::nullopt;
  const AddressSpan bytes(block->first, block->second.size);
  return MemoryRange{bytes, false, text("a tensor's memory of ", bytes.size(), " bytes, which was freed"), false};
}

std::optional<MemoryRange> FreedMemory::find_mapping_besides(uint64_t address) const {
  if (is_empty_.load(std::memory_order_acquire)) return find_mapping(address);
  const std::shared_lock lock(mutex_);
  if (block_at(address) != nullptr) return std::nullopt;
  std::optional<MemoryRange> mapping = find_mapping(address);
  if (!mapping) return std::nullopt;
  uint64_t begin = mapping->bytes.begin(), end = mapping->bytes.end();
  const auto after = blocks_.upper_bound(address);
  if (after != blocks_.end()) end = std::min(end, after->first);
  if (after != blocks_.begin()) {
    const auto& [from, block] = *std::prev(after);
    begin = std::max(begin, from + block.size);
  }
  mapping->bytes = AddressSpan::up_to(begin, end);
  return mapping;
}

}  // namespace wave
