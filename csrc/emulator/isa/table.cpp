// The rows of every processor that this build knows, and the look-up by processor.
#include <algorithm>
#include <initializer_list>
#include <iterator>

#include "emulator/isa/fields.h"
#include "emulator/isa/isa.h"
#include "emulator/isa/operand.h"

namespace wave::isa {
namespace {

using enum Field;
using enum OperandKind;
using enum OperandType;

constexpr Operand read(Field field, OperandKind kind, OperandType type, uint8_t dwords) {
  return {field, kind, type, dwords, false, true};
}

constexpr Operand write(Field field, OperandKind kind, OperandType type, uint8_t dwords) {
  return {field, kind, type, dwords, true, false};
}

constexpr Operand update(Field field, OperandKind kind, OperandType type, uint8_t dwords) {
  return {field, kind, type, dwords, true, true};
}

constexpr Row make_row(Format format, uint16_t opcode, const char* mnemonic, uint64_t mask, uint64_t match,
                       uint32_t modifiers, std::initializer_list<Operand> operands) {
  Row row{format, opcode, mnemonic, mask, match, modifiers, static_cast<uint8_t>(operands.size()), {}};
  std::copy(operands.begin(), operands.end(), row.operands);
  return row;
}

constexpr Row kGfx942[] = {
#define WAVE_ISA_ROW(format, opcode, mnemonic, mask, match, modifiers, ...) \
  make_row(Format::format, opcode, mnemonic, mask, match, modifiers, __VA_ARGS__),
#include "emulator/isa/gfx942.inc"
};

constexpr Row kGfx90a[] = {
#include "emulator/isa/gfx90a.inc"
};
#undef WAVE_ISA_ROW

}  // namespace

bool precedes_gfx940(const Row& row) { return &row >= std::begin(kGfx90a) && &row < std::end(kGfx90a); }

std::string_view base_name(const Row& row) {
  std::string_view name = row.mnemonic;
  for (const std::string_view suffix : {"_e32", "_e64", "_sdwa", "_dpp"}) {
    if (name.ends_with(suffix)) return name.substr(0, name.size() - suffix.size());
  }
  return name;
}

InstructionSet::InstructionSet(std::span<const Row> rows) : rows_(rows) {
  for (size_t index = 0; index < rows.size(); ++index) {
    const Encoding encoding = classify(static_cast<uint32_t>(rows[index].match));
    index_[size_t(encoding.format)][encoding.opcode] = static_cast<uint16_t>(index + 1);
  }
}

const InstructionSet* InstructionSet::find(std::string_view processor) {
  static const InstructionSet gfx90a(kGfx90a), gfx942(kGfx942);
  return processor == "gfx942" ? &gfx942 : processor == "gfx90a" ? &gfx90a : nullptr;
}

const Row* InstructionSet::find_row(uint32_t word) const {
  const Encoding encoding = classify(word);
  if (!encoding.known) return nullptr;
  const uint16_t index = index_[size_t(encoding.format)][encoding.opcode];
  return index == 0 ? nullptr : &rows_[index - 1u];
}

}  // namespace wave::isa
