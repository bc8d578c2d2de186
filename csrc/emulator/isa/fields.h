// Where a format has its fields, and which format a word belongs to: layout_*.inc as constants.
#pragma once

#include <array>
#include <cstdint>
#include <iterator>

#include "emulator/isa/isa.h"

namespace wave::isa {

inline constexpr Format kFormats[] = {
#define WAVE_ISA_FORMAT(name) Format::name,
#include "emulator/isa/fields.inc"
};

inline constexpr Field kFields[] = {
    Field::NONE,
#define WAVE_ISA_FIELD_NAME(name) Field::name,
#include "emulator/isa/fields.inc"
};

/// The bits of a field within an instruction. A width of zero: the format has no such field.
struct Position {
  uint8_t low = 0;
  uint8_t width = 0;
};

Position position(Generation generation, Format format, Field field);

/// The format that words announce, and its opcode; `upper` are the third and the fourth, which VOP3PX2 alone asks for.
/// `known` is false where the words have no format of this family. Instructions of VOP3B and MAI count as VOP3 and
/// VOP3P: the row tells them apart.
struct Encoding {
  Format format = Format::SOP1;
  uint16_t opcode = 0;
  bool known = false;
};

Encoding classify(Generation generation, uint64_t bits, uint64_t upper);

/// Of a form with a further dword (SDWA, DPP) the format that it is a form of; else the format itself.
Format without_further_dword(Format format);

/// The dwords of a format without a literal: 1 to 4.
uint8_t dwords(Generation generation, Format format);

/// Whether a literal may follow instructions of a format.
bool takes_literals(Generation generation, Format format);

}  // namespace wave::isa
