// Memory that kernels see beside tensors: a code object's, and what kernels print to.
#pragma once

#include <cstdint>

#include "base/address_span.h"

namespace wave::emulator {

/// Zeros, of which only pages that are written take memory. Nothing else lies near, so that what a kernel accesses
/// behind the end of a tensor, or before its begin, is found to be out of bounds, rather than here.
class MappedMemory {
 public:
  MappedMemory() = default;
  /// Empty where the process has so much not to give, as errno tells.
  explicit MappedMemory(uint64_t size);
  /// Throws RuntimeError there, which says what it is for.
  MappedMemory(uint64_t size, const char* what);
  MappedMemory(const MappedMemory&) = delete;
  MappedMemory& operator=(const MappedMemory&) = delete;
  MappedMemory(MappedMemory&& other) noexcept { *this = static_cast<MappedMemory&&>(other); }
  MappedMemory& operator=(MappedMemory&& other) noexcept;
  ~MappedMemory();

  bool is_empty() const { return begin_ == nullptr; }
  uint8_t* begin() const { return begin_; }  ///< of a page
  AddressSpan span() const { return {reinterpret_cast<uint64_t>(begin_), size_}; }

 private:
  static constexpr uint64_t kDistance = uint64_t{1} << 20;  ///< bytes on either side in which nothing else lies

  uint8_t* begin_ = nullptr;
  uint64_t size_ = 0;
};

}  // namespace wave::emulator
