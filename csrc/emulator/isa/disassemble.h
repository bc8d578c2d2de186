// The parts of the disassembler: each appends its part of the text to `out`. The texts are those of LLVM 22.
#pragma once

#include <cstdint>
#include <string>

#include "emulator/isa/isa.h"

namespace wave::isa {

/// Bits [low, low + width) of `value`.
inline uint32_t bits(uint32_t value, unsigned low, unsigned width) { return value >> low & ((1u << width) - 1); }
/// The number in the lowest `width` bits.
inline int64_t sign_extend(uint32_t value, unsigned width) {
  return static_cast<int64_t>(uint64_t{value} << (64 - width)) >> (64 - width);
}

void append_decimal(std::string& out, int64_t value);
/// As "0x1f", negative numbers as "-0x1f".
void append_hex(std::string& out, int64_t value);

/// An operand that has a place, with its input modifiers: "v[2:3]", "-|s4|", "0.5", "sext(v1)".
void append_operand(std::string& out, const Instruction& instruction, const Operand& operand);

/// A number of 32 bits as the inline constant that it equals, if any, otherwise in hexadecimal.
void append_number(std::string& out, uint32_t value);

/// A number, as the mnemonic wants it: "0x10", "vmcnt(0)", "hwreg(HW_REG_MODE, 0, 4)".
void append_immediate(std::string& out, const Instruction& instruction, const Operand& operand);

/// What follows the operands, each with a space before it: " clamp mul:2", " offset:16 sc0".
void append_modifiers(std::string& out, const Instruction& instruction);

// Numbers of instructions that wait (disassemble_wait.cpp).
void append_waitcnt(std::string& out, Generation generation, uint32_t value);
void append_dependency_counters(std::string& out, uint32_t value);
void append_delay(std::string& out, uint32_t value);
/// Whether each part of s_delay_alu's number has a meaning.
bool is_legal_delay(uint32_t value);

// Numbers of hardware registers, with the bits that are meant, and of messages (disassemble_names.cpp).
void append_hwreg(std::string& out, const Row& row, uint32_t value);
void append_message(std::string& out, Generation generation, uint32_t value);

/// The offset of ds_swizzle_b32: "swizzle(QUAD_PERM,0,1,2,3)".
void append_swizzle(std::string& out, uint32_t offset);

}  // namespace wave::isa
