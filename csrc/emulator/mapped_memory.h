// Memory that kernels see beside tensors: a code object's, and what kernels print to.
#pragma once

#include <cstdint>

namespace wave::emulator {

/// Zeros, of which only pages that are written take memory. Nothing else lies near, so that what a kernel accesses
/// behind the end of a tensor, or before its begin, is found to be out of bounds, rather than here.
class MappedMemory {
 public:
  static constexpr uint64_t kDistance = uint64_t{1} << 20;  ///< bytes on either side in which nothing else lies

  MappedMemory() = default;
  explicit MappedMemory(uint64_t size);
  MappedMemory(const MappedMemory&) = delete;
  MappedMemory& operator=(const MappedMemory&) = delete;
  MappedMemory(MappedMemory&& other) noexcept { *this = static_cast<MappedMemory&&>(other); }
  MappedMemory& operator=(MappedMemory&& other) noexcept;
  ~MappedMemory();

  /// At the begin of a page; nullptr where the process had none to give, as errno tells.
  uint8_t* begin() const { return begin_; }
  uint64_t size() const { return size_; }

 private:
  uint8_t* begin_ = nullptr;
  uint64_t size_ = 0;
};

}  // namespace wave::emulator
