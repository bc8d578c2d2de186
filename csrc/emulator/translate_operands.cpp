// How the operands of each format become the views of them that bodies read (op.h).
#include <algorithm>
#include <utility>

#include "emulator/constants.h"
#include "emulator/isa/fields.h"
#include "emulator/isa/operand.h"
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

/// The views of operands; matrix products are VOP3P, and have one of their own besides.
enum class View { None, Scalar, ScalarMemory, Vector, Flat, Lds, Buffer, Dual };

/// None: of a format that is not in this list.
constexpr View view_of(Format format) {
  switch (format) {
    case Format::SOP1:
    case Format::SOP2:
    case Format::SOPK:
    case Format::SOPC:
    case Format::SOPP:
      return View::Scalar;
    case Format::SMEM:
      return View::ScalarMemory;
    case Format::VOP1:
    case Format::VOP2:
    case Format::VOPC:
    case Format::VOP3:
    case Format::VOP3B:
    case Format::VOP3P:
    case Format::MAI:
    case Format::VOP3PX2:
    case Format::VOP1_SDWA:
    case Format::VOP2_SDWA:
    case Format::VOPC_SDWA:
    case Format::VOP1_DPP:
    case Format::VOP2_DPP:
    case Format::VOPC_DPP:
    case Format::VOP3_DPP:
    case Format::VOP3B_DPP:
    case Format::VOP3P_DPP:
    case Format::VOP1_DPP8:
    case Format::VOP2_DPP8:
    case Format::VOPC_DPP8:
    case Format::VOP3_DPP8:
    case Format::VOP3B_DPP8:
    case Format::VOP3P_DPP8:
      return View::Vector;
    case Format::VOPD:
      return View::Dual;
    case Format::DS:
      return View::Lds;
    case Format::FLAT:
    case Format::GLOBAL:
    case Format::SCRATCH:
      return View::Flat;
    case Format::MUBUF:
    case Format::MTBUF:
      return View::Buffer;
  }
  return View::None;
}
static_assert(std::ranges::none_of(isa::kFormats, [](Format format) { return view_of(format) == View::None; }),
              "a new format needs a view of its operands");

// A wave has 1,024 VGPRs at the most (gfx125x: KernelDescriptor::vgprs): sources name their rows after the scalar
// codes.
static_assert(sreg::kVgpr0 + 1024 < kNoOperand);

/// Thrown for a register that the kernel does not have; the operation then refuses to run.
struct NoSuchRegister {};

i32 sign_extended(u32 value, int bits) { return static_cast<i32>(value << (32 - bits)) >> (32 - bits); }

/// OFFSET of scalar memory, FLAT, GLOBAL and SCRATCH, whose sign the bits before it have, too.
i32 signed_offset(const Instruction& instruction) {
  return sign_extended(instruction[Field::OFFSET], static_cast<int>(isa::offset_bits(*instruction.row)));
}

bool is_vector(const Location& location) { return location.place == Place::Vgpr || location.place == Place::Agpr; }

/// The value of a literal for an operand of an instruction: a 64-bit float takes it as its high half (ISA document,
/// "Literal Constants"), a signed 64-bit operation extends its sign, others fill up with zeros, as compilers rely on.
u64 literal_value(const Instruction& instruction, OperandType type) {
  if (type == OperandType::F64) return u64{instruction.literal} << 32;
  return instruction.row->traits & isa::kSignedLiteral ? sign_extend(instruction.literal) : instruction.literal;
}

/// As which an inline constant counts: C of a product is of the type of D, whose rows have no type for tuples of
/// halves.
OperandType constant_type(const isa::Row& row, const Operand& operand) {
  if (row.matrix.m == 0) return operand.type;
  if (row.matrix.d == isa::Element::F16) return OperandType::F16;
  return row.matrix.d == isa::Element::Bf16 ? OperandType::Bf16 : operand.type;
}

