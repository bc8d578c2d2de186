// Which functions of the source an instruction is of, by the .debug_info sections of compilers' -g (DWARF 4 and 5).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/address_span.h"

namespace wave {

/// A function, or a copy of one that is inlined into another.
struct SourceFunction {
  std::string name;               ///< as the source has it; empty where the unit does not say
  std::vector<AddressSpan> code;  ///< addresses of the file
  std::optional<size_t> caller;   ///< of a copy: the one into which it is inlined, by index
  uint64_t lines = 0;             ///< of a copy: the offset of its unit's line table
  uint32_t call_file = 0;         ///< ... where it is called: the file's number in that line table
  uint32_t call_line = 0;
};

/// The functions of an ELF image, callers before what is inlined into them; none where it does not tell. Throws
/// FormatError where it is malformed. Units of other versions are left out.
std::vector<SourceFunction> read_function_table(std::span<const uint8_t> image);

}  // namespace wave
