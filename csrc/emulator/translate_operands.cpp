// How the operands of each format become the fields of an Op. The bodies' files say what they expect.
#include <algorithm>
#include <utility>

#include "emulator/constants.h"
#include "emulator/isa/operand.h"
#include "emulator/matrix.h"
#include "emulator/translate.h"

namespace wave::emulator {

namespace {

using isa::Field;
using isa::Format;
using isa::Instruction;
using isa::Location;
using isa::Operand;
using isa::OperandKind;
using isa::OperandType;
using isa::Place;

/// Thrown for a register that the kernel does not have; the operation then refuses to run.
struct NoSuchRegister {};

i32 sign_extended(u32 value, int bits) { return static_cast<i32>(value << (32 - bits)) >> (32 - bits); }

bool is_vector(const Location& location) { return location.place == Place::Vgpr || location.place == Place::Agpr; }

/// The value of a literal for an operand of an instruction: a 64-bit float takes it as its high half (ISA document,
/// "Literal Constants"), a signed 64-bit operation extends its sign, others fill up with zeros, as compilers rely on.
u64 literal_value(const Instruction& instruction, OperandType type) {
  if (type == OperandType::F64) return u64{instruction.literal} << 32;
  return instruction.row->traits & isa::kSignedLiteral ? sign_extend(instruction.literal) : instruction.literal;
}

/// The sources of VOP3P whose bit in OP_SEL_HI is set.
u8 op_sel_hi(const Instruction& instruction) {
  return static_cast<u8>(instruction[Field::OP_SEL_HI] | instruction[Field::OP_SEL_HI2] << 2);
}

/// The value of an inline constant. Those of V_FMA_MIX are f16 where OP_SEL_HI says so. V_PK_FMAC_F16 has no OP_SEL:
/// since GFX11 both of its halves are the constant (SIDefines.h of LLVM, OPERAND_REG_IMM_V2FP16_SPLAT).
u64 constant_value(const Instruction& instruction, const Operand& operand, int index, u32 code) {
  const isa::Row& row = *instruction.row;
  const bool is_mixed_half = (row.modifiers & isa::kMix) && (op_sel_hi(instruction) >> index & 1);
  const u64 value = inline_constant(code, is_mixed_half ? OperandType::F16 : operand.type);
  return row.traits & isa::kSplatConstants ? (value & 0xffff) * 0x10001 : value;
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

void set_dpp(const Instruction& instruction, Modifiers& modifiers) {
  modifiers.dpp = true;
  modifiers.dpp_ctrl = static_cast<u16>(instruction[Field::DPP_CTRL]);
  if (instruction[Field::FI] != 0) modifiers.dpp_ctrl |= kDppFetchInactive;
  modifiers.bound_ctrl = instruction[Field::BOUND_CTRL] != 0;
  modifiers.row_mask = static_cast<u8>(instruction[Field::ROW_MASK]);
  modifiers.bank_mask = static_cast<u8>(instruction[Field::BANK_MASK]);
}

/// The upper halves of 16-bit sources, and the half (or byte) of the destination that is written.
void set_halves(const Instruction& instruction, bool keeps_other_half, Modifiers& modifiers) {
  constexpr Select kUpperHalf = {16, 16, false};
  const isa::Row& row = *instruction.row;
  if (row.operand_count == 0) return;
  int source = 0;
  for (const Operand& operand : std::span(row.operands, row.operand_count)) {
    if (operand.written) continue;
    if (isa::is_upper_half(instruction, operand)) modifiers.source[source] = kUpperHalf;
    ++source;
  }
  const Operand& destination = row.operands[0];
  const u32 op_sel = instruction[Field::OP_SEL];
  const bool writes_half = destination.field == Field::VDST && isa::is_16_bits(destination.type);
  const bool selects = (row.modifiers & isa::kOpSelDst) && destination.read;
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

}  // namespace

/// The core has the scalar registers of GFX9. Later ones have null, which reads as zero and drops what is written, at
/// the code of M0; and in waves of 32 lanes EXEC has no upper half, which must stay zero here.
Location Translator::locate(const Instruction& instruction, const Operand& operand) const {
  Location location = isa::locate(instruction, operand);
  const isa::Features& family = isa::features(instruction.row->generation);
  if (!family.has_null || location.place != Place::Scalar) return location;
  if (processor_.lanes == 32 && location.value + location.dwords > sreg::kExec + 1 && location.value <= sreg::kExec + 1)
    throw NoSuchRegister();
  if (location.value == family.codes.m0) {
    location.value = sreg::kM0;
  } else if (location.value == family.codes.null) {
    location.value = operand.written ? kDiscarded : uint32_t{isa::kZero};
  }
  return location;
}

/// Both kinds of vector registers lie in one file, where accumulation registers begin at an offset that the kernel's
/// descriptor gives. Assembly that has no use for them reaches their rows as further arch VGPRs.
u16 Translator::register_row(const Location& location) const {
  const u32 row = location.value + (location.place == Place::Agpr ? limits_.vgprs : 0);
  if (row + std::max<u32>(location.dwords, 1) > limits_.vgprs + limits_.agprs) throw NoSuchRegister();
  return static_cast<u16>(row);
}

uintptr_t Translator::constant_rows(u64 value) {
  auto& rows = function_->constants_[value];
  if (rows == nullptr) {
    rows = std::make_unique<std::array<LaneRow, 2>>();
    std::fill_n((*rows)[0].lane, kLanes, static_cast<u32>(value));
    std::fill_n((*rows)[1].lane, kLanes, static_cast<u32>(value >> 32));
  }
  return reinterpret_cast<uintptr_t>(rows.get()) | kSourceConstant;
}

void Translator::set_vector_source(const Instruction& instruction, const Operand& operand, int index, Op& op) {
  const Location location = locate(instruction, operand);
  op.src[index] = static_cast<u16>(location.value);
  if (is_vector(location)) {
    const u16 row = register_row(location);
    op.rows[index] = row * sizeof(LaneRow);
    op.src[index] = static_cast<u16>(sreg::kVgpr0 + row);
  } else if (location.place == Place::Immediate) {
    op.rows[index] = constant_rows(location.value);
  } else if (location.value == sreg::kLiteral) {
    op.rows[index] = constant_rows(literal_value(instruction, operand.type));
  } else if (is_inline_constant(location.value)) {
    op.rows[index] = constant_rows(constant_value(instruction, operand, index, location.value));
  } else {
    op.rows[index] = kSourceScalar;
  }
}

/// Vector ALU: the vector destination, the scalar destination of comparisons and carries, and the sources. A
/// destination that is read as well is the last source.
void Translator::set_vector_operands(const Instruction& instruction, Op& op) {
  const isa::Row& row = *instruction.row;
  op.imm = instruction.literal;
  if (row.traits & isa::kWritesExec) op.dst2 = sreg::kExec;  // where no operand says otherwise
  int sources = 0;
  const Operand* accumulated = nullptr;
  for (int i = 0; i < row.operand_count; ++i) {
    const Operand& operand = row.operands[i];
    if (!operand.written || operand.field == Field::SRC0) {  // v_swap writes its source as well
      set_vector_source(instruction, operand, sources++, op);
      continue;
    }
    const Location location = locate(instruction, operand);
    if (is_vector(location)) {
      op.dst = register_row(location);
    } else {
      op.dst2 = static_cast<u16>(location.value);
    }
    if (operand.read) accumulated = &operand;
  }
  // Where three sources are taken, the destination is read for the bits that it keeps, or is SMFMAC's: both know dst.
  if (accumulated != nullptr && sources < 3) set_vector_source(instruction, *accumulated, sources, op);
  set_modifiers(instruction, op);
}

void Translator::set_modifiers(const Instruction& instruction, Op& op) {
  const isa::Row& row = *instruction.row;
  const u32 takes = row.modifiers;
  const bool is_sdwa = takes & (isa::kSrc0Sel | isa::kSrc1Sel | isa::kDstSel), is_dpp = takes & isa::kDpp;
  Modifiers modifiers;
  const bool negates = (takes & (isa::kNeg | isa::kNegLo)) && !(row.traits & isa::kSignedFactors);
  if (negates) modifiers.negate = negated_sources(instruction, Field::NEG);
  if (takes & isa::kAbs) modifiers.absolute = negated_sources(instruction, Field::ABS);
  if (takes & isa::kClamp) modifiers.clamp = instruction[Field::CLAMP] != 0;
  if (takes & isa::kOmod) modifiers.output = static_cast<u8>(instruction[Field::OMOD]);
  if (is_sdwa) set_sdwa(instruction, modifiers);
  if (is_dpp) set_dpp(instruction, modifiers);
  if (row.format == Format::VOP3P || row.format == Format::VOP3P_DPP) {
    modifiers.op_sel = static_cast<u8>(instruction[Field::OP_SEL]);
    modifiers.op_sel_hi = op_sel_hi(instruction);
    if (takes & isa::kMix) {
      modifiers.absolute = static_cast<u8>(instruction[Field::NEG_HI]);
      if (row.operands[0].type == OperandType::F16) {
        modifiers.destination = {static_cast<u8>(row.traits & isa::kToUpperHalf ? 16 : 0), 16, false};
        modifiers.unused = Unused::Kept;
      }
    } else if (takes & isa::kNegHi) {
      modifiers.negate_high = static_cast<u8>(instruction[Field::NEG_HI]);
    }
  } else {
    set_halves(instruction, processor_.keeps_other_half, modifiers);
  }
  if (takes & isa::kCbsz) {
    const u32 blgp = takes & (isa::kBlgp | isa::kBlgpNeg) ? instruction[Field::BLGP] : 0;
    op.imm = MatrixModifiers::pack(instruction[Field::CBSZ], instruction[Field::ABID], blgp);
  }
  if (modifiers != Modifiers() || (takes & isa::kMix)) op.modifiers = &function_->modifiers_.emplace_back(modifiers);
}

/// Scalar ALU and program flow: the scalar destination, the sources, and SIMM16 or the literal. A SIMM16 that is a
/// source of the operation (SOPK) is put where bodies find literals; where it names a hardware register it is dst2.
void Translator::set_scalar_operands(const Instruction& instruction, Op& op) {
  const isa::Row& row = *instruction.row;
  op.imm = instruction.literal;
  int sources = 0;
  for (int i = 0; i < row.operand_count; ++i) {
    const Location location = locate(instruction, row.operands[i]);
    if (row.operands[i].field == Field::LITERAL) {
      op.imm = location.value;
    } else if (location.place == Place::Immediate) {
      op.dst2 = static_cast<u16>(location.value);
      op.imm = static_cast<u32>(sign_extended(location.value, 16));
      op.src[sources++] = sreg::kLiteral;
    } else if (row.operands[i].written) {
      op.dst = static_cast<u16>(location.value);
    } else {
      op.src[sources++] = static_cast<u16>(location.value);
    }
  }
}

/// Scalar memory: src[0] the base, src[1] the offset register, imm the immediate offset, dst the first register.
void Translator::set_scalar_memory_operands(const Instruction& instruction, Op& op) {
  op.src[1] = kNoOperand;
  const bool has_registers = isa::features(instruction.row->generation).has_smem_registers;
  const int bits = static_cast<int>(isa::offset_bits(*instruction.row));
  if (!has_registers || instruction[Field::IMM] != 0)
    op.imm = static_cast<u32>(sign_extended(instruction[Field::OFFSET], bits));
  if ((instruction.row->modifiers & isa::kReturn) && isa::returns_value(instruction)) op.flags |= kReturns;
  for (int i = 0; i < instruction.row->operand_count; ++i) {
    const Operand& operand = instruction.row->operands[i];
    const Location location = locate(instruction, operand);
    if (operand.field == Field::SDATA) op.dst = static_cast<u16>(location.value);
    if (operand.field == Field::SBASE) op.src[0] = static_cast<u16>(location.value);
    if (operand.kind == OperandKind::SmemOffset && location.place == Place::Scalar)
      op.src[1] = static_cast<u16>(location.value);
  }
}

/// Vector memory and LDS: dst the row of the result, src[0] the row of the address, src[1] and src[2] those of the
/// data; the scalar address of GLOBAL and SCRATCH is src[2].
void Translator::set_vector_memory_operands(const Instruction& instruction, Op& op) {
  op.src[0] = op.src[2] = kNoOperand;
  for (int i = 0; i < instruction.row->operand_count; ++i) {
    const Operand& operand = instruction.row->operands[i];
    const Location location = locate(instruction, operand);
    if (location.place == Place::Nowhere) continue;
    const u16 value = is_vector(location) ? register_row(location) : static_cast<u16>(location.value);
    if (operand.field == Field::VDST) {
      op.dst = value;
      op.flags |= kReturns;
    }
    if (operand.field == Field::ADDR) op.src[0] = value;
    if (operand.field == Field::DATA || operand.field == Field::DATA0) op.src[1] = value;
    if (operand.field == Field::SADDR || operand.field == Field::DATA1) op.src[2] = value;
  }
  if (instruction.row->traits & isa::kDataFirst) std::swap(op.src[1], op.src[2]);  // DS_CMPST has them the other way
  const u32 takes = instruction.row->modifiers;
  if (takes & isa::kOffset01) op.imm = instruction[Field::OFFSET0] | instruction[Field::OFFSET1] << 16;
  if (takes & isa::kOffset) {
    op.imm = instruction[Field::OFFSET];
    if (instruction.row->format != Format::DS)
      op.imm = static_cast<u32>(sign_extended(op.imm, static_cast<int>(isa::offset_bits(*instruction.row))));
  }
}

/// Buffers: dst the row of the data, src[0] the first row of index and offset, src[1] the scalar offset, src[2] the
/// descriptor, dst2 the data and number format where the instruction has them, and bit 8 then.
void Translator::set_buffer_operands(const Instruction& instruction, Op& op) {
  for (int i = 0; i < instruction.row->operand_count; ++i) {
    const Operand& operand = instruction.row->operands[i];
    const Location location = locate(instruction, operand);
    if (location.place == Place::Nowhere) continue;
    const u16 value = is_vector(location) ? register_row(location) : static_cast<u16>(location.value);
    if (operand.field == Field::VDATA) op.dst = value;
    if (operand.field == Field::VADDR) op.src[0] = value;
    if (operand.field == Field::SOFFSET) op.src[1] = value;
    if (operand.field == Field::SRSRC) op.src[2] = value;
  }
  op.imm = instruction[Field::OFFSET];
  const u32 takes = instruction.row->modifiers;
  if (takes & isa::kFormat)
    op.dst2 = static_cast<u16>(instruction[Field::DFMT] | instruction[Field::NFMT] << 4 | 1u << 8);
  if ((takes & isa::kReturn) && instruction[Field::SC0] != 0) op.flags |= kReturns;
  if (isa::goes_to_lds(instruction)) op.flags |= kToLds;
  if (instruction[Field::IDXEN] != 0) op.flags |= kIndexEnabled;
  if (instruction[Field::OFFEN] != 0) op.flags |= kOffsetEnabled;
}

/// The sources of each half in their order. Behind two of them comes what the half adds to, its destination, or else
/// VCC, which v_dual_cndmask reads.
bool Translator::set_dual_operands(const Instruction& instruction, std::array<Op, 2>& parts) {
  const isa::Row& row = *instruction.row;
  for (Op& part : parts) {
    part.src[2] = sreg::kVcc;
    part.rows[2] = kSourceScalar;
  }
  int half = -1, sources = 0;
  try {
    for (const Operand& operand : std::span(row.operands, row.operand_count)) {
      if (operand.written) ++half, sources = 0;
      Op& part = parts[static_cast<size_t>(half)];
      if (!operand.written) {
        set_vector_source(instruction, operand, sources++, part);
        continue;
      }
      part.dst = register_row(locate(instruction, operand));
      if (operand.read) set_vector_source(instruction, operand, 2, part);
    }
  } catch (const NoSuchRegister&) {
    return false;
  }
  return true;
}

bool Translator::set_operands(const Instruction& instruction, Op& op) {
  try {
    switch (instruction.row->format) {
      case Format::SOP1:
      case Format::SOP2:
      case Format::SOPK:
      case Format::SOPC:
      case Format::SOPP:
        set_scalar_operands(instruction, op);
        break;
      case Format::SMEM:
        set_scalar_memory_operands(instruction, op);
        break;
      case Format::DS:
      case Format::FLAT:
      case Format::GLOBAL:
      case Format::SCRATCH:
        set_vector_memory_operands(instruction, op);
        break;
      case Format::MUBUF:
      case Format::MTBUF:
        set_buffer_operands(instruction, op);
        break;
      default:
        set_vector_operands(instruction, op);
        break;
    }
  } catch (const NoSuchRegister&) {
    return false;
  }
  return true;
}

}  // namespace wave::emulator
