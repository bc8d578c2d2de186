// Which source line an instruction comes from: the .debug_line sections of compilers' -g (DWARF 4 and 5, "Line Number
// Information").
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace wave {

/// From `address` up to the next row's.
struct LineRow {
  uint64_t address;  ///< of the file
  uint32_t line;     ///< 0: no source line
  uint32_t file;     ///< an index into LineTable::files
};

/// A unit's part of the section.
struct LineUnit {
  uint64_t offset;      ///< in the section, by which the unit's functions name it
  uint32_t first_file;  ///< of LineTable::files
};

struct LineTable {
  std::vector<LineUnit> units;
  std::vector<std::string> files;  ///< paths, of the compiler's machine
  std::vector<LineRow> rows;       ///< sorted by address
};

/// The line table of an ELF image; empty where there is none. Throws FormatError where it is malformed. Units of other
/// versions are left out, as are their extensions.
LineTable read_line_table(std::span<const uint8_t> image);

}  // namespace wave
