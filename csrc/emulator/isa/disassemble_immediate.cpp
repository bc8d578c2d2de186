// Numbers that have a syntax of their own.
#include <array>
#include <bit>
#include <string_view>

#include "emulator/isa/disassemble.h"
#include "emulator/isa/operand.h"

namespace wave::isa {
namespace {

/// Bits [low, low + width) of `value`.
uint32_t bits(uint32_t value, unsigned low, unsigned width) { return value >> low & ((1u << width) - 1); }

/// VMCNT is SIMM16[15:14] and [3:0], EXPCNT [6:4], LGKMCNT [11:8]. Counters at their maximum wait for nothing and are
/// left out, unless all are.
void append_waitcnt(std::string& out, uint32_t value) {
  constexpr uint32_t kMaxVmcnt = 63, kMaxExpcnt = 7, kMaxLgkmcnt = 15;
  const uint32_t vmcnt = bits(value, 0, 4) | bits(value, 14, 2) << 4;
  const uint32_t expcnt = bits(value, 4, 3);
  const uint32_t lgkmcnt = bits(value, 8, 4);
  const bool all = vmcnt == kMaxVmcnt && expcnt == kMaxExpcnt && lgkmcnt == kMaxLgkmcnt;
  const char* separator = "";
  const auto append = [&](const char* name, uint32_t count, uint32_t maximum) {
    if (count == maximum && !all) return;
    out += separator;
    out += name;
    append_decimal(out, count);
    out += ')';
    separator = " ";
  };
  append("vmcnt(", vmcnt, kMaxVmcnt);
  append("expcnt(", expcnt, kMaxExpcnt);
  append("lgkmcnt(", lgkmcnt, kMaxLgkmcnt);
}

struct HardwareRegister {
  uint32_t number;
  const char* name;
};

/// The document's section "Hardware registers"; the other numbers have no name.
constexpr HardwareRegister kHardwareRegisters[] = {
    {1, "HW_REG_MODE"},
    {2, "HW_REG_STATUS"},
    {3, "HW_REG_TRAPSTS"},
    {4, "HW_REG_HW_ID"},
    {5, "HW_REG_GPR_ALLOC"},
    {6, "HW_REG_LDS_ALLOC"},
    {7, "HW_REG_IB_STS"},
    {15, "HW_REG_SH_MEM_BASES"},
    {16, "HW_REG_TBA_LO"},
    {17, "HW_REG_TBA_HI"},
    {18, "HW_REG_TMA_LO"},
    {19, "HW_REG_TMA_HI"},
    {20, "HW_REG_XCC_ID"},
    {21, "HW_REG_SQ_PERF_SNAPSHOT_DATA"},
    {22, "HW_REG_SQ_PERF_SNAPSHOT_DATA1"},
    {23, "HW_REG_SQ_PERF_SNAPSHOT_PC_LO"},
    {24, "HW_REG_SQ_PERF_SNAPSHOT_PC_HI"},
};

constexpr uint32_t kFirstOfGfx940 = 20;

void append_hardware_register(std::string& out, uint32_t number, bool precedes) {
  for (const HardwareRegister& known : kHardwareRegisters) {
    if (known.number != number || (precedes && number >= kFirstOfGfx940)) continue;
    out += known.name;
    return;
  }
  append_decimal(out, number);
}

/// SIMM16 of s_getreg and s_setreg: the register's number, the first bit, the number of bits less one.
void append_hwreg(std::string& out, uint32_t value, bool precedes) {
  const uint32_t number = bits(value, 0, 6), offset = bits(value, 6, 5), size = bits(value, 11, 5) + 1;
  out += "hwreg(";
  append_hardware_register(out, number, precedes);
  if (offset != 0 || size != 32) {
    out += ", ";
    append_decimal(out, offset);
    out += ", ";
    append_decimal(out, size);
  }
  out += ')';
}

constexpr uint32_t kMsgGs = 2, kMsgGsDone = 3, kMsgSysmsg = 15;

std::string_view message_name(uint32_t id) {
  constexpr std::array<std::string_view, 16> kNames = {"",
                                                       "MSG_INTERRUPT",
                                                       "MSG_GS",
                                                       "MSG_GS_DONE",
                                                       "MSG_SAVEWAVE",
                                                       "MSG_STALL_WAVE_GEN",
                                                       "MSG_HALT_WAVES",
                                                       "MSG_ORDERED_PS_DONE",
                                                       "MSG_EARLY_PRIM_DEALLOC",
                                                       "MSG_GS_ALLOC_REQ",
                                                       "MSG_GET_DOORBELL",
                                                       "",
                                                       "",
                                                       "",
                                                       "",
                                                       "MSG_SYSMSG"};
  return kNames[id];
}

/// The name of a message's operation; empty where the message has none with this number.
std::string_view operation_name(uint32_t id, uint32_t operation) {
  constexpr std::array<std::string_view, 4> kGs = {"GS_OP_NOP", "GS_OP_CUT", "GS_OP_EMIT", "GS_OP_EMIT_CUT"};
  if (id == kMsgGs && operation == 0) return "";
  if ((id == kMsgGs || id == kMsgGsDone) && operation < kGs.size()) return kGs[operation];
  if (id != kMsgSysmsg) return "";
  constexpr std::array<std::string_view, 5> kSystem = {"", "SYSMSG_OP_ECC_ERR_INTERRUPT", "SYSMSG_OP_REG_RD", "",
                                                       "SYSMSG_OP_TTRACE_PC"};
  return operation < kSystem.size() ? kSystem[operation] : "";
}

/// SIMM16 of s_sendmsg: the message's number, its operation, and the stream of the geometry shader's operations.
void append_message(std::string& out, uint32_t value) {
  const uint32_t id = bits(value, 0, 4), operation = bits(value, 4, 3), stream = bits(value, 8, 2);
  const bool has_operation = id == kMsgGs || id == kMsgGsDone || id == kMsgSysmsg;
  const std::string_view operation_text = operation_name(id, operation);
  const bool has_stream = id != kMsgSysmsg && has_operation && operation != 0;
  const bool valid = has_operation ? !operation_text.empty() : operation == 0;
  if (!message_name(id).empty() && valid && (has_stream || stream == 0)) {
    out += "sendmsg(";
    out += message_name(id);
    if (has_operation) (out += ", ") += operation_text;
    if (has_stream) append_decimal(out += ", ", stream);
    out += ')';
  } else if (value == (id | operation << 4 | stream << 8)) {
    append_decimal(out += "sendmsg(", id);
    append_decimal(out += ", ", operation);
    append_decimal(out += ", ", stream);
    out += ')';
  } else {
    append_decimal(out, value);
  }
}

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

void append_simm16(std::string& out, const Instruction& instruction, uint32_t value) {
  const std::string_view name = instruction.row->mnemonic;
  if (name.starts_with("s_setreg") || name.starts_with("s_getreg"))
    return append_hwreg(out, value, precedes_gfx940(*instruction.row));
  if (instruction.row->format == Format::SOPK) return append_hex(out, value);
  if (name == "s_waitcnt") return append_waitcnt(out, value);
  if (name == "s_sendmsg" || name == "s_sendmsghalt") return append_message(out, value);
  if (name == "s_set_gpr_idx_mode") return append_index_modes(out, value);
  if (name == "s_endpgm") return append_decimal(out, value);
  append_plain(out, value);
}

/// s_setreg_imm32_b32 has an ordinary literal; the constants of v_fmamk, v_madak and the like are always hexadecimal.
void append_long(std::string& out, const Instruction& instruction, uint32_t value) {
  if (instruction.row->format == Format::SOPK) return append_literal(out, value, OperandType::B32);
  append_hex(out, value);
}

}  // namespace

void append_immediate(std::string& out, const Instruction& instruction, const Operand& operand) {
  const uint32_t value = instruction[operand.field];
  if (operand.kind == OperandKind::BranchTarget) return append_decimal(out, value);
  switch (operand.field) {
    case Field::SIMM16:
      return append_simm16(out, instruction, value);
    case Field::LITERAL:
      return append_long(out, instruction, value);
    case Field::OFFSET:  // SMEM
      return append_hex(out, sign_extend(value, 21));
    case Field::SSRC1:
      return append_index_modes(out, value);
    default:  // SDATA of s_atc_probe
      return append_plain(out, value);
  }
}

void append_swizzle(std::string& out, uint32_t offset) {
  if (offset >> 8 == 0x80) {
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