/// The value of an inline constant. Those of V_FMA_MIX are f16 where OP_SEL_HI says so. V_PK_FMAC_F16 has no OP_SEL:
/// since GFX11 both of its halves are the constant (SIDefines.h of LLVM, OPERAND_REG_IMM_V2FP16_SPLAT), as are those of
/// the factors of V_DOT2_F16_F16 and V_DOT2_BF16_BF16 (RDNA3 ISA document, section 7.2.1). So are both of a pair of
/// f32: LLVM relies on it, and AMD's emulator does it (ROCm/rocm-systems, emulation/rocjitsu, pull request 10589).
u64 constant_value(const Instruction& instruction, const Operand& operand, int index, u32 code) {
  const isa::Row& row = *instruction.row;
  const bool is_mixed_half = (row.modifiers & isa::kMix) && (isa::op_sel_hi(instruction) >> index & 1);
  const u64 value = inline_constant(code, is_mixed_half ? OperandType::F16 : constant_type(row, operand));
  if (operand.type == OperandType::PackedF32) return (value & 0xffffffff) * 0x1'0000'0001;
  const bool is_pair = operand.type == OperandType::PackedF16 || operand.type == OperandType::PackedBf16;
  return is_pair && (row.traits & isa::kSplatConstants) ? (value & 0xffff) * 0x10001 : value;
}

}  // namespace

/// The core has the scalar registers of GFX9. Later ones have null, which reads as zero and drops what is written, at
/// the code of M0.
Location Translator::locate(const Instruction& instruction, const Operand& operand) const {
  Location location = isa::locate(instruction, operand);
  const isa::Features& family = isa::features(instruction.row->generation);
  if (!family.has_null || location.place != Place::Scalar) return location;
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
  const u32 row = location.value + (location.place == Place::Agpr ? registers_.vgprs : 0);
  if (row + std::max<u32>(location.dwords, 1) > registers_.vgprs + registers_.agprs) throw NoSuchRegister();
  return static_cast<u16>(row);
}

