// What a launch on the emulator executed, and what it moved.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace wave {

/// What became of one instruction of the code, in all waves.
struct InstructionProfile {
  std::string_view kind;             ///< "vector ALU", "LDS", ...
  uint64_t count = 0;                ///< of waves
  uint64_t lanes = 0;                ///< enabled in them, all together
  uint64_t bytes = 0;                ///< that enabled lanes asked for
  uint64_t moved = 0;                ///< bytes of the cache lines that each access of a vector instruction touched
  uint64_t lds_cycles = 0;           ///< if each bank of LDS gives a dword in each
  uint64_t lds_conflict_cycles = 0;  ///< ... of which so many because several lanes want one bank
  uint64_t operations = 0;           ///< multiplications and additions of a matrix instruction

  InstructionProfile& operator+=(const InstructionProfile& other);
};

struct LaunchProfile {
  std::map<std::string, uint64_t> kinds;         ///< instructions of waves by kind
  std::map<std::string, uint64_t> instructions;  ///< ... and by name, without the encoding's suffix
  std::map<std::string, uint64_t> bytes;         ///< "global loaded", "LDS stored", ..., of enabled lanes
  std::map<std::string, uint64_t> operations;    ///< of matrix instructions, by the type of their elements: "f16"
  std::map<uint64_t, InstructionProfile> code;   ///< by the address in the file
  uint64_t vector_instructions = 0;              ///< those that EXEC concerns
  uint64_t lanes = 0;                            ///< enabled in them, all together
  uint32_t wave_lanes = 0;                       ///< ... of so many in each
  uint64_t moved = 0;                            ///< bytes of cache lines, each access for itself
  uint64_t touched = 0;                          ///< bytes of the cache lines that were touched at all
  uint64_t lds_cycles = 0;
  uint64_t lds_conflict_cycles = 0;
  uint64_t matrix_operations = 0;
  std::vector<uint64_t> waves;  ///< the instructions of each of the first waves, in their order

  /// Adds those of another launch of the same kernel. `waves` stay what they are.
  LaunchProfile& operator+=(const LaunchProfile& other);
};

}  // namespace wave
