// Which operands of an instruction exist: the registers that a processor has, and the codes of the table "Source
// operands" of the MI300 ISA document.
#pragma once

#include "emulator/isa/features.h"

namespace wave::isa {

/// Codes of scalar operands that all generations share, or that only GFX9 has.
enum ScalarCode : uint32_t {
  kFlatScratch = 102,
  kXnackMask = 104,
  kVcc = 106,
  kTtmp = 108,
  kTtmpEnd = 124,
  kExec = 126,
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

/// Whether an atomic returns the old value: SC0 of GFX9 (GLC of SMEM), GLC of GFX11, bit 0 of TH of GFX12.
bool returns_value(const Instruction& instruction);

/// Whether an atomic, of memory or of LDS, or a load has a result.
bool has_result(const Instruction& instruction);

/// Whether the instruction moves data to or from LDS instead of vector registers.
bool goes_to_lds(const Instruction& instruction);

/// Whether a load writes LDS: by the bit of above, or as all that its opcode does, as GLOBAL_LOAD_LDS_DWORD.
bool loads_to_lds(const Instruction& instruction);

/// The bits of OFFSET of scalar memory, FLAT, GLOBAL, SCRATCH, and of buffers of GFX12.
unsigned offset_bits(const Row& row);

/// How many sets of indices of a sparse product of GFX12 a register holds: two bits for each value of A in a lane.
uint32_t index_sets(const Instruction& instruction);

/// Whether a value of this type has 16 bits.
constexpr bool is_16_bits(OperandType type) {
  return type == OperandType::B16 || type == OperandType::F16 || type == OperandType::Bf16;
}

/// Whether an operand is one half of a vector register: 16 bits of vector arithmetic since GFX11.
bool is_half(const Instruction& instruction, const Operand& operand);

/// Whether an operand of 16 bits is the upper half of its register: by the last bit of its field in encodings of 32
/// bits since GFX11, by OP_SEL in those of 64.
bool is_upper_half(const Instruction& instruction, const Operand& operand);

/// The sources of VOP3P whose bit in OP_SEL_HI is set.
inline uint8_t op_sel_hi(const Instruction& instruction) {
  return static_cast<uint8_t>(instruction[Field::OP_SEL_HI] | instruction[Field::OP_SEL_HI2] << 2);
}

/// Whether an operand names registers that exist, or a constant that it may be. A literal counts as legal where the
/// format has one. With `has_aligned_tuples` a tuple of vector registers begins at an even one, unless the instruction
/// takes any tuple.
bool is_legal(const Instruction& instruction, const Operand& operand, bool has_aligned_tuples);

/// Whether an operand asks for a literal.
bool takes_literal(const Instruction& instruction, const Operand& operand);

}  // namespace wave::isa
