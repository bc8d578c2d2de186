// What holds of kernels on every NVIDIA GPU (CUDA C++ Programming Guide, "Compute Capabilities").
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace wave {

inline constexpr uint32_t kWarpSize = 32;
inline constexpr uint32_t kMaxThreads = 1024;  ///< of a block

/// The most threads of a block of at most these extents.
inline uint32_t threads_of(const std::array<uint32_t, 3>& extents) {
  const auto [x, y, z] = extents;
  const uint64_t plane = std::min<uint64_t>(uint64_t{x} * y, kMaxThreads);
  return static_cast<uint32_t>(std::min<uint64_t>(plane * z, kMaxThreads));
}

}  // namespace wave
