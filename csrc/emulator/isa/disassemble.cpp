#include "emulator/isa/disassemble.h"

#include <charconv>
#include <cstdio>

#include "emulator/isa/graphics.h"

namespace wave::isa {
namespace {

/// Whether the text goes without an operand: VDST of an atomic that returns nothing, VDATA of a load into LDS, and the
/// zero of s_endpgm. An absent register of an address is written "off".
bool is_silent(const Instruction& instruction, const Operand& operand) {
  if (operand.field == Field::VDST || operand.field == Field::VDATA) {
    return locate(instruction, operand).place == Place::Nowhere;
  }
  return operand.kind == OperandKind::Immediate && instruction[operand.field] == 0 &&
         std::string_view(instruction.row->mnemonic) == "s_endpgm";
}

constexpr std::string_view kDual = " :: ";

std::string unknown_text(const Instruction& instruction) {
  char text[24];
  std::snprintf(text, sizeof(text), ".long 0x%08x", static_cast<unsigned>(instruction.bits));
  return text;
}

}  // namespace

void append_decimal(std::string& out, int64_t value) {
  char digits[24];
  out.append(digits, std::to_chars(digits, digits + sizeof(digits), value).ptr);
}

void append_hex(std::string& out, int64_t value) {
  char digits[24];
  const uint64_t magnitude = value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  out += value < 0 ? "-0x" : "0x";
  out.append(digits, std::to_chars(digits, digits + sizeof(digits), magnitude, 16).ptr);
}

std::string disassemble(const Instruction& instruction) {
  if (instruction.graphics != nullptr) return std::string(instruction.graphics->name) + " ...";
  if (instruction.row == nullptr) return unknown_text(instruction);
  const Row& row = *instruction.row;
  const std::string_view mnemonics = row.mnemonic;
  const size_t second = mnemonics.find(kDual);  // VOPD: two instructions, one behind the other
  std::string out(mnemonics.substr(0, second));
  const char* separator = " ";
  for (const Operand& operand : std::span(row.operands, row.operand_count)) {
    if (operand.field == Field::VDSTY) {
      out += mnemonics.substr(second);
      separator = " ";
    }
    if (is_silent(instruction, operand)) continue;
    out += separator;
    append_operand(out, instruction, operand);
    separator = ", ";
  }
  append_modifiers(out, instruction);
  return out;
}

}  // namespace wave::isa
