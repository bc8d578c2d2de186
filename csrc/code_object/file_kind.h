// Telling files apart by their first bytes.
#pragma once

#include <cstdint>

#include "base/bytes.h"

namespace wave {

enum class FileKind : uint8_t {
  CodeObject,        ///< a loadable AMDGPU ELF for HSA
  HostObject,        ///< an ELF for another machine, which may carry HIP fat binaries
  OffloadBundle,     ///< "__CLANG_OFFLOAD_BUNDLE__"
  CompressedBundle,  ///< "CCOB"
};

/// What an error about NVIDIA's formats ends with.
inline constexpr const char* kNvidiaSupport = ": NVIDIA binaries can be inspected but not launched by this version";

/// The kind of a file that can be parsed. For every other file a ValueError that says what it is, as far as it is
/// recognised, and what to do about it: NVIDIA's formats, LLVM bitcode, SPIR-V, relocatable objects, code for other
/// driver stacks.
FileKind classify(const Bytes& file);

}  // namespace wave
