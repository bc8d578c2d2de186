// Numbers that have a syntax of their own.
#include <array>
#include <bit>
#include <string_view>

#include "emulator/isa/disassemble.h"
#include "emulator/isa/operand.h"

namespace wave::isa {
namespace {

/// The modes of s_set_gpr_idx_on and s_set_gpr_idx_mode: which operands are indexed.
void append_index_modes(std::string& out, uint32_t value) {
  if (value > 15) return append_hex(out, value);
  constexpr std::string_view kModes[] = {"SRC0", "SRC1", "SRC2", "DST"};
  out += "gpr_idx(";
  const char* separator = "";
  for (unsigned mode = 0; mode < std::size(kModes); ++mode) {
    if ((value >> mode & 1) == 0) continue;
    out += separator;
    out += kModes[mode];
    separator = ",";
  }
  out += ')';
}

/// The lanes that a bit mask permutation reads, from bit 4 to bit 0 of the lane number: fixed, preserved or inverted.
void append_lane_bits(std::string& out, uint32_t and_mask, uint32_t or_mask, uint32_t xor_mask) {
  const uint32_t of_zeros = or_mask ^ xor_mask;
  const uint32_t of_ones = (and_mask | or_mask) ^ xor_mask;
  out += '"';
  for (uint32_t bit = 16; bit != 0; bit >>= 1) {
    const bool zero = (of_zeros & bit) != 0, one = (of_ones & bit) != 0;
    out += zero == one ? (zero ? '1' : '0') : (zero ? 'i' : 'p');
  }
  out += '"';
}

void append_bit_mask_permutation(std::string& out, uint32_t offset) {
  const uint32_t and_mask = bits(offset, 0, 5), or_mask = bits(offset, 5, 5), xor_mask = bits(offset, 10, 5);
  const bool all_lanes = and_mask == 31 && or_mask == 0;
  const uint32_t group = 32 - and_mask;
  if (all_lanes && std::has_single_bit(xor_mask)) {
    append_decimal(out += "swizzle(SWAP,", xor_mask);
  } else if (all_lanes && xor_mask != 0 && std::has_single_bit(xor_mask + 1)) {
    append_decimal(out += "swizzle(REVERSE,", xor_mask + 1);
  } else if (group > 1 && std::has_single_bit(group) && or_mask < group && xor_mask == 0) {
    append_decimal(out += "swizzle(BROADCAST,", group);
    append_decimal(out += ',', or_mask);
  } else {
    append_lane_bits(out += "swizzle(BITMASK_PERM,", and_mask, or_mask, xor_mask);
  }
  out += ')';
}

/// SIMM16 of SOPP instructions without a syntax: small numbers in decimal, the others in hexadecimal.
void append_plain(std::string& out, uint32_t value) {
  value <= 64 ? append_decimal(out, value) : append_hex(out, value);
}

/// Instructions of GFX10 and later whose SIMM16 is always hexadecimal.
bool is_hexadecimal(std::string_view name) {
  constexpr std::string_view kNames[] = {"s_clause",     "s_inst_prefetch",  "s_set_inst_prefetch_distance",
                                         "s_round_mode", "s_singleuse_vdst", "s_ttracedata_imm"};
  for (std::string_view known : kNames) {
    if (name == known) return true;
  }
  return name.starts_with("s_wait_") && name != "s_wait_alu";
}

void append_simm16(std::string& out, const Instruction& instruction, uint32_t value) {
  const std::string_view name = instruction.row->mnemonic;
  if (name.starts_with("s_setreg") || name.starts_with("s_getreg")) return append_hwreg(out, *instruction.row, value);
  if (instruction.row->format == Format::SOPK || is_hexadecimal(name)) return append_hex(out, value);
  const Generation generation = instruction.row->generation;
  if (name == "s_waitcnt") return append_waitcnt(out, generation, value);
  if (name == "s_sendmsg" || name == "s_sendmsghalt") return append_message(out, generation, value);
  if (name == "s_waitcnt_depctr" || name == "s_wait_alu") return append_dependency_counters(out, value);
  if (name == "s_delay_alu") return append_delay(out, value);
  if (name == "s_set_gpr_idx_mode") return append_index_modes(out, value);
  if (name == "s_endpgm") return append_decimal(out, value);
  append_plain(out, value);
}

/// That of s_setreg_imm32_b32 may be an inline constant; the constants of v_fmamk, v_madak and the like are always
/// hexadecimal.
void append_long(std::string& out, const Instruction& instruction, uint32_t value) {
  if (instruction.row->format == Format::SOPK) return append_number(out, value);
  append_hex(out, value);
}

bool names_null(Generation generation) { return generation == Generation::GFX10 || generation == Generation::GFX11; }

}  // namespace

void append_immediate(std::string& out, const Instruction& instruction, const Operand& operand) {
  const uint32_t value = instruction[operand.field];
  if (operand.kind == OperandKind::BranchTarget) return append_decimal(out, value);
  switch (operand.field) {
    case Field::SIMM16:
      return append_simm16(out, instruction, value);
    case Field::LITERAL:
      return append_long(out, instruction, value);
    case Field::OFFSET:  // SMEM, its prefetches included; LLVM names the register that adds nothing, where GFX10 and
                         // GFX11 have no offset besides
      if (value == 0 && names_null(instruction.row->generation)) {
        out += "null";
        return;
      }
      return append_hex(out, sign_extend(value, offset_bits(*instruction.row)));
    case Field::SSRC0:
      return append_message(out, instruction.row->generation, value);
    case Field::SSRC1:
      return append_index_modes(out, value);
    default:  // SDATA of s_atc_probe and of prefetches
      return append_plain(out, value);
  }
}

void append_swizzle(std::string& out, uint32_t offset) {
  constexpr uint32_t kRotation = 6, kFft = 7;  // of bits 15 to 13
  if (offset >> 13 == kFft) {
    append_decimal(out += "swizzle(FFT,", bits(offset, 0, 5));
    out += ')';
  } else if (offset >> 13 == kRotation) {
    append_decimal(out += "swizzle(ROTATE,", bits(offset, 10, 1));
    append_decimal(out += ',', bits(offset, 5, 5));
    out += ')';
  } else if (offset >> 8 == 0x80) {
    out += "swizzle(QUAD_PERM";
    for (unsigned lane = 0; lane < 4; ++lane) append_decimal(out += ',', bits(offset, 2 * lane, 2));
    out += ')';
  } else if (offset >> 15 == 0) {
    append_bit_mask_permutation(out, offset);
  } else {
    append_decimal(out, offset);
  }
}

}  // namespace wave::isa
