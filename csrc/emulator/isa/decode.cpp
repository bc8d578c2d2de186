#include <algorithm>

#include "emulator/isa/disassemble.h"
#include "emulator/isa/fields.h"
#include "emulator/isa/graphics.h"
#include "emulator/isa/isa.h"
#include "emulator/isa/operand.h"

namespace wave::isa {
namespace {

/// The values of DPP_CTRL (document, section "DPP controls"). Operations on 64 bits know row_newbcast only.
bool is_legal_dpp(const Instruction& instruction) {
  const uint32_t control = instruction[Field::DPP_CTRL];
  if (!features(instruction.row->generation).dpp_crosses_rows) {
    if (control >= 0x150) return control < 0x170;           // row_share, row_xmask
    if (control >= 0x130) return (control & ~1u) == 0x140;  // row_mirror, row_half_mirror
    return control < 0x100 || (control & 15) != 0;          // quad_perm; row_shl, row_shr, row_ror by 1 to 15
  }
  const bool row_newbcast = control >= 0x150 && control <= 0x15f;
  if ((instruction.row->modifiers & kDppRowNewbcast) != 0 || row_newbcast) return row_newbcast;
  if (control < 0x100) return true;                 // quad_perm
  if (control < 0x130) return (control & 15) != 0;  // row_shl, row_shr, row_ror by 1 to 15
  if (control < 0x140) return (control & 3) == 0;   // wave_shl, _rol, _shr, _ror by 1
  return control <= 0x143;                          // row_mirror, _half_mirror, row_bcast
}

bool is_legal_sdwa(const Instruction& instruction) {
  constexpr uint32_t kDword = 6, kPreserve = 2;
  const uint32_t takes = instruction.row->modifiers;
  if ((takes & kDstSel) != 0 && instruction[Field::DST_SEL] > kDword) return false;
  if ((takes & kDstSel) != 0 && instruction[Field::DST_UNUSED] > kPreserve) return false;
  if ((takes & kSrc0Sel) != 0 && instruction[Field::SRC0_SEL] > kDword) return false;
  return (takes & kSrc1Sel) == 0 || instruction[Field::SRC1_SEL] <= kDword;
}

/// A load into LDS has no register that ACC could make an accumulation register.
bool is_legal_lds(const Instruction& instruction) {
  const Field first = instruction.row->operands[0].field;
  const bool is_load = first == Field::VDATA || first == Field::VDST;
  return !is_load || !goes_to_lds(instruction) || instruction[Field::ACC] == 0;
}

/// LLVM does not take negative offsets of GFX12's buffers; the document has them unsigned.
bool has_negative_offset(const Instruction& instruction) {
  const Row& row = *instruction.row;
  const bool is_buffer = features(row.generation).has_signed_offsets && row.format == Format::MUBUF;
  return is_buffer && (row.modifiers & kOffset) != 0 && instruction[Field::OFFSET] >> (offset_bits(row) - 1) != 0;
}

/// Whether the instruction's fields have values that its row allows.
bool is_legal(const Instruction& instruction, bool has_aligned_tuples) {
  const Row& row = *instruction.row;
  for (const Operand& operand : std::span(row.operands, row.operand_count)) {
    if (!is_legal(instruction, operand, has_aligned_tuples)) return false;
  }
  if ((row.traits & kDelayCodes) != 0) return is_legal_delay(instruction[Field::SIMM16]);
  if ((row.traits & kIndexKey) != 0 && instruction[Field::OP_SEL] >= index_sets(instruction)) return false;
  if (has_negative_offset(instruction)) return false;
  if ((row.modifiers & kDpp) != 0 && !is_legal_dpp(instruction)) return false;
  if ((row.modifiers & (kDstSel | kSrc0Sel | kSrc1Sel)) != 0 && !is_legal_sdwa(instruction)) return false;
  return (row.modifiers & kLds) == 0 || is_legal_lds(instruction);
}

bool has_literal(const Instruction& instruction) {
  if (!takes_literals(instruction.row->generation, instruction.row->format)) return false;
  const std::span operands(instruction.row->operands, instruction.row->operand_count);
  return std::ranges::any_of(operands, [&](const Operand& operand) { return takes_literal(instruction, operand); });
}

}  // namespace

Instruction InstructionSet::decode(std::span<const uint32_t> words, uint32_t lanes) const {
  const Instruction unknown{.bits = words[0], .lanes = static_cast<uint8_t>(lanes)};
  const uint64_t first = words[0] | (words.size() > 1 ? uint64_t{words[1]} << 32 : 0);
  Instruction instruction = unknown;
  const uint64_t upper = (words.size() > 2 ? words[2] : 0) | (words.size() > 3 ? uint64_t{words[3]} << 32 : 0);
  instruction.row = find_row(first, upper);
  if (instruction.row == nullptr) {
    const Graphics* const graphics = find_graphics(generation_, words[0]);
    if (graphics == nullptr || words.size() < graphics->dwords(words[0])) return unknown;
    instruction.graphics = graphics;
    instruction.dwords = graphics->dwords(words[0]);
    return instruction;
  }
  instruction.dwords = dwords(generation_, instruction.row->format);
  if (words.size() < instruction.dwords) return unknown;
  if (instruction.dwords >= 2) instruction.bits = first;
  if (instruction.dwords >= 3) instruction.upper = instruction.dwords == 3 ? words[2] : upper;
  if ((instruction.bits & instruction.row->mask) != instruction.row->match) return unknown;
  instruction.bits &= ~instruction.row->ignored;
  if (!is_legal(instruction, has_aligned_tuples_)) return unknown;
  if (has_literal(instruction)) {
    if (words.size() <= instruction.dwords) return unknown;
    instruction.literal = words[instruction.dwords++];
  }
  return instruction;
}

}  // namespace wave::isa
