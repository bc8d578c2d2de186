#include "emulator/isa/operand.h"

#include "emulator/isa/fields.h"

namespace wave::isa {
namespace {

constexpr uint32_t kVgprs = 256;

/// Whether the operand is absent because of a modifier: VDST of an atomic that returns nothing, VDATA or VDST of a load
/// into LDS.
bool is_absent(const Instruction& instruction, const Operand& operand) {
  const bool is_data = operand.field == Field::VDATA || operand.field == Field::VDST;
  if (is_data && goes_to_lds(instruction)) return true;
  const bool returns = (instruction.row->modifiers & kReturn) != 0;
  return returns && operand.field == Field::VDST && instruction[Field::SC0] == 0;
}

bool is_accumulator(const Instruction& instruction, Field field) {
  if (instruction.row->format != Format::MAI) return instruction[Field::ACC] != 0;
  if (field == Field::SRC0) return (instruction[Field::ACC] & 1) != 0;
  if (field == Field::SRC1) return (instruction[Field::ACC] & 2) != 0;
  return instruction[Field::ACC_CD] != 0;
}

/// Codes of 9-bit fields count vector registers from 256 on.
Location vector(const Operand& operand, uint32_t code, bool accumulator) {
  return {accumulator ? Place::Agpr : Place::Vgpr, operand.dwords, code & (kVgprs - 1)};
}

Location scalar(const Operand& operand, uint32_t code) { return {Place::Scalar, operand.dwords, code}; }

/// The number of vector registers in an address, by the addressing mode.
uint8_t address_dwords(const Instruction& instruction, const Operand& operand) {
  switch (instruction.row->format) {
    case Format::GLOBAL:
      return instruction[Field::SADDR] == kOff ? 2 : 1;
    case Format::SCRATCH:
      if (precedes_gfx940(*instruction.row)) return instruction[Field::SADDR] == kOff ? 1 : 0;
      return instruction[Field::SVE] != 0 ? 1 : 0;
    case Format::MUBUF:
    case Format::MTBUF:
      return static_cast<uint8_t>(instruction[Field::OFFEN] + instruction[Field::IDXEN]);
    default:
      return operand.dwords;
  }
}

/// IMM and SOFFSET_EN: 1 0 the immediate, 0 0 the register in OFFSET, 0 1 the one in SOFFSET, 1 1 it plus the
/// immediate.
Location smem_offset(const Instruction& instruction) {
  if (instruction[Field::SOFFSET_EN] != 0) return {Place::Scalar, 1, instruction[Field::SOFFSET]};
  const uint32_t offset = instruction[Field::OFFSET];
  if (instruction[Field::IMM] != 0) return {Place::Immediate, 1, offset};
  return {Place::Scalar, 1, offset & 127};
}

Location sdwa_source(const Instruction& instruction, const Operand& operand, uint32_t code) {
  const Field is_scalar = operand.field == Field::SRC0 ? Field::S0 : Field::S1;
  return instruction[is_scalar] != 0 ? scalar(operand, code) : vector(operand, code, false);
}

Location address(const Instruction& instruction, const Operand& operand, uint32_t code) {
  const uint8_t dwords = address_dwords(instruction, operand);
  return {dwords == 0 ? Place::Nowhere : Place::Vgpr, dwords, code};
}

/// The registers that one unit of the field stands for.
uint32_t scale(Field field) { return field == Field::SBASE ? 2 : field == Field::SRSRC ? 4 : 1; }

/// As locate, but for the alignment of scalar registers.
Location find(const Instruction& instruction, const Operand& operand) {
  if (is_absent(instruction, operand)) return {Place::Nowhere, 0, 0};
  const uint32_t code = instruction[operand.field];
  switch (operand.kind) {
    case OperandKind::Vgpr:
      return vector(operand, code, false);
    case OperandKind::Agpr:
      return vector(operand, code, true);
    case OperandKind::VgprOrAgpr:
      return vector(operand, code, is_accumulator(instruction, operand.field));
    case OperandKind::Sgpr:
      return scalar(operand, code * scale(operand.field));
    case OperandKind::ScalarSource:
      return scalar(operand, code);
    case OperandKind::VectorSource:
      return code < kVgprs ? scalar(operand, code) : vector(operand, code, false);
    case OperandKind::MatrixSource:
      return code < kVgprs ? scalar(operand, code) : vector(operand, code, is_accumulator(instruction, operand.field));
    case OperandKind::SdwaSource:
      return sdwa_source(instruction, operand, code);
    case OperandKind::SdwaSdst:
      return scalar(operand, instruction[Field::SD] != 0 ? code : uint32_t{kVcc});
    case OperandKind::SgprOrOff:
      return code == kOff ? Location{Place::Nowhere, 0, 0} : scalar(operand, code);
    case OperandKind::Address:
      return address(instruction, operand, code);
    case OperandKind::SmemOffset:
      return smem_offset(instruction);
    case OperandKind::Vcc:
      return scalar(operand, kVcc);
    case OperandKind::BranchTarget:
    case OperandKind::Immediate:
      return {Place::Immediate, 1, code};
  }
  return {Place::Nowhere, 0, 0};
}

/// The document wants tuples of two to start at even registers, larger ones at multiples of four. LLVM reads others as
/// the aligned tuple that they lie in, with a warning, and so do we; what the hardware does is unverified.
uint32_t align(uint32_t number, uint32_t dwords) { return number & ~(dwords == 1 ? 0 : dwords == 2 ? 1u : 3u); }

bool is_scalar_register(uint32_t code, uint32_t dwords) {
  if (dwords == 1) return code < 128 && code != 125;
  if (code >= kTtmp && code < kTtmpEnd) return align(code - kTtmp, dwords) + dwords <= kTtmpEnd - kTtmp;
  if (code < kSgprs) return dwords == 2 || align(code, dwords) + dwords <= kSgprs + 2;
  return dwords == 2 && (code == kFlatScratch || code == kXnackMask || code == kVcc || code == kExec);
}

bool is_inline_constant(uint32_t code) {
  return (code >= kZero && code < kIntegersEnd) || (code >= kHalf && code < kFloatsEnd);
}

bool is_special_value(uint32_t code) { return (code >= kApertures && code < kHalf) || (code >= kVccz && code <= kScc); }

/// Whether a scalar register may be a destination or a mask here. SMEM cannot load into M0 and EXEC; the carries and
/// masks in SRC2 cannot be EXEC. LLVM finds both invalid; the document does not speak of them.
bool is_allowed(const Operand& operand, uint32_t code) {
  if (operand.field == Field::SDATA) return code != kM0 && code < kExec;
  if (operand.field == Field::SRC2 && operand.kind == OperandKind::Sgpr) return code != kExec;
  return true;
}

bool is_legal_scalar(const Instruction& instruction, const Operand& operand, const Location& location) {
  const uint32_t code = location.value;
  if (is_scalar_register(code, location.dwords)) {
    return operand.kind != OperandKind::MatrixSource && is_allowed(operand, code);
  }
  switch (operand.kind) {
    case OperandKind::ScalarSource:
    case OperandKind::VectorSource:
    case OperandKind::SdwaSource:
      break;
    case OperandKind::MatrixSource:
      return is_inline_constant(code);
    default:
      return false;
  }
  if (is_inline_constant(code) || is_special_value(code)) return true;
  if (code == kLiteral) return takes_literal(instruction, operand);
  return code == kLdsDirect && operand.kind != OperandKind::ScalarSource && location.dwords == 1;
}

}  // namespace

bool goes_to_lds(const Instruction& instruction) {
  return (instruction.row->modifiers & kLds) != 0 && instruction[Field::LDS] != 0;
}

Location locate(const Instruction& instruction, const Operand& operand) {
  Location location = find(instruction, operand);
  if (location.place == Place::Scalar && location.value < kTtmpEnd) {
    const uint32_t base = location.value >= kTtmp ? uint32_t{kTtmp} : 0;
    location.value = base + align(location.value - base, location.dwords);
  }
  return location;
}

bool is_legal(const Instruction& instruction, const Operand& operand) {
  const Location location = find(instruction, operand);
  switch (location.place) {
    case Place::Vgpr:
    case Place::Agpr:
      return location.value + location.dwords <= kVgprs;
    case Place::Scalar:
      return is_legal_scalar(instruction, operand, location);
    default:
      return true;
  }
}

bool takes_literal(const Instruction& instruction, const Operand& operand) {
  if (operand.field == Field::LITERAL) return true;
  const bool source = operand.kind == OperandKind::ScalarSource || operand.kind == OperandKind::VectorSource;
  return source && dwords(instruction.row->format) == 1 && instruction[operand.field] == kLiteral;
}

}  // namespace wave::isa
