#include "emulator/mapped_memory.h"

#include <sys/mman.h>

#include <utility>

namespace wave::emulator {

MappedMemory::MappedMemory(uint64_t size) : size_(size) {
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  void* const all = mmap(nullptr, kDistance + size + kDistance, PROT_READ | PROT_WRITE, kFlags, -1, 0);
  if (all != MAP_FAILED) begin_ = static_cast<uint8_t*>(all) + kDistance;
}

MappedMemory& MappedMemory::operator=(MappedMemory&& other) noexcept {
  std::swap(begin_, other.begin_);
  std::swap(size_, other.size_);
  return *this;
}

MappedMemory::~MappedMemory() {
  if (begin_ != nullptr) munmap(begin_ - kDistance, kDistance + size_ + kDistance);
}

}  // namespace wave::emulator
