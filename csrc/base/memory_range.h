// Memory that a launch hands to a kernel.
#pragma once

#include <cstdint>
#include <string>

namespace wave {

/// Bytes [begin, end) of the process that a kernel may read and, where writable, write.
struct MemoryRange {
  uint64_t begin;
  uint64_t end;
  bool writable;
  std::string name;  ///< for messages: "argument 2 'c' (float32 [64, 64])"
};

}  // namespace wave
