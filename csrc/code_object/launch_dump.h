// Launches on the emulator that fail, written to disk, so that they can be made again elsewhere:
// `python -m wave_runtime run FOLDER`.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/address_span.h"
#include "base/error.h"
#include "code_object/signature.h"

namespace wave {

/// What is written of a launch. Borrowed.
struct LaunchRecord {
  std::span<const uint8_t> code;  ///< the code object's bytes
  std::string_view kernel;
  const Signature& signature;
  bool strict;  ///< reads past an end are faults
  std::array<uint32_t, 3> grid;
  std::array<uint32_t, 3> block;
  uint32_t shared_memory;  ///< bytes, dynamic
  bool cooperative;
  std::span<const uint8_t> arguments;
  std::vector<AddressSpan> memory;  ///< that it was given
};

/// The state before a launch. Pointers in its memory are copied as they are: who makes the launch again puts the memory
/// at its old addresses.
class LaunchDump {
 public:
  /// Copies the memory, and nothing else.
  explicit LaunchDump(LaunchRecord launch);

  /// Writes a folder of its own below `parent`. Returns the fault, followed by where that is, or why there is none.
  KernelFault written(const std::string& parent, const KernelFault& fault) const;

 private:
  /// Overlapping ranges are one block.
  struct Block {
    uint64_t address;
    std::vector<uint8_t> bytes;
  };

  std::string write(const std::string& parent, const KernelFault& fault) const;
  std::string json(const KernelFault& fault) const;

  const LaunchRecord launch_;
  std::vector<Block> blocks_;
};

}  // namespace wave
