// Rows of registers as floats: what instructions read and write, for those who look at numbers.
#pragma once

#include <span>

#include "emulator/isa/isa.h"
#include "emulator/wave.h"

namespace wave::emulator {

/// An operand of floats.
struct FloatOperand {
  isa::OperandType type{};
  bool is_vector = false;  ///< in vector registers; else a scalar operand
  bool is_upper_half = false;
  u32 row = 0;
  u32 dwords = 0;
  u32 constant = 0;  ///< a scalar operand's code
};

bool is_float(isa::OperandType type);
/// Of a matrix's elements, as far as they are one of these types; else Other.
isa::OperandType type_of(isa::Element element);
/// Where the operand lies.
FloatOperand floats_of(const Wave& wave, const isa::Instruction& instruction, const isa::Operand& operand,
                       isa::OperandType type);

/// Whether a value in these lanes, whose dwords are all ones in `lanes`, is an infinity or a NaN. Fast.
bool has_not_finite(const LaneRow* rows, const FloatOperand& floats, const LaneRow& lanes);
/// The lanes in which registers have an infinity or a NaN.
u64 not_finite_in(const LaneRow* rows, const FloatOperand& floats);
/// The value in a lane; of packed halves the low one.
double value_in(const LaneRow* rows, const FloatOperand& floats, int lane);
/// Whether the value of two dwords, or of one, is finite; of several whether all are.
bool are_finite(u64 bits, const FloatOperand& floats);
/// The value of dwords.
double value_of(u32 low, u32 high, isa::OperandType type);

}  // namespace wave::emulator
