// Registers, constants and input modifiers.
#include <algorithm>
#include <iterator>
#include <string_view>

#include "emulator/isa/disassemble.h"
#include "emulator/isa/operand.h"

namespace wave::isa {
namespace {

constexpr const char* kFloats[] = {"0.5", "-0.5", "1.0", "-1.0", "2.0", "-2.0", "4.0", "-4.0"};
constexpr uint16_t kHalfFloats[] = {0x3800, 0xb800, 0x3c00, 0xbc00, 0x4000, 0xc000, 0x4400, 0xc400, 0x3118};
constexpr uint16_t kBrainFloats[] = {0x3f00, 0xbf00, 0x3f80, 0xbf80, 0x4000, 0xc000, 0x4080, 0xc080, 0x3e22};
constexpr uint32_t kSingleFloats[] = {0x3f000000, 0xbf000000, 0x3f800000, 0xbf800000, 0x40000000,
                                      0xc0000000, 0x40800000, 0xc0800000, 0x3e22f983};
constexpr uint32_t kDoubleFloatHighs[] = {0x3fe00000, 0xbfe00000, 0x3ff00000, 0xbff00000,
                                          0x40000000, 0xc0000000, 0x40100000, 0xc0100000};
constexpr const char* kInverse2Pi = "0.15915494";
constexpr const char* kInverse2PiDouble = "0.15915494309189532";

void append_range(std::string& out, const char* file, uint32_t first, uint32_t dwords) {
  out += file;
  if (dwords == 1) return append_decimal(out, first);
  out += '[';
  append_decimal(out, first);
  out += ':';
  append_decimal(out, first + dwords - 1);
  out += ']';
}

/// The names of codes that GFX11 gave another meaning than GFX9.
const char* renamed(Generation generation, uint32_t code) {
  const Features& family = features(generation);
  if (code == family.codes.m0) return "m0";
  return code == family.codes.null && family.has_null ? "null" : nullptr;
}

struct SpecialOperand {
  uint32_t code;
  const char* name;        // as one dword
  const char* tuple_name;  // as two
};

/// Registers and values with a name. A code without a tuple name is either the second half of a pair, or its name does
/// not tell the width.
constexpr SpecialOperand kSpecialOperands[] = {
    {102, "flat_scratch_lo", "flat_scratch"},
    {103, "flat_scratch_hi", nullptr},
    {104, "xnack_mask_lo", "xnack_mask"},
    {105, "xnack_mask_hi", nullptr},
    {106, "vcc_lo", "vcc"},
    {107, "vcc_hi", nullptr},
    {126, "exec_lo", "exec"},
    {127, "exec_hi", nullptr},
    {235, "src_shared_base", nullptr},
    {236, "src_shared_limit", nullptr},
    {237, "src_private_base", nullptr},
    {238, "src_private_limit", nullptr},
    {239, "src_pops_exiting_wave_id", nullptr},
    {251, "src_vccz", nullptr},
    {252, "src_execz", nullptr},
    {253, "src_scc", nullptr},
    {254, "src_lds_direct", nullptr},
};

void append_special(std::string& out, Generation generation, uint32_t code, uint32_t dwords) {
  if (const char* name = renamed(generation, code)) {
    out += name;
    return;
  }
  for (const SpecialOperand& special : kSpecialOperands) {
    if (special.code == code) out += dwords > 1 && special.tuple_name != nullptr ? special.tuple_name : special.name;
  }
}

void append_inline_float(std::string& out, uint32_t index, OperandType type) {
  if (type == OperandType::B16) return append_hex(out, kHalfFloats[index]);
  const bool inverse_2_pi = index == std::size(kFloats);
  if (!inverse_2_pi) {
    out += kFloats[index];
  } else {
    out += type == OperandType::F64 || type == OperandType::B64 ? kInverse2PiDouble : kInverse2Pi;
  }
}

template <class Pattern>
bool contains(const Pattern& patterns, uint32_t value) {
  return std::find(std::begin(patterns), std::end(patterns), value) != std::end(patterns);
}

bool is_inline_integer(int64_t value) { return value >= -16 && value <= 64; }

/// Whether a literal equals an inline constant of its type; one of 64 bits is the high dword of a float.
bool is_inline(uint32_t literal, OperandType type) {
  const auto low = static_cast<uint16_t>(literal);
  switch (type) {
    case OperandType::F16:
      return is_inline_integer(static_cast<int16_t>(low)) || contains(kHalfFloats, low);
    case OperandType::F64:  // the literal is the high dword
      return literal == 0 || contains(kDoubleFloatHighs, literal);
    case OperandType::B64:
      return is_inline_integer(literal);
    case OperandType::PackedF16:
      return is_inline_integer(static_cast<int32_t>(literal)) || (literal <= 0xffff && contains(kHalfFloats, low));
    case OperandType::Bf16:
      return is_inline_integer(static_cast<int16_t>(low)) || contains(kBrainFloats, low);
    case OperandType::PackedBf16:
      return is_inline_integer(static_cast<int32_t>(literal)) || (literal <= 0xffff && contains(kBrainFloats, low));
    default:
      return is_inline_integer(static_cast<int32_t>(literal)) || contains(kSingleFloats, literal);
  }
}

/// The type as which a literal is written. In encodings of GFX11 and later that GFX9 has no literals in, LLVM takes
/// those of scalar f16 with one source for 32 bits, and those of v_fma_mix for f16; in those of GFX10 a mask of classes
/// for 32 bits.
OperandType literal_type(const Instruction& instruction, const Operand& operand) {
  const Row& row = *instruction.row;
  const std::string_view name = row.mnemonic;
  if (row.generation == Generation::GFX9) return operand.type;
  if (name.starts_with("v_fma_mix")) return OperandType::F16;
  if (row.generation == Generation::GFX12 && name.starts_with("v_wmma_f16")) return OperandType::F16;
  if (row.generation == Generation::GFX12 && name.starts_with("v_wmma_bf16")) return OperandType::Bf16;
  if (row.generation == Generation::GFX11 && operand.type == OperandType::Other) return OperandType::F64;
  const bool is_mask = operand.field == Field::SRC1 && name.find("_class_f16") != name.npos;
  if (row.generation == Generation::GFX10 && row.format == Format::VOP3 && is_mask) return OperandType::B32;
  return row.format == Format::SOP1 && operand.type == OperandType::F16 ? OperandType::B32 : operand.type;
}

/// Whether the literal of an operand equals an inline constant. V_PK_FMAC_F16 has those in both halves since GFX11.
bool equals_constant(const Instruction& instruction, const Operand& operand) {
  const bool is_newer = instruction.row->generation >= Generation::GFX11;
  if (is_newer && std::string_view(instruction.row->mnemonic).starts_with("v_pk_fmac_f16")) {
    const uint32_t low = instruction.literal & 0xffff;
    const bool is_small = low <= 64 || contains(kHalfFloats, static_cast<uint16_t>(low));
    return is_inline_integer(static_cast<int32_t>(instruction.literal)) ||
           (instruction.literal >> 16 == low && is_small);
  }
  return is_inline(instruction.literal, literal_type(instruction, operand));
}

/// The constant of 64 bits whose high dword this is: LLVM tells literals of this type by their value.
void append_high(std::string& out, uint32_t literal) {
  const auto found = std::find(std::begin(kDoubleFloatHighs), std::end(kDoubleFloatHighs), literal);
  out += found == std::end(kDoubleFloatHighs) ? "0" : kFloats[found - std::begin(kDoubleFloatHighs)];
}

/// Where a literal equals an inline constant "lit" tells an assembler that it is none.
void append_literal(std::string& out, const Instruction& instruction, const Operand& operand) {
  const OperandType type = literal_type(instruction, operand);
  const bool is_16_bits = type == OperandType::F16 || type == OperandType::B16;
  if (!equals_constant(instruction, operand)) {
    return append_hex(out, is_16_bits ? instruction.literal & 0xffff : instruction.literal);
  }
  if (type == OperandType::F64) return append_high(out, instruction.literal);
  append_hex(out += "lit(", instruction.literal);
  out += ')';
}

void append_scalar(std::string& out, const Instruction& instruction, const Operand& operand, const Location& location) {
  const uint32_t code = location.value;
  if (code < scalar_codes(instruction.row->generation).sgprs) {
    append_range(out, "s", code, location.dwords);
  } else if (code >= kTtmp && code < kTtmpEnd) {
    append_range(out, "ttmp", code - kTtmp, location.dwords);
  } else if (code >= kZero && code < kMinusOne) {
    append_decimal(out, code - kZero);
  } else if (code >= kMinusOne && code < kIntegersEnd) {
    append_decimal(out, int64_t{kMinusOne} - 1 - code);
  } else if (code >= kHalf && code < kFloatsEnd) {
    const bool is_wide = operand.type == OperandType::Other && instruction.row->generation == Generation::GFX11;
    append_inline_float(out, code - kHalf, is_wide ? OperandType::B64 : operand.type);  // as LLVM does for WMMA
  } else if (code == kLiteral) {
    append_literal(out, instruction, operand);
  } else {
    append_special(out, instruction.row->generation, code, location.dwords);
  }
}

void append_location(std::string& out, const Instruction& instruction, const Operand& operand,
                     const Location& location) {
  switch (location.place) {
    case Place::Nowhere:
      out += "off";
      break;
    case Place::Vgpr:
      append_range(out, "v", location.value, location.dwords);
      if (is_half(instruction, operand)) out += is_upper_half(instruction, operand) ? ".h" : ".l";
      break;
    case Place::Agpr:
      append_range(out, "a", location.value, location.dwords);
      break;
    case Place::Scalar:
      append_scalar(out, instruction, operand, location);
      break;
    case Place::Immediate:
      append_immediate(out, instruction, operand);
      break;
  }
}

struct InputModifiers {
  bool negate = false;
  bool absolute = false;
  bool sign_extend = false;
};

/// Whether a source is an integer in an instruction on floats: the exponent of v_ldexp, the byte's number in
/// v_cvt_pk_u8_f32, the random number of v_cvt_sr. LLVM decodes but does not print its modifiers.
bool is_integer_among_floats(const Instruction& instruction, const Operand& operand) {
  if ((instruction.row->modifiers & kNeg) == 0) return false;
  const std::string_view name = instruction.row->mnemonic;
  if (instruction.row->generation == Generation::GFX10 && name.starts_with("v_cmpx_class_f16"))
    return operand.field != Field::SRC0;  // the mask of classes
  if (instruction.row->generation != Generation::GFX9 &&
      (name.starts_with("v_dot2_") || name.starts_with("v_cndmask_b16")))
    return false;
  if (name.starts_with("v_ldexp_")) return operand.field != Field::SRC0;
  return operand.type == OperandType::B16 || operand.type == OperandType::B32 || operand.type == OperandType::B64;
}

InputModifiers packed_modifiers(const Instruction& instruction, unsigned source) {
  const uint32_t takes = instruction.row->modifiers;
  const Field absolute = (takes & kMix) != 0 ? Field::NEG_HI : Field::ABS;
  const auto bit = [&](Field field) { return (instruction[field] >> source & 1) != 0; };
  return {(takes & kNeg) != 0 && bit(Field::NEG), (takes & kAbs) != 0 && bit(absolute), false};
}

InputModifiers field_modifiers(const Instruction& instruction, Field field) {
  const uint32_t takes = instruction.row->modifiers;
  if ((takes & (kNeg | kAbs | kSext)) == 0) return {};
  switch (instruction.row->format) {
    case Format::VOP3:
    case Format::VOP3B:
    case Format::VOP3P:
    case Format::VOP3_DPP:
    case Format::VOP3B_DPP:
    case Format::VOP3P_DPP:
    case Format::VOP3_DPP8:
    case Format::VOP3B_DPP8:
    case Format::VOP3P_DPP8:
      if (field == Field::SRC0) return packed_modifiers(instruction, 0);
      if (field == Field::SRC1) return packed_modifiers(instruction, 1);
      if (field == Field::SRC2) return packed_modifiers(instruction, 2);
      return {};
    default:
      break;
  }
  if (field == Field::SRC0) {
    return {instruction[Field::SRC0_NEG] != 0, instruction[Field::SRC0_ABS] != 0, instruction[Field::SRC0_SEXT] != 0};
  }
  if (field == Field::VSRC1) {
    return {instruction[Field::SRC1_NEG] != 0, instruction[Field::SRC1_ABS] != 0, instruction[Field::SRC1_SEXT] != 0};
  }
  return {};
}

InputModifiers input_modifiers(const Instruction& instruction, const Operand& operand) {
  const InputModifiers modifiers = field_modifiers(instruction, operand.field);
  return is_integer_among_floats(instruction, operand) ? InputModifiers{.sign_extend = modifiers.sign_extend}
                                                       : modifiers;
}

/// Whether an operand is written as a number.
bool is_number(const Instruction& instruction, const Operand& operand, const Location& location) {
  if (location.place != Place::Scalar) return false;
  const uint32_t code = location.value;
  if (code == kLiteral)
    return literal_type(instruction, operand) == OperandType::F64 || !equals_constant(instruction, operand);
  return (code >= kZero && code < kIntegersEnd) || (code >= kHalf && code < kFloatsEnd);
}

}  // namespace

void append_number(std::string& out, uint32_t value) {
  const auto found = std::find(std::begin(kSingleFloats), std::end(kSingleFloats), value);
  if (is_inline_integer(static_cast<int32_t>(value))) {
    append_decimal(out, static_cast<int32_t>(value));
  } else if (found != std::end(kSingleFloats)) {
    append_inline_float(out, static_cast<uint32_t>(found - std::begin(kSingleFloats)), OperandType::B32);
  } else {
    append_hex(out, value);
  }
}

void append_operand(std::string& out, const Instruction& instruction, const Operand& operand) {
  const Location location = locate(instruction, operand);
  const InputModifiers modifiers = input_modifiers(instruction, operand);
  // "neg(1)", because "-1" is another constant
  const bool in_words = modifiers.negate && !modifiers.absolute && is_number(instruction, operand, location);
  if (modifiers.sign_extend) out += "sext(";
  if (modifiers.negate) out += in_words ? "neg(" : "-";
  if (modifiers.absolute) out += '|';
  append_location(out, instruction, operand, location);
  if (modifiers.absolute) out += '|';
  if (in_words || modifiers.sign_extend) out += ')';
}

}  // namespace wave::isa
