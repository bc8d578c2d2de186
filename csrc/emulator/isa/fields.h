// Where a format has its fields, and which format a word belongs to: fields.inc as constants.
#pragma once

#include <array>
#include <cstdint>

#include "emulator/isa/isa.h"

namespace wave::isa {

/// The bits of a field within an instruction. A width of zero: the format has no such field.
struct Position {
  uint8_t low = 0;
  uint8_t width = 0;
};

Position position(Format format, Field field);

/// The format that a first word announces, and its opcode. `known` is false where the word has no format of this
/// family. Instructions of VOP3B and MAI count as VOP3 and VOP3P: the row tells them apart.
struct Encoding {
  Format format = Format::SOP1;
  uint16_t opcode = 0;
  bool known = false;
};

Encoding classify(uint32_t word);

/// The dwords of a format without a literal: 1 or 2.
uint8_t dwords(Format format);

}  // namespace wave::isa
