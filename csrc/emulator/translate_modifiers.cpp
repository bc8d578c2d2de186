// How the modifiers of vector instructions become those that bodies apply (op.h).
#include <algorithm>
#include <span>

#include "emulator/isa/fields.h"
#include "emulator/isa/operand.h"
#include "emulator/translate.h"

namespace wave::emulator {

namespace {

using isa::Field;
using isa::Format;
using isa::Instruction;
using isa::Operand;
using isa::OperandType;

/// OP_SEL_HI for bodies, with a bit set for each source that the instruction does not have, or has no OP_SEL_HI for:
/// that is the ordinary case.
u8 op_sel_hi_of_all(const Instruction& instruction) {
  const isa::Row& row = *instruction.row;
  constexpr u8 kAll = 7;
  if ((row.modifiers & (isa::kOpSelHi | isa::kMix)) == 0) return kAll;
  u8 taken = 0;
  for (const Operand& operand : std::span(row.operands, row.operand_count)) {
    if (operand.field == Field::SRC0) taken |= 1;
    if (operand.field == Field::SRC1) taken |= 2;
    if (operand.field == Field::SRC2) taken |= 4;
  }
  return static_cast<u8>((isa::op_sel_hi(instruction) & taken) | (kAll & ~taken));
}

/// A bit for each source: NEG or ABS of VOP3, or the bits of SDWA and DPP that mean the same.
u8 negated_sources(const Instruction& instruction, Field field) {
  const bool is_negation = field == Field::NEG;
  const u32 first = instruction[is_negation ? Field::SRC0_NEG : Field::SRC0_ABS];
  const u32 second = instruction[is_negation ? Field::SRC1_NEG : Field::SRC1_ABS];
  return static_cast<u8>(instruction[field] | first | second << 1);
}

/// SEL and DST_SEL of SDWA: four bytes, two words, all (ISA document, "SDWA").
Select sdwa_select(u32 code, bool sign) {
  if (code < 4) return {static_cast<u8>(8 * code), 8, sign};
  if (code < 6) return {static_cast<u8>(16 * (code - 4)), 16, sign};
  return {};
}

void set_sdwa(const Instruction& instruction, Modifiers& modifiers) {
  const u32 takes = instruction.row->modifiers;
  if (takes & isa::kSrc0Sel) {
    modifiers.source[0] = sdwa_select(instruction[Field::SRC0_SEL], instruction[Field::SRC0_SEXT] != 0);
  }
  if (takes & isa::kSrc1Sel) {
    modifiers.source[1] = sdwa_select(instruction[Field::SRC1_SEL], instruction[Field::SRC1_SEXT] != 0);
  }
  if (takes & isa::kDstSel) {
    modifiers.destination = sdwa_select(instruction[Field::DST_SEL], false);
    modifiers.unused = static_cast<Unused>(std::min<u32>(instruction[Field::DST_UNUSED], 2));
  }
}

/// The lane whose value `lane` gets under DPP, or -1 where there is none (ISA document, "DPP Operand Values").
int dpp_source(u32 control, int lane) {
  const int row = lane & ~15, in_row = lane & 15, n = static_cast<int>(control & 15);
  const auto within_row = [&](int from) { return from >= 0 && from < 16 ? row + from : -1; };
  if (control < 0x100) return (lane & ~3) | static_cast<int>(control >> 2 * (lane & 3) & 3);  // quad_perm
  switch (control & 0x1f0) {
    case 0x100:
      return within_row(in_row + n);  // row_shl
    case 0x110:
      return within_row(in_row - n);  // row_shr
    case 0x120:
      return row + ((in_row - n) & 15);  // row_ror
    case 0x150:
      return row + n;  // row_newbcast, which GFX10 calls row_share
    case 0x160:
      return row + (in_row ^ n);  // row_xmask
    default:
      break;
  }
  switch (control) {
    case 0x130:
      return lane == 63 ? -1 : lane + 1;  // wave_shl
    case 0x134:
      return (lane + 1) & 63;  // wave_rol
    case 0x138:
      return lane - 1;  // wave_shr
    case 0x13c:
      return (lane - 1) & 63;  // wave_ror
    case 0x140:
      return row + 15 - in_row;  // row_mirror
    case 0x141:
      return row + (in_row ^ 7);  // row_half_mirror
    case 0x142:
      return row - 1;  // row_bcast:15, which row 0 has no source for
    default:
      return lane < 32 ? -1 : 31;  // row_bcast:31: the decoder takes no other control
  }
}

/// The same of DPP8: three bits of `lanes` for each of eight lanes.
int dpp8_source(u32 lanes, int lane) { return (lane & ~7) | static_cast<int>(lanes >> 3 * (lane & 7) & 7); }

/// A lane that is disabled reads as zero under DPP8, unless SRC0 says that disabled lanes are read.
LaneMoves lane_moves(const Instruction& instruction) {
  constexpr u32 kFetchInactive = 234;
  const bool is_dpp8 = instruction.row->modifiers & isa::kDpp8;
  const u32 rows = is_dpp8 ? 15 : instruction[Field::ROW_MASK], banks = is_dpp8 ? 15 : instruction[Field::BANK_MASK];
  LaneMoves moves;
  moves.reads_disabled = is_dpp8 ? instruction[Field::DPP_SRC0] == kFetchInactive : instruction[Field::FI] != 0;
  moves.bound_ctrl = is_dpp8 || instruction[Field::BOUND_CTRL] != 0;
  for (int lane = 0; lane < kLanes; ++lane) {
    const int source =
        is_dpp8 ? dpp8_source(instruction[Field::DPP8], lane) : dpp_source(instruction[Field::DPP_CTRL], lane);
    moves.source.lane[lane] = static_cast<u32>(source < 0 ? lane : source);
    moves.exists.lane[lane] = source < 0 ? 0 : ~0u;
    moves.written.lane[lane] = (rows >> (lane / 16) & banks >> (lane / 4 % 4) & 1) != 0 ? ~0u : 0;
    moves.within_rows &= source < 0 || source / 16 == lane / 16;
  }
  return moves;
}

/// The upper halves of 16-bit sources, and the half (or byte) of the destination that is written.
void set_halves(const Instruction& instruction, bool keeps_other_half, Modifiers& modifiers) {
  constexpr Select kUpperHalf = {16, 16, false};
  const isa::Row& row = *instruction.row;
  if (row.operand_count == 0) return;
  const bool is_sdwa = row.modifiers & isa::kDstSel;  // which says itself what becomes of the rest
  int source = 0;
  for (const Operand& operand : std::span(row.operands, row.operand_count)) {
    // The first is the destination. Another that is written is a source of an exchange, or a mask of lanes.
    if (operand.written && (&operand == row.operands || !operand.read)) continue;
    if (isa::is_upper_half(instruction, operand)) modifiers.source[source] = kUpperHalf;
    ++source;
  }
  const Operand& destination = row.operands[0];
  const u32 op_sel = instruction[Field::OP_SEL];
  const bool writes_half = !is_sdwa && destination.field == Field::VDST && isa::is_16_bits(destination.type) &&
                           destination.kind != isa::OperandKind::Sgpr;
  // A result of 32 bits has no halves, though OP_SEL has a bit for them; DPP reads it for the lanes that it leaves.
  const bool is_dpp = row.modifiers & (isa::kDpp | isa::kDpp8);
  const bool selects =
      (row.modifiers & isa::kOpSelDst) && destination.read && (!is_dpp || isa::is_16_bits(destination.type));
  if (selects || (keeps_other_half && writes_half)) {
    const bool is_upper = isa::is_upper_half(instruction, destination) || (selects && (op_sel & 8));
    modifiers.destination = {static_cast<u8>(is_upper ? 16 : 0), 16, false};
    modifiers.unused = Unused::Kept;
  }
  // What is added to the destination is added to the half that is written.
  if (writes_half && source < 3 && modifiers.destination == kUpperHalf) modifiers.source[source] = kUpperHalf;
  if (row.modifiers & isa::kOpSelByte) {
    modifiers.destination = {static_cast<u8>(8 * (op_sel >> 2)), 8, false};
    modifiers.unused = Unused::Kept;
  }
}

/// OP_SEL where it picks a byte: of what v_cvt_sr writes by its last two bits, else of the source by the first two, the
/// higher one first.
void set_byte(const Instruction& instruction, Modifiers& modifiers) {
  const u32 op_sel = instruction[Field::OP_SEL];
  if (instruction.row->operand_count == 3) {
    modifiers.destination = {static_cast<u8>(8 * (op_sel >> 2)), 8, false};
    modifiers.unused = Unused::Kept;
  } else if (const u32 byte = (op_sel & 1) << 1 | (op_sel >> 1 & 1); byte != 0) {
    modifiers.source[0] = {static_cast<u8>(8 * byte), 8, false};
  }
}

/// OP_SEL of VOP3 where it picks no halves: bytes of a source of 32 bits, or lanes; and the truth table of V_BITOP3.
void set_op_sel(const Instruction& instruction, Modifiers& modifiers) {
  const isa::Row& row = *instruction.row;
  if (row.format != Format::VOP3) return;
  if (row.modifiers & isa::kBitop3) {
    modifiers.op_sel =
        static_cast<u8>(instruction[Field::OMOD] << 6 | instruction[Field::ABS] << 3 | instruction[Field::NEG]);
  } else if ((row.modifiers & isa::kLaneBounds) ||
             ((row.modifiers & isa::kOpSel) && row.operands[1].type == OperandType::B32)) {
    modifiers.op_sel = static_cast<u8>(instruction[Field::OP_SEL]);
  }
}

/// What is asked of bodies (enum ModifierAsks).
u8 asked_of(const Modifiers& modifiers) {
  u32 asks = modifiers.clamp ? kClamps : 0;
  const bool has_signs = (modifiers.negate | modifiers.negate_high | modifiers.absolute) != 0;
  if (has_signs || modifiers.op_sel != 0 || modifiers.op_sel_hi != Modifiers().op_sel_hi) asks |= kChangesSources;
  bool asks_more = modifiers.output != 0 || modifiers.moves != nullptr;
  for (size_t i = 0; i < std::size(modifiers.source); ++i) {
    if (modifiers.source[i].is_half()) {
      asks |= kHalfOfSource << i;
    } else {
      asks_more |= modifiers.source[i] != Select();
    }
  }
  if (modifiers.destination.is_half() && modifiers.unused == Unused::Kept) {
    asks |= kKeepsHalf;
  } else {
    asks_more |= modifiers.destination != Select();
  }
  return static_cast<u8>(asks | (asks_more ? kAsksMore : 0));
}

}  // namespace

/// The modifiers of a vector instruction; nullptr where they are all as if there were none.
const Modifiers* Translator::modifiers(const Instruction& instruction) {
  const isa::Row& row = *instruction.row;
  const u32 takes = row.modifiers;
  const bool is_sdwa = takes & (isa::kSrc0Sel | isa::kSrc1Sel | isa::kDstSel),
             is_dpp = takes & (isa::kDpp | isa::kDpp8);
  Modifiers modifiers;
  const bool negates = (takes & (isa::kNeg | isa::kNegLo)) && !(row.traits & isa::kSignedFactors);
  if (negates) modifiers.negate = negated_sources(instruction, Field::NEG);
  if (takes & isa::kAbs) modifiers.absolute = negated_sources(instruction, Field::ABS);
  if (takes & isa::kClamp) modifiers.clamp = instruction[Field::CLAMP] != 0;
  if (takes & isa::kOmod) modifiers.output = static_cast<u8>(instruction[Field::OMOD]);
  if (modifiers.output != 0) modifiers.scales_always = processor_.scales_always;
  if (is_sdwa) set_sdwa(instruction, modifiers);
  if (is_dpp) modifiers.moves = &function_->moves_.emplace_back(lane_moves(instruction));
  if (row.format == Format::VOP3P || row.format == Format::VOP3P_DPP || row.format == Format::VOP3P_DPP8) {
    modifiers.op_sel = static_cast<u8>(instruction[Field::OP_SEL]);
    modifiers.op_sel_hi = op_sel_hi_of_all(instruction);
    if (takes & isa::kMix) {
      modifiers.absolute = static_cast<u8>(instruction[Field::NEG_HI]);
      if (row.operands[0].type == OperandType::F16) {
        modifiers.destination = {static_cast<u8>(row.traits & isa::kToUpperHalf ? 16 : 0), 16, false};
        modifiers.unused = Unused::Kept;
      }
    } else if (row.kind == isa::Kind::DotProduct && row.operands[1].type == OperandType::B32) {
      modifiers.absolute = static_cast<u8>(instruction[Field::NEG_HI]);  // of the sum, which is no packed operand
    } else if (takes & isa::kNegHi) {
      modifiers.negate_high = static_cast<u8>(instruction[Field::NEG_HI]);
    }
  } else {
    set_halves(instruction, processor_.keeps_other_half, modifiers);
    if (takes & isa::kByteSel) set_byte(instruction, modifiers);
    set_op_sel(instruction, modifiers);
  }
  if (modifiers == Modifiers() && (takes & isa::kMix) == 0) return nullptr;
  modifiers.asks = asked_of(modifiers);
  return &function_->modifiers_.emplace_back(modifiers);
}

}  // namespace wave::emulator
