#include "emulator/mapped_memory.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace wave::emulator {

MappedMemory::MappedMemory(uint64_t size) {
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  void* const all = mmap(nullptr, kDistance + size + kDistance, PROT_READ | PROT_WRITE, kFlags, -1, 0);
  if (all == MAP_FAILED) return;
  begin_ = static_cast<uint8_t*>(all) + kDistance;
  size_ = size;
}

MappedMemory::MappedMemory(uint64_t size, const char* what) : MappedMemory(size) {
  if (is_empty()) throw RuntimeError(text("no memory for ", what, " (", size, " bytes): ", std::strerror(errno)));
}

MappedMemory& MappedMemory::operator=(MappedMemory&& other) noexcept {
  std::swap(begin_, other.begin_);
  std::swap(size_, other.size_);
  return *this;
}

MappedMemory::~MappedMemory() {
  if (!is_empty()) munmap(begin_ - kDistance, kDistance + size_ + kDistance);
}

}  // namespace wave::emulator
