// The memory of a launch's arguments.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <span>

#include "emulator/wave.h"

namespace wave::emulator {

/// Zeros at first. Lies where the heap has nothing near, so that what a kernel accesses behind the end of a tensor is
/// found to be out of bounds, rather than here.
class KernargSegment {
 public:
  explicit KernargSegment(u64 size) {
    if (size <= in_launch_.size()) {
      bytes_ = std::span(in_launch_).first(size);
      std::ranges::fill(bytes_, u8{0});
    } else {
      on_heap_ = std::make_unique<u8[]>(kDistance + size + kDistance);
      bytes_ = {on_heap_.get() + kDistance, size};
    }
  }
  KernargSegment(const KernargSegment&) = delete;
  KernargSegment& operator=(const KernargSegment&) = delete;

  std::span<u8> bytes() { return bytes_; }
  std::span<const u8> bytes() const { return bytes_; }

 private:
  static constexpr u64 kDistance = 4096;

  alignas(16) std::array<u8, 1024> in_launch_;  ///< launches are on the stack
  std::unique_ptr<u8[]> on_heap_;
  std::span<u8> bytes_;
};

}  // namespace wave::emulator
