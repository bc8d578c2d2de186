// Which operands of an instruction exist: the registers that a processor has, and the codes of the table "Source
// operands" of the MI300 ISA document.
#pragma once

#include "emulator/isa/isa.h"

namespace wave::isa {

/// Codes of scalar operands.
enum ScalarCode : uint32_t {
  kSgprs = 102,  ///< s0 to s101; a tuple of four or more may reach into flat_scratch
  kFlatScratch = 102,
  kXnackMask = 104,
  kVcc = 106,
  kTtmp = 108,
  kTtmpEnd = 124,
  kM0 = 124,
  kExec = 126,
  kOff = 127,       ///< of SADDR
  kZero = 128,      ///< 128 to 192 are 0 to 64
  kMinusOne = 193,  ///< 193 to 208 are -1 to -16
  kIntegersEnd = 209,
  kApertures = 235,  ///< src_shared_base and the four after it
  kHalf = 240,       ///< 240 to 247 are 0.5, -0.5, 1, -1, 2, -2, 4, -4; 248 is 1 / (2 pi)
  kFloatsEnd = 249,
  kVccz = 251,
  kExecz = 252,
  kScc = 253,
  kLdsDirect = 254,
  kLiteral = 255,
};

/// Whether a row is of an older processor. There SC0, NT and SC1 are called GLC, SLC and SCC; a load from GLOBAL or
/// SCRATCH has LDS where gfx940 has SVE, and an address in SCRATCH is a vector register where there is no scalar one.
bool precedes_gfx940(const Row& row);

/// Whether the instruction moves data to or from LDS instead of vector registers.
bool goes_to_lds(const Instruction& instruction);

/// Whether an operand names registers that exist, or a constant that it may be. A literal counts as legal where the
/// format has one.
bool is_legal(const Instruction& instruction, const Operand& operand);

/// Whether an operand asks for a literal.
bool takes_literal(const Instruction& instruction, const Operand& operand);

}  // namespace wave::isa