u16 Translator::scalar_or_row(const Instruction& instruction, const Operand& operand) const {
  const Location location = locate(instruction, operand);
  if (location.place == Place::Nowhere) return kNoOperand;
  return is_vector(location) ? register_row(location) : static_cast<u16>(location.value);
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

void Translator::set_vector_source(const Instruction& instruction, const Operand& operand, int index,
                                   VectorOperands& to) {
  const Location location = locate(instruction, operand);
  to.src[index] = static_cast<u16>(location.value);
  if (is_vector(location)) {
    const u16 row = register_row(location);
    to.rows[index] = row * sizeof(LaneRow);
    to.src[index] = static_cast<u16>(sreg::kVgpr0 + row);
  } else if (location.place == Place::Immediate) {
    to.rows[index] = constant_rows(location.value);
  } else if (location.value == sreg::kLiteral) {
    to.rows[index] = constant_rows(literal_value(instruction, operand.type));
  } else if (is_inline_constant(location.value)) {
    to.rows[index] = constant_rows(constant_value(instruction, operand, index, location.value));
  } else {
    to.rows[index] = kSourceScalar;
  }
}

VectorOperands Translator::vector_operands(const Instruction& instruction) {
  const isa::Row& row = *instruction.row;
  VectorOperands operands{};
  operands.literal = instruction.literal;
  if (row.traits & isa::kWritesExec) operands.scalar_dst = sreg::kExec;  // where no operand says otherwise
  int sources = 0;
  const Operand* accumulated = nullptr;
  for (const Operand& operand : std::span(row.operands, row.operand_count)) {
    if (operand.field == Field::SCALE_SRC0 || operand.field == Field::SCALE_SRC1)
      continue;                                              // matrix_operands() has them
    if (!operand.written || operand.field == Field::SRC0) {  // v_swap writes its source as well
      set_vector_source(instruction, operand, sources++, operands);
      continue;
    }
    const Location location = locate(instruction, operand);
    if (is_vector(location)) {
      operands.dst = register_row(location);
    } else {
      operands.scalar_dst = static_cast<u16>(location.value);
    }
    if (operand.read) accumulated = &operand;
  }
  const bool has_upper_half = registers_.lanes > 32 && operands.scalar_dst != kDiscarded;
  operands.mask_high = has_upper_half ? static_cast<u16>(operands.scalar_dst + 1) : kDiscarded;
  // Where three sources are taken, the destination is read for the bits that it keeps, or is SMFMAC's: both know dst.
  if (accumulated != nullptr && sources < 3) set_vector_source(instruction, *accumulated, sources, operands);
  operands.modifiers = modifiers(instruction);
  return operands;
}

/// The row of a product's scales; 0 where it has none.
u16 Translator::scale_row(const Instruction& instruction, Field field) const {
  const isa::Row& row = *instruction.row;
  const std::span operands(row.operands, row.operand_count);
  const auto operand = std::ranges::find(operands, field, &Operand::field);
  return operand == operands.end() ? u16{0} : register_row(locate(instruction, *operand));
}

MatrixOperands Translator::matrix_operands(const Instruction& instruction) {
  const VectorOperands operands = vector_operands(instruction);
  const u32 takes = instruction.row->modifiers;
  const auto modifier = [&](u32 taken, Field field) { return static_cast<u8>(takes & taken ? instruction[field] : 0); };
  const u32 low = instruction[Field::OP_SEL], high = instruction[Field::OP_SEL_HI];
  return {
      .rows = {operands.rows[0], operands.rows[1], operands.rows[2]},
      .dst = operands.dst,
      .cbsz = modifier(isa::kCbsz, Field::CBSZ),
      .abid = modifier(isa::kCbsz, Field::ABID),
      .blgp = modifier(isa::kBlgp | isa::kBlgpNeg, Field::BLGP),
      .scales = {scale_row(instruction, Field::SCALE_SRC0), scale_row(instruction, Field::SCALE_SRC1)},
      .scale_bytes = {static_cast<u8>((low & 1) | (high & 1) << 1), static_cast<u8>(low >> 1 | high >> 1 << 1)},
      .negate = static_cast<u8>(instruction[Field::NEG]),
      .negate_high = static_cast<u8>(instruction[Field::NEG_HI]),
      .op_sel = static_cast<u8>(low),
      .clamp = instruction[Field::CLAMP] != 0,
  };
}

/// A SIMM16 that is a source of the operation (SOPK) is put where bodies find literals.
ScalarOperands Translator::scalar_operands(const Instruction& instruction) const {
  const isa::Row& row = *instruction.row;
  ScalarOperands operands{};
  operands.literal = instruction.literal;
  int sources = 0;
  for (const Operand& operand : std::span(row.operands, row.operand_count)) {
    const Location location = locate(instruction, operand);
    if (operand.field == Field::LITERAL) {
      operands.literal = location.value;
    } else if (location.place == Place::Immediate) {
      operands.simm16 = static_cast<u16>(location.value);
      operands.literal = static_cast<u32>(sign_extended(location.value, 16));
      operands.src[sources++] = sreg::kLiteral;
    } else if (operand.written) {
      operands.dst = static_cast<u16>(location.value);
    } else {
      operands.src[sources++] = static_cast<u16>(location.value);
    }
  }
  return operands;
}

ScalarMemoryOperands Translator::scalar_memory_operands(const Instruction& instruction) const {
  const isa::Row& row = *instruction.row;
  ScalarMemoryOperands operands{};
  operands.offset_register = kNoOperand;
  if (!isa::features(row.generation).has_smem_registers || instruction[Field::IMM] != 0)
    operands.offset = signed_offset(instruction);
  operands.returns = (row.modifiers & isa::kReturn) && isa::returns_value(instruction);
  for (const Operand& operand : std::span(row.operands, row.operand_count)) {
    const Location location = locate(instruction, operand);
    if (operand.field == Field::SDATA) operands.data = static_cast<u16>(location.value);
    if (operand.field == Field::SBASE) operands.base = static_cast<u16>(location.value);
    if (operand.kind == OperandKind::SmemOffset && location.place == Place::Scalar)
      operands.offset_register = static_cast<u16>(location.value);
  }
  return operands;
}

FlatOperands Translator::flat_operands(const Instruction& instruction) const {
  const isa::Row& row = *instruction.row;
  FlatOperands operands{};
  operands.address = operands.base = operands.dst = kNoOperand;
  if (row.modifiers & isa::kOffset) operands.offset = signed_offset(instruction);
  for (const Operand& operand : std::span(row.operands, row.operand_count)) {
    const u16 value = scalar_or_row(instruction, operand);
    if (operand.field == Field::VDST) operands.dst = value;
    if (operand.field == Field::ADDR) operands.address = value;
    if (operand.field == Field::DATA) operands.data = value;
    if (operand.field == Field::SADDR) operands.base = value;
  }
  operands.returns = operands.dst != kNoOperand;
  return operands;
}

LdsOperands Translator::lds_operands(const Instruction& instruction) const {
  const isa::Row& row = *instruction.row;
  LdsOperands operands{};
  operands.address = operands.dst = kNoOperand;
  for (const Operand& operand : std::span(row.operands, row.operand_count)) {
    const u16 value = scalar_or_row(instruction, operand);
    if (operand.field == Field::VDST) operands.dst = value;
    if (operand.field == Field::ADDR) operands.address = value;
    if (operand.field == Field::DATA0) operands.data[0] = value;
    if (operand.field == Field::DATA1) operands.data[1] = value;
  }
  operands.returns = operands.dst != kNoOperand;
  if (row.traits & isa::kDataFirst) std::swap(operands.data[0], operands.data[1]);  // DS_CMPST has them the other way
  const bool has_two = row.modifiers & isa::kOffset01;
  operands.offset[0] = static_cast<u16>(instruction[has_two ? Field::OFFSET0 : Field::OFFSET]);
  if (has_two) operands.offset[1] = static_cast<u16>(instruction[Field::OFFSET1]);
  return operands;
}

BufferOperands Translator::buffer_operands(const Instruction& instruction) const {
  const isa::Row& row = *instruction.row;
  BufferOperands operands{};
  for (const Operand& operand : std::span(row.operands, row.operand_count)) {
    const u16 value = scalar_or_row(instruction, operand);
    if (operand.field == Field::VDATA) operands.data = value;
    if (operand.field == Field::VADDR) operands.address = value;
    if (operand.field == Field::SOFFSET) operands.scalar_offset = value;
    if (operand.field == Field::SRSRC) operands.descriptor = value;
  }
  operands.offset = instruction[Field::OFFSET];
  operands.has_format = row.modifiers & isa::kFormat;
  if (operands.has_format) {
    operands.data_format = static_cast<u8>(instruction[Field::DFMT]);
    operands.number_format = static_cast<u8>(instruction[Field::NFMT]);
    operands.format = static_cast<u8>(instruction[Field::FORMAT]);
  }
  operands.returns = (row.modifiers & isa::kReturn) && isa::returns_value(instruction);
  operands.to_lds = isa::goes_to_lds(instruction);
  operands.index_enabled = instruction[Field::IDXEN] != 0;
  operands.offset_enabled = instruction[Field::OFFEN] != 0;
  return operands;
}

/// The sources of each half in their order. Behind two of them comes what the half adds to, its destination, or else
/// VCC, which v_dual_cndmask reads.
bool Translator::set_dual_operands(const Instruction& instruction, std::array<Op, 2>& parts) {
  const isa::Row& row = *instruction.row;
  for (Op& part : parts) {
    part.vector.src[2] = sreg::kVcc;
    part.vector.rows[2] = kSourceScalar;
  }
  int half = -1, sources = 0;
  try {
    for (const Operand& operand : std::span(row.operands, row.operand_count)) {
      if (operand.written) ++half, sources = 0;
      VectorOperands& part = parts[static_cast<size_t>(half)].vector;
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
    switch (view_of(instruction.row->format)) {
      case View::Scalar:
        op.scalar = scalar_operands(instruction);
        return true;
      case View::ScalarMemory:
        op.scalar_memory = scalar_memory_operands(instruction);
        return true;
      case View::Vector:
        if (instruction.row->matrix.m != 0) {
          op.matrix = matrix_operands(instruction);
        } else {
          op.vector = vector_operands(instruction);
        }
        return true;
      case View::Flat:
        op.flat = flat_operands(instruction);
        return true;
      case View::Lds:
        op.lds = lds_operands(instruction);
        return true;
      case View::Buffer:
        op.buffer = buffer_operands(instruction);
        return true;
      case View::Dual:  // set_dual_operands
      case View::None:
        return false;
    }
  } catch (const NoSuchRegister&) {
  }
  return false;
}

}  // namespace wave::emulator
