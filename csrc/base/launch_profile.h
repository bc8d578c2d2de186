// What a launch on the emulator executed, and what it moved.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace wave {

struct LaunchProfile {
  std::map<std::string, uint64_t> kinds;         ///< instructions of waves by kind: "vector ALU", "LDS", ...
  std::map<std::string, uint64_t> instructions;  ///< ... and by name, without the encoding's suffix
  std::map<std::string, uint64_t> bytes;         ///< "global loaded", "LDS stored", ..., of enabled lanes
  uint64_t vector_instructions = 0;              ///< those that EXEC concerns
  uint64_t lanes = 0;                            ///< enabled in them, all together
  uint32_t wave_lanes = 0;                       ///< ... of so many in each
  uint64_t lds_cycles = 0;                       ///< of LDS instructions, if each bank gives a dword in each
  uint64_t lds_conflict_cycles = 0;              ///< ... of which so many because several lanes want one bank
  uint64_t matrix_operations = 0;                ///< multiplications and additions of matrix instructions
};

}  // namespace wave
