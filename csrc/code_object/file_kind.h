// Telling files apart by their first bytes.
#pragma once

#include <cstdint>

#include "base/bytes.h"

namespace wave {

enum class FileKind : uint8_t {
  CodeObject,        ///< a loadable AMDGPU ELF for HSA
  Cubin,             ///< a loadable CUDA ELF
  Ptx,               ///< text that starts with .version
  HostObject,        ///< an ELF for another machine, which may carry HIP or CUDA fat binaries
  OffloadBundle,     ///< "__CLANG_OFFLOAD_BUNDLE__"
  CompressedBundle,  ///< "CCOB"
  Fatbin,            ///< CUDA's container: 0xba55ed50
  FatbinWrapper,     ///< what host code registers, 0x466243b1, with the fat binary behind it
};

/// The kind of a file that can be parsed. For every other file a ValueError that says what it is, as far as it is
/// recognised, and what to do about it: LLVM bitcode, SPIR-V, relocatable objects, code for other driver stacks.
FileKind classify(const Bytes& file);

}  // namespace wave
