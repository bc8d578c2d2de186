// The formats of GPU code that this product loads.
#pragma once

#include <cstdint>

namespace wave {

enum class Format : uint8_t {
  AmdGpu,  ///< an ELF code object for AMD GPUs
  Cubin,   ///< an ELF file for NVIDIA GPUs
  Ptx,     ///< NVIDIA's assembly language, which the driver compiles
};

/// "AMD code object", "cubin", "PTX".
constexpr const char* name(Format format) {
  constexpr const char* kNames[] = {"AMD code object", "cubin", "PTX"};
  return kNames[static_cast<int>(format)];
}

}  // namespace wave
