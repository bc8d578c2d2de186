// The inline constants of scalar and vector sources (ISA document, "Scalar Operands").
#pragma once

#include <array>

#include "emulator/isa/isa.h"
#include "emulator/wave.h"

namespace wave::emulator {

constexpr bool is_inline_constant(u32 code) { return (code >= 128 && code <= 208) || (code >= 240 && code <= 248); }

/// The value of the inline constant `code` for an operand of `type`: integers are sign-extended, 240 to 248 are floats
/// of the operand's type, of 32 bits where it is an integer of 16 or 32. OP_SEL picks halves of this value: those of an
/// f16 are the constant and 0 (LLVM has measured it so: AMDGPUMCCodeEmitter.cpp, getInlineEncodingV216).
u64 inline_constant(u32 code, isa::OperandType type);

/// All source codes from 128 on as 32-bit values, for Wave::s; codes that are no constants hold 0.
const std::array<u32, 128>& inline_constants32();

}  // namespace wave::emulator
