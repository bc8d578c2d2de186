// Hardware registers and messages, whose numbers differ between generations.
#include <array>
#include <string_view>

#include "emulator/isa/disassemble.h"
#include "emulator/isa/operand.h"

namespace wave::isa {
namespace {

struct Name {
  uint32_t number;
  const char* name;
};

// The documents' section "Hardware registers"; the other numbers have no name.
constexpr Name kRegisters9[] = {
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
constexpr Name kRegisters10[] = {
    {1, "HW_REG_MODE"},           {2, "HW_REG_STATUS"},  {3, "HW_REG_TRAPSTS"},       {5, "HW_REG_GPR_ALLOC"},
    {6, "HW_REG_LDS_ALLOC"},      {7, "HW_REG_IB_STS"},  {15, "HW_REG_SH_MEM_BASES"}, {16, "HW_REG_TBA_LO"},
    {17, "HW_REG_TBA_HI"},        {18, "HW_REG_TMA_LO"}, {19, "HW_REG_TMA_HI"},       {20, "HW_REG_FLAT_SCR_LO"},
    {21, "HW_REG_FLAT_SCR_HI"},   {23, "HW_REG_HW_ID1"}, {24, "HW_REG_HW_ID2"},       {25, "HW_REG_POPS_PACKER"},
    {29, "HW_REG_SHADER_CYCLES"},
};
constexpr Name kRegisters11[] = {
    {1, "HW_REG_MODE"},
    {2, "HW_REG_STATUS"},
    {3, "HW_REG_TRAPSTS"},
    {5, "HW_REG_GPR_ALLOC"},
    {6, "HW_REG_LDS_ALLOC"},
    {7, "HW_REG_IB_STS"},
    {15, "HW_REG_SH_MEM_BASES"},
    {18, "HW_REG_PERF_SNAPSHOT_PC_LO"},
    {19, "HW_REG_PERF_SNAPSHOT_PC_HI"},
    {20, "HW_REG_FLAT_SCR_LO"},
    {21, "HW_REG_FLAT_SCR_HI"},
    {23, "HW_REG_HW_ID1"},
    {24, "HW_REG_HW_ID2"},
    {27, "HW_REG_PERF_SNAPSHOT_DATA"},
    {29, "HW_REG_SHADER_CYCLES"},
};
constexpr Name kRegisters12[] = {
    {1, "HW_REG_WAVE_MODE"},
    {2, "HW_REG_WAVE_STATUS"},
    {4, "HW_REG_WAVE_STATE_PRIV"},
    {5, "HW_REG_WAVE_GPR_ALLOC"},
    {6, "HW_REG_WAVE_LDS_ALLOC"},
    {7, "HW_REG_IB_STS"},
    {10, "HW_REG_PERF_SNAPSHOT_DATA"},
    {11, "HW_REG_PERF_SNAPSHOT_PC_LO"},
    {12, "HW_REG_PERF_SNAPSHOT_PC_HI"},
    {15, "HW_REG_PERF_SNAPSHOT_DATA1"},
    {16, "HW_REG_PERF_SNAPSHOT_DATA2"},
    {17, "HW_REG_WAVE_EXCP_FLAG_PRIV"},
    {18, "HW_REG_WAVE_EXCP_FLAG_USER"},
    {19, "HW_REG_WAVE_TRAP_CTRL"},
    {20, "HW_REG_WAVE_SCRATCH_BASE_LO"},
    {21, "HW_REG_WAVE_SCRATCH_BASE_HI"},
    {23, "HW_REG_WAVE_HW_ID1"},
    {24, "HW_REG_WAVE_HW_ID2"},
    {26, "HW_REG_WAVE_SCHED_MODE"},
    {29, "HW_REG_SHADER_CYCLES_LO"},
    {30, "HW_REG_SHADER_CYCLES_HI"},
    {31, "HW_REG_WAVE_DVGPR_ALLOC_LO"},
    {32, "HW_REG_WAVE_DVGPR_ALLOC_HI"},
};

// Messages without operations, since GFX11.
constexpr Name kMessages11[] = {
    {1, "MSG_INTERRUPT"},           {2, "MSG_HS_TESSFACTOR"},   {3, "MSG_DEALLOC_VGPRS"},
    {5, "MSG_STALL_WAVE_GEN"},      {6, "MSG_HALT_WAVES"},      {9, "MSG_GS_ALLOC_REQ"},
    {128, "MSG_RTN_GET_DOORBELL"},  {129, "MSG_RTN_GET_DDID"},  {130, "MSG_RTN_GET_TMA"},
    {131, "MSG_RTN_GET_REALTIME"},  {132, "MSG_RTN_SAVE_WAVE"}, {133, "MSG_RTN_GET_TBA"},
    {134, "MSG_RTN_GET_TBA_TO_PC"},
};
constexpr Name kMessages12[] = {
    {1, "MSG_INTERRUPT"},     {2, "MSG_HS_TESSFACTOR"},       {3, "MSG_DEALLOC_VGPRS"},
    {9, "MSG_GS_ALLOC_REQ"},  {128, "MSG_RTN_GET_DOORBELL"},  {129, "MSG_RTN_GET_DDID"},
    {130, "MSG_RTN_GET_TMA"}, {131, "MSG_RTN_GET_REALTIME"},  {132, "MSG_RTN_SAVE_WAVE"},
    {133, "MSG_RTN_GET_TBA"}, {134, "MSG_RTN_GET_TBA_TO_PC"}, {135, "MSG_RTN_GET_SE_AID_ID"},
};

/// Nullptr where the number has no name.
const char* find(std::span<const Name> names, uint32_t number) {
  for (const Name& known : names) {
    if (known.number == number) return known.name;
  }
  return nullptr;
}

const char* register_name(const Row& row, uint32_t number) {
  switch (row.generation) {
    case Generation::GFX9:
      return row.precedes_gfx940 && number >= kFirstOfGfx940 ? nullptr : find(kRegisters9, number);
    case Generation::GFX10:
      return find(kRegisters10, number);
    case Generation::GFX11:
      return find(kRegisters11, number);
    case Generation::GFX12:
      return find(kRegisters12, number);
  }
  return nullptr;
}

constexpr uint32_t kMsgGs = 2, kMsgGsDone = 3, kMsgGetDdid = 11, kMsgSysmsg = 15;

std::string_view message_name(Generation generation, uint32_t id) {
  if (generation == Generation::GFX10 && id == kMsgGetDdid) return "MSG_GET_DDID";
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

/// Since GFX11 a message is a number, which LLVM writes as if operation and stream followed where it has no name.
void append_message_without_operation(std::string& out, std::span<const Name> names, uint32_t value) {
  constexpr uint32_t kMessages = 256;
  const char* name = find(names, value % kMessages);
  if (name == nullptr && value >= kMessages) return append_decimal(out, value);
  out += "sendmsg(";
  if (name != nullptr) {
    out += name;
  } else {
    append_decimal(out, value);
    out += ", 0, 0";
  }
  out += ')';
}

}  // namespace

/// SIMM16 of s_sendmsg: the message's number, its operation, and the stream of the geometry shader's operations.
void append_message(std::string& out, Generation generation, uint32_t value) {
  if (generation == Generation::GFX11) return append_message_without_operation(out, kMessages11, value);
  if (generation == Generation::GFX12) return append_message_without_operation(out, kMessages12, value);
  const uint32_t id = bits(value, 0, 4), operation = bits(value, 4, 3), stream = bits(value, 8, 2);
  const bool has_operation = id == kMsgGs || id == kMsgGsDone || id == kMsgSysmsg;
  const std::string_view operation_text = operation_name(id, operation);
  const bool has_stream = id != kMsgSysmsg && has_operation && operation != 0;
  const bool valid = has_operation ? !operation_text.empty() : operation == 0;
  if (!message_name(generation, id).empty() && valid && (has_stream || stream == 0)) {
    out += "sendmsg(";
    out += message_name(generation, id);
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

/// SIMM16 of s_getreg and s_setreg: the register's number, the first bit, the number of bits less one.
void append_hwreg(std::string& out, const Row& row, uint32_t value) {
  const uint32_t number = bits(value, 0, 6), offset = bits(value, 6, 5), size = bits(value, 11, 5) + 1;
  out += "hwreg(";
  const char* name = register_name(row, number);
  name != nullptr ? void(out += name) : append_decimal(out, number);
  if (offset != 0 || size != 32) {
    out += ", ";
    append_decimal(out, offset);
    out += ", ";
    append_decimal(out, size);
  }
  out += ')';
}

}  // namespace wave::isa
