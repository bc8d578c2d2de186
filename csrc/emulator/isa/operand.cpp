#include "emulator/isa/operand.h"

#include <algorithm>
#include <span>

#include "emulator/isa/fields.h"

namespace wave::isa {
namespace {

constexpr uint32_t kVgprs = 256;

/// Whether the operand is absent because of a modifier: VDST of an atomic that returns nothing, VDATA or VDST of a load
/// into LDS.
bool is_absent(const Instruction& instruction, const Operand& operand) {
  const bool is_data = operand.field == Field::VDATA || operand.field == Field::VDST;
  if (is_data && goes_to_lds(instruction)) return true;
  const bool is_atomic = (instruction.row->modifiers & kReturn) != 0;
  return is_atomic && operand.field == Field::VDST && !returns_value(instruction);
}

bool is_accumulator(const Instruction& instruction, Field field) {
  const Format format = instruction.row->format;
  if (format != Format::MAI && format != Format::VOP3PX2) return instruction[Field::ACC] != 0;
  if (field == Field::SRC0) return (instruction[Field::ACC] & 1) != 0;
  if (field == Field::SRC1) return (instruction[Field::ACC] & 2) != 0;
  return instruction[Field::ACC_CD] != 0;
}

constexpr uint32_t kUpperHalf = 128;  // the last bit of a register's number, where it says which half is meant

/// Formats of vector arithmetic whose operands stand in encodings of 32 bits.
bool has_short_operands(Format format) {
  switch (format) {
    case Format::VOP1:
    case Format::VOP2:
    case Format::VOPC:
    case Format::VOP1_DPP:
    case Format::VOP2_DPP:
    case Format::VOPC_DPP:
    case Format::VOP1_DPP8:
    case Format::VOP2_DPP8:
    case Format::VOPC_DPP8:
      return true;
    default:
      return false;
  }
}

bool has_halves(const Row& row, const Operand& operand) {
  if (!is_16_bits(operand.type) || !features(row.generation).has_halves) return false;
  const bool is_vop3 = row.format == Format::VOP3 || row.format == Format::VOP3_DPP || row.format == Format::VOP3_DPP8;
  return is_vop3 || has_short_operands(row.format);
}

/// The registers of a factor of v_mfma_*_f8f6f4, whose format a field names: of 8 bits, 6 or 4. Codes that name none
/// count as 8 bits.
uint8_t factor_dwords(const Instruction& instruction, Field field) {
  const uint32_t format = instruction[field == Field::SRC0 ? Field::CBSZ : Field::BLGP];
  return format == 2 || format == 3 ? 6 : format == 4 ? 4 : 8;
}

/// Codes of 9-bit fields count vector registers from 256 on.
Location vector(const Operand& operand, uint32_t code, bool accumulator) {
  return {accumulator ? Place::Agpr : Place::Vgpr, operand.dwords, code & (kVgprs - 1)};
}

Location scalar(const Operand& operand, uint32_t code) { return {Place::Scalar, operand.dwords, code}; }

/// The registers of an operand of a product since GFX11. Rows are for waves of 32 lanes; in those of 64 a matrix takes
/// half of them, down to one, but for the factors of GFX11, which each group of 16 lanes has as a whole.
uint8_t matrix_dwords(const Instruction& instruction, const Operand& operand) {
  const bool is_factor = operand.field == Field::SRC0 || operand.field == Field::SRC1;
  const bool is_whole = is_factor && features(instruction.row->generation).matrices_fill_halves;
  return instruction.lanes == 64 && !is_whole && operand.dwords > 1 ? operand.dwords / 2 : operand.dwords;
}

/// The number of vector registers in an address, by the addressing mode.
uint8_t address_dwords(const Instruction& instruction, const Operand& operand) {
  switch (instruction.row->format) {
    case Format::GLOBAL:
      return instruction[Field::SADDR] == scalar_codes(instruction.row->generation).off ? 2 : 1;
    case Format::SCRATCH:
      if (instruction.row->precedes_gfx940 || instruction.row->generation == Generation::GFX10)
        return instruction[Field::SADDR] == scalar_codes(instruction.row->generation).off ? 1 : 0;
      return instruction[Field::SVE] != 0 ? 1 : 0;
    case Format::MUBUF:
    case Format::MTBUF:
      return static_cast<uint8_t>(instruction[Field::OFFEN] + instruction[Field::IDXEN]);
    default:
      return operand.dwords;
  }
}

/// IMM and SOFFSET_EN: 1 0 the immediate, 0 0 the register in OFFSET, 0 1 the one in SOFFSET, 1 1 it plus the
/// immediate. Since GFX10 there is always an immediate, and a register unless SOFFSET is null.
Location smem_offset(const Instruction& instruction) {
  const Generation generation = instruction.row->generation;
  if (!features(generation).has_smem_registers) {
    const uint32_t code = instruction[Field::SOFFSET];
    if (code == scalar_codes(generation).null) return {Place::Immediate, 1, instruction[Field::OFFSET]};
    return {Place::Scalar, 1, code};
  }
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
uint32_t scale(Generation generation, Field field) {
  if (field == Field::SBASE) return 2;
  return field == Field::SRSRC ? features(generation).descriptor_unit : 1;
}

/// VDSTY of VOPD lacks its lowest bit: the two destinations are an even and an odd register. Of halves of registers the
/// highest bit says which half is meant.
uint32_t vector_code(const Instruction& instruction, const Operand& operand) {
  const uint32_t code = instruction[operand.field];
  if (operand.field == Field::VDSTY) return 2 * code + (~instruction[Field::VDSTX] & 1);
  const bool is_short = has_halves(*instruction.row, operand) && has_short_operands(instruction.row->format);
  return is_short ? code & ~kUpperHalf : code;
}

Location vector_or_accumulator(const Instruction& instruction, const Operand& operand, uint32_t code) {
  Location location = vector(operand, code, is_accumulator(instruction, operand.field));
  const bool is_factor = operand.field == Field::SRC0 || operand.field == Field::SRC1;
  if (is_factor && (instruction.row->traits & kMixedFormats) != 0)
    location.dwords = factor_dwords(instruction, operand.field);
  return location;
}

/// Whether SADDR says that there is no scalar register. exec_hi says so in SCRATCH of GFX10, where null says besides
/// that there is a vector register.
bool is_off(const Row& row, uint32_t code) {
  if (row.generation == Generation::GFX10 && row.format == Format::SCRATCH && code == kExec + 1) return true;
  return code == scalar_codes(row.generation).off;
}

/// Without what depends on the size of waves, and without the alignment of scalar registers.
Location find_in_wave32(const Instruction& instruction, const Operand& operand) {
  if (is_absent(instruction, operand)) return {Place::Nowhere, 0, 0};
  const uint32_t code = instruction[operand.field];
  switch (operand.kind) {
    case OperandKind::Vgpr:
      return vector(operand, vector_code(instruction, operand), false);
    case OperandKind::Agpr:
      return vector(operand, code, true);
    case OperandKind::VgprOrAgpr:
      return vector_or_accumulator(instruction, operand, code);
    case OperandKind::Sgpr:
      return scalar(operand, code * scale(instruction.row->generation, operand.field));
    case OperandKind::ScalarSource:
      return scalar(operand, code);
    case OperandKind::VectorSource:
      return code < kVgprs ? scalar(operand, code) : vector(operand, vector_code(instruction, operand), false);
    case OperandKind::MatrixSource:
      return code < kVgprs ? scalar(operand, code) : vector(operand, code, is_accumulator(instruction, operand.field));
    case OperandKind::SdwaSource:
      return sdwa_source(instruction, operand, code);
    case OperandKind::SdwaSdst:
      return scalar(operand, instruction[Field::SD] != 0 ? code : uint32_t{kVcc});
    case OperandKind::SgprOrOff:
      return is_off(*instruction.row, code) ? Location{Place::Nowhere, 0, 0} : scalar(operand, code);
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

/// Whether an operand of a vector instruction is a mask of lanes, which has 64 bits in waves of 64.
bool is_mask(const Row& row, const Operand& operand) {
  if (operand.kind == OperandKind::Vcc || operand.kind == OperandKind::SdwaSdst) return true;
  if (operand.kind != OperandKind::Sgpr) return false;
  const bool is_result = operand.written && (row.traits & kWritesMask) != 0;
  return is_result || (row.kind == Kind::VectorAlu && operand.field == Field::SRC2);
}

/// As locate, but for the alignment of scalar registers.
Location find(const Instruction& instruction, const Operand& operand) {
  Location location = find_in_wave32(instruction, operand);
  const Row& row = *instruction.row;
  if (row.generation == Generation::GFX9) return location;
  if (row.matrix.m != 0 && location.place == Place::Vgpr) location.dwords = matrix_dwords(instruction, operand);
  if (instruction.lanes == 64 && is_mask(row, operand)) location.dwords = 2;
  return location;
}

/// The document wants tuples of two to start at even registers, larger ones at multiples of four. LLVM reads others as
/// the aligned tuple that they lie in, with a warning, and so do we; what the hardware does is unverified.
uint32_t align(uint32_t number, uint32_t dwords) { return number & ~(dwords == 1 ? 0 : dwords == 2 ? 1u : 3u); }

bool is_scalar_register(Generation generation, uint32_t code, uint32_t dwords) {
  const Features& family = features(generation);
  const ScalarCodes& codes = family.codes;
  if (code == codes.null) return family.has_null;
  if (dwords == 1) return code < 128;
  if (code >= kTtmp && code < kTtmpEnd) return dwords != 3 && align(code - kTtmp, dwords) + dwords <= kTtmpEnd - kTtmp;
  const uint32_t end = codes.sgprs + (family.flat_scratch_in_sgprs ? 2 : 0);
  if (code < codes.sgprs) return dwords == 2 || align(code, dwords) + dwords <= end;
  if (dwords != 2) return false;
  return code == kVcc || code == kExec ||
         (family.flat_scratch_in_sgprs && (code == kFlatScratch || code == kXnackMask));
}

bool is_inline_constant(uint32_t code) {
  return (code >= kZero && code < kIntegersEnd) || (code >= kHalf && code < kFloatsEnd);
}

bool is_special_value(uint32_t code) { return (code >= kApertures && code < kHalf) || (code >= kVccz && code <= kScc); }

/// Whether a scalar register may be a destination or an address here. SMEM cannot load into M0 and EXEC; M0 cannot be
/// the result of v_readlane and v_readfirstlane, nor EXEC that of GFX12's scalar transcendentals; an address in GLOBAL
/// cannot be EXEC, nor one in SCRATCH exec_hi. LLVM finds these invalid; the documents do not speak of them.
bool is_allowed(const Instruction& instruction, const Operand& operand, uint32_t code) {
  const Row& row = *instruction.row;
  const uint32_t m0 = scalar_codes(row.generation).m0;
  if (operand.field == Field::SDATA) return code != m0 && code < kExec;
  if (operand.field == Field::SADDR && row.format == Format::GLOBAL)
    return code != kExec || (row.traits & kExecAddress) != 0;
  if (operand.field == Field::SADDR && row.format == Format::SCRATCH) return code != kExec + 1;
  if (!operand.written) return true;
  if ((row.traits & kNotToM0) != 0 && code == m0) return false;
  return (row.traits & kNotToExec) == 0 || code < kExec;
}

bool is_legal_scalar(const Instruction& instruction, const Operand& operand, const Location& location) {
  const uint32_t code = location.value;
  if (is_scalar_register(instruction.row->generation, code, location.dwords)) {
    return operand.kind != OperandKind::MatrixSource && is_allowed(instruction, operand, code);
  }
  switch (operand.kind) {
    case OperandKind::ScalarSource:
    case OperandKind::VectorSource:
    case OperandKind::SdwaSource:
      break;
    case OperandKind::MatrixSource:
      return is_inline_constant(code) || (code == kLiteral && takes_literal(instruction, operand));
    default:
      return false;
  }
  if (is_inline_constant(code) || is_special_value(code)) return true;
  if (code == kLiteral) return takes_literal(instruction, operand);
  return code == kLdsDirect && operand.kind != OperandKind::ScalarSource && location.dwords == 1;
}

/// Whether an operand that can be a vector register only stands in nine bits, and these are a scalar's. Most rows have
/// fixed the highest of them, but not those of VOP3PX2, beyond the second dword.
bool is_scalar_code(const Instruction& instruction, const Operand& operand) {
  const bool is_wide = position(instruction.row->generation, instruction.row->format, operand.field).width == 9;
  return is_wide && instruction[operand.field] < kVgprs;
}

}  // namespace

bool returns_value(const Instruction& instruction) {
  return (instruction[Field::SC0] | instruction[Field::GLC] | (instruction[Field::TH] & 1)) != 0;
}

bool has_result(const Instruction& instruction) {
  const Row& row = *instruction.row;
  if ((row.modifiers & kReturn) != 0) return returns_value(instruction);
  return std::ranges::any_of(std::span(row.operands, row.operand_count),
                             [](const Operand& one) { return one.written; });
}

uint32_t index_sets(const Instruction& instruction) {
  const MatrixProduct& matrix = instruction.row->matrix;
  constexpr uint32_t kIndexBits = 2, kRegisterBits = 32;
  const uint32_t values = matrix.m * matrix.k / 2u;  // of A
  // Half of the lanes have the factor of 16x32 values of 4 bits in waves of 64, too.
  const bool has_idle_lanes = instruction.lanes == 64 && matrix.a == Element::I4 && matrix.k == 32;
  const uint32_t lanes = has_idle_lanes ? 32u : instruction.lanes;
  return kRegisterBits * lanes / (kIndexBits * values);
}

unsigned offset_bits(const Row& row) {
  const Features& family = features(row.generation);
  return row.format == Format::SMEM ? family.scalar_offset_bits : family.vector_offset_bits;
}

bool goes_to_lds(const Instruction& instruction) {
  return (instruction.row->modifiers & kLds) != 0 && instruction[Field::LDS] != 0;
}

bool loads_to_lds(const Instruction& instruction) {
  const Row& row = *instruction.row;
  if (row.kind != Kind::VectorMemory || row.memory.direction != MemoryAccess::Direction::Load) return false;
  const auto is_result = [](const Operand& operand) { return operand.written; };
  return goes_to_lds(instruction) || std::ranges::none_of(std::span(row.operands, row.operand_count), is_result);
}

Location locate(const Instruction& instruction, const Operand& operand) {
  Location location = find(instruction, operand);
  if (location.place == Place::Scalar && location.value < kTtmpEnd) {
    const uint32_t base = location.value >= kTtmp ? uint32_t{kTtmp} : 0;
    location.value = base + align(location.value - base, location.dwords);
  }
  return location;
}

bool is_half(const Instruction& instruction, const Operand& operand) {
  return has_halves(*instruction.row, operand) && find(instruction, operand).place == Place::Vgpr;
}

bool is_upper_half(const Instruction& instruction, const Operand& operand) {
  if (!is_16_bits(operand.type)) return false;
  const Row& row = *instruction.row;
  if (has_short_operands(row.format)) {
    return is_half(instruction, operand) && (instruction[operand.field] & kUpperHalf) != 0;
  }
  constexpr uint32_t kDestination = 8;
  const uint32_t op_sel = instruction[Field::OP_SEL];
  if (operand.field == Field::VDST) return (row.modifiers & kOpSelDst) != 0 && (op_sel & kDestination) != 0;
  if ((row.modifiers & kOpSel) == 0) return false;
  const unsigned source = operand.field == Field::SRC0 ? 0 : operand.field == Field::SRC1 ? 1 : 2;
  return (op_sel >> source & 1) != 0;
}

bool is_legal(const Instruction& instruction, const Operand& operand, bool has_aligned_tuples) {
  const Location location = find(instruction, operand);
  switch (location.place) {
    case Place::Vgpr:
    case Place::Agpr:
      if (is_scalar_code(instruction, operand)) return false;
      if (location.value + location.dwords > kVgprs) return false;
      if (!has_aligned_tuples || location.dwords < 2 || location.value % 2 == 0) return true;
      return (instruction.row->traits & kAnyTuple) != 0;
    case Place::Scalar:
      return is_legal_scalar(instruction, operand, location);
    default:
      return true;
  }
}

bool takes_literal(const Instruction& instruction, const Operand& operand) {
  if (operand.field == Field::LITERAL) return true;
  const bool source = operand.kind == OperandKind::ScalarSource || operand.kind == OperandKind::VectorSource ||
                      operand.kind == OperandKind::MatrixSource;
  const Row& row = *instruction.row;
  if ((row.traits & kNoLiteral) != 0) return false;
  return source && takes_literals(row.generation, row.format) && instruction[operand.field] == kLiteral;
}

}  // namespace wave::isa
