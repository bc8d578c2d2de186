// What a loader needs of a code object's ELF: segments, symbols, relocations.
#pragma once

#include <vector>

#include "code_object/code_object.h"
#include "code_object/elf.h"

namespace wave {

/// The PT_LOAD segments by address. Throws FormatError where they overlap, wrap around or span more than 64 GiB.
std::vector<Segment> read_segments(const Elf& elf);

/// The segment that holds the `size` bytes at `address` in memory, or nullptr.
const Segment* find_segment(const std::vector<Segment>& segments, uint64_t address, uint64_t size);

/// The defined, named symbols of both tables, each once; absolute symbols have no address and are left out.
std::vector<Symbol> read_symbols(const Elf& elf);

/// The dynamic relocations but R_AMDGPU_NONE. Throws FormatError where one patches bytes outside of the segments.
std::vector<Relocation> read_relocations(const Elf& elf, const std::vector<Segment>& segments);

}  // namespace wave
