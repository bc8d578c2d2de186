// What follows the operands. The order is the same for all formats; no instruction has all.
#include <string_view>

#include "emulator/isa/buffer_formats.h"
#include "emulator/isa/disassemble.h"
#include "emulator/isa/operand.h"

namespace wave::isa {
namespace {

void append_count(std::string& out, const char* name, uint32_t value) {
  if (value != 0) append_decimal(out += name, value);
}

/// A list of the lowest `count` bits, the lowest first: " op_sel:[0,1]".
void append_list(std::string& out, const char* name, uint32_t value, unsigned count) {
  out += name;
  for (unsigned bit = 0; bit < count; ++bit) {
    out += bit == 0 ? "[" : ",";
    out += (value >> bit & 1) != 0 ? '1' : '0';
  }
  out += ']';
}

unsigned source_count(const Row& row) {
  unsigned count = 0;
  for (const Operand& operand : std::span(row.operands, row.operand_count)) {
    count += operand.field == Field::SRC0 || operand.field == Field::SRC1 || operand.field == Field::SRC2;
  }
  // the addend in VDST; GFX9's v_pk_fmac has no OP_SEL
  if (std::string_view(row.mnemonic).starts_with("v_fmac_f16")) ++count;
  return count;
}

void append_packed(std::string& out, const Instruction& instruction) {
  const uint32_t takes = instruction.row->modifiers;
  const unsigned sources = source_count(*instruction.row);
  const uint32_t all = (1u << sources) - 1;
  const auto append = [&](const char* name, uint32_t value, uint32_t usual) {
    if ((value & all) != usual) append_list(out, name, value, sources);
  };
  if ((takes & kOpSel) != 0 && (takes & kOpSelDst) == 0) append(" op_sel:", instruction[Field::OP_SEL], 0);
  const uint32_t high = op_sel_hi(instruction);
  if ((takes & (kOpSelHi | kMix)) != 0) append(" op_sel_hi:", high, (takes & kMix) != 0 ? 0 : all);
  if ((takes & kNegLo) != 0) append(" neg_lo:", instruction[Field::NEG], 0);
  if ((takes & kNegHi) != 0) append(" neg_hi:", instruction[Field::NEG_HI], 0);
}

/// OP_SEL of VOP3: the sources' bits, then the destination's, which is bit 3.
void append_selects(std::string& out, const Instruction& instruction) {
  const unsigned sources = (instruction.row->modifiers & kOpSelByte) != 0 ? 3 : source_count(*instruction.row);
  const std::string_view name = instruction.row->mnemonic;
  const bool is_permutation = name.starts_with("v_permlane"), is_dot = name.starts_with("v_dot2_");
  // v_permlane has two bits for what is no half, and no destination's; v_dot2 has packed sources but for the third
  const uint32_t value = instruction[Field::OP_SEL] & (is_permutation ? 3u : is_dot ? 12u : 15u);
  const uint32_t list = (value & ((1u << sources) - 1)) | value >> 3 << sources;
  const bool has_destination = (instruction.row->modifiers & (kOpSelDst | kOpSelByte)) != 0;
  if (name.starts_with("v_cndmask_b16")) return;  // which says so in its operands only
  if (list != 0) append_list(out, " op_sel:", list, is_permutation ? 2 : sources + has_destination);
}

/// The byte of a source is in the first two bits of OP_SEL, the higher bit first; that of a destination (v_cvt_sr) in
/// the last two.
void append_byte_select(std::string& out, const Instruction& instruction) {
  const uint32_t bits = instruction[Field::OP_SEL];
  const bool is_destination = std::string_view(instruction.row->mnemonic).starts_with("v_cvt_sr");
  append_count(out, " byte_sel:", is_destination ? bits >> 2 : (bits & 1) << 1 | (bits >> 1 & 1));
}

/// The truth table of v_bitop3, and FI and BOUND_CTRL of v_permlane*_swap.
void append_special(std::string& out, const Instruction& instruction) {
  const uint32_t takes = instruction.row->modifiers;
  const uint32_t table = instruction[Field::OMOD] << 6 | instruction[Field::ABS] << 3 | instruction[Field::NEG];
  if ((takes & kBitop3) != 0 && table != 0) {
    out += " bitop3:";
    table <= 10 ? append_decimal(out, table) : append_hex(out, table);
  }
  const uint32_t bounds = instruction[Field::OP_SEL];
  if ((takes & kLaneBounds) != 0 && (bounds & 2) != 0) out += " bound_ctrl:1";
  if ((takes & kLaneBounds) != 0 && (bounds & 1) != 0) out += " fi:1";
}

void append_output(std::string& out, const Instruction& instruction) {
  const uint32_t takes = instruction.row->modifiers;
  constexpr const char* kOutputs[] = {"", " mul:2", " mul:4", " div:2"};
  if ((takes & kClamp) != 0 && instruction[Field::CLAMP] != 0) out += " clamp";
  if ((takes & kOmod) != 0) out += kOutputs[instruction[Field::OMOD]];
}

void append_sdwa(std::string& out, const Instruction& instruction) {
  const uint32_t takes = instruction.row->modifiers;
  constexpr const char* kSelects[] = {"BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3", "WORD_0", "WORD_1", "DWORD", ""};
  constexpr const char* kUnused[] = {"UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE", ""};
  if ((takes & kDstSel) != 0) {
    (out += " dst_sel:") += kSelects[instruction[Field::DST_SEL]];
    (out += " dst_unused:") += kUnused[instruction[Field::DST_UNUSED]];
  }
  if ((takes & kSrc0Sel) != 0) (out += " src0_sel:") += kSelects[instruction[Field::SRC0_SEL]];
  if ((takes & kSrc1Sel) != 0) (out += " src1_sel:") += kSelects[instruction[Field::SRC1_SEL]];
}

void append_dpp_control(std::string& out, Generation generation, uint32_t control) {
  if (control < 0x100) {
    out += " quad_perm:";
    for (unsigned lane = 0; lane < 4; ++lane) append_decimal(out += lane == 0 ? '[' : ',', control >> 2 * lane & 3);
    out += ']';
    return;
  }
  const bool crosses_rows = features(generation).dpp_crosses_rows;
  const char* const kRows[] = {
      " row_shl:", " row_shr:", " row_ror:", "", "", crosses_rows ? " row_newbcast:" : " row_share:", " row_xmask:"};
  constexpr const char* kWaves[] = {" wave_shl:1", " wave_rol:1", " wave_shr:1", " wave_ror:1"};
  constexpr const char* kOthers[] = {" row_mirror", " row_half_mirror", " row_bcast:15", " row_bcast:31"};
  const uint32_t group = control >> 4 & 15;
  if (group == 3) {
    out += kWaves[control >> 2 & 3];
  } else if (group == 4) {
    out += kOthers[control & 3];
  } else {
    append_decimal(out += kRows[group], control & 15);
  }
}

/// Each of eight lanes reads one of them.
void append_dpp8(std::string& out, const Instruction& instruction) {
  constexpr uint32_t kFetchInactive = 234;
  const uint32_t lanes = instruction[Field::DPP8];
  out += " dpp8:";
  for (unsigned lane = 0; lane < 8; ++lane) append_decimal(out += lane == 0 ? '[' : ',', lanes >> 3 * lane & 7);
  out += ']';
  if (instruction[Field::DPP_SRC0] == kFetchInactive) out += " fi:1";
}

void append_dpp(std::string& out, const Instruction& instruction) {
  if ((instruction.row->modifiers & kDpp8) != 0) return append_dpp8(out, instruction);
  if ((instruction.row->modifiers & kDpp) == 0) return;
  append_dpp_control(out, instruction.row->generation, instruction[Field::DPP_CTRL]);
  append_hex(out += " row_mask:", instruction[Field::ROW_MASK]);
  append_hex(out += " bank_mask:", instruction[Field::BANK_MASK]);
  if (instruction[Field::BOUND_CTRL] != 0) out += " bound_ctrl:1";
  if (instruction[Field::FI] != 0) out += " fi:1";
}

void append_matrix(std::string& out, const Instruction& instruction) {
  const uint32_t takes = instruction.row->modifiers;
  if ((takes & kCbsz) != 0) {
    append_count(out, " cbsz:", instruction[Field::CBSZ]);
    append_count(out, " abid:", instruction[Field::ABID]);
  }
  const uint32_t blgp = instruction[Field::BLGP];
  if ((takes & kBlgp) != 0) append_count(out, " blgp:", blgp);
  if ((takes & kBlgpNeg) != 0 && blgp != 0) append_list(out, " neg:", blgp, 3);
}

/// DFMT and NFMT of typed buffers; an 8-bit UNORM is the unsaid format.
void append_two_formats(std::string& out, uint32_t data, uint32_t number) {
  if (data == 1 && number == 0) return;
  out += " format:[";
  if (data != 1) (out += "BUF_DATA_FORMAT_") += kDataFormatNames[data];
  if (data != 1 && number != 0) out += ',';
  if (number != 0) (out += "BUF_NUM_FORMAT_") += kNumberFormatNames[number];
  out += ']';
}

/// FORMAT since GFX10, by its name where it has one.
void append_format(std::string& out, const Instruction& instruction) {
  const Generation generation = instruction.row->generation;
  if (generation == Generation::GFX9) {
    return append_two_formats(out, instruction[Field::DFMT], instruction[Field::NFMT]);
  }
  const uint32_t format = instruction[Field::FORMAT];
  const BufferFormat found = unified_format(generation, format);
  if (format == 1) return;
  out += " format:";
  if (format == 0) {
    out += "[BUF_FMT_INVALID]";
  } else if (found.data == 0) {
    append_decimal(out, format);
  } else {
    ((((out += "[BUF_FMT_") += kDataFormatNames[found.data]) += '_') += kNumberFormatNames[size_t(found.number)]) +=
        ']';
  }
}

/// The offset of an address: of DS and MUBUF unsigned; of GLOBAL and SCRATCH signed; of FLAT LLVM writes all 13 bits as
/// unsigned, though the documents have 12. Those of 24 bits are all signed.
void append_offset(std::string& out, const Instruction& instruction) {
  const uint32_t offset = instruction[Field::OFFSET];
  const Format format = instruction.row->format;
  if (format == Format::SMEM) {
    const bool has_registers = features(instruction.row->generation).has_smem_registers;
    if (has_registers && (instruction[Field::IMM] == 0 || instruction[Field::SOFFSET_EN] == 0)) return;
    if (!has_registers && instruction.row->generation != Generation::GFX12 && offset == 0) return;
    if (!has_registers && instruction[Field::SOFFSET] == scalar_codes(instruction.row->generation).null) return;
    return append_hex(out += " offset:", sign_extend(offset, offset_bits(*instruction.row)));
  }
  if (offset == 0) return;
  out += " offset:";
  const Generation generation = instruction.row->generation;
  const bool is_signed =
      format == Format::GLOBAL || format == Format::SCRATCH ||
      (features(generation).has_signed_offsets && (format == Format::FLAT || format == Format::MUBUF));
  if (is_signed) {
    append_decimal(out, sign_extend(offset, offset_bits(*instruction.row)));
  } else if (std::string_view(instruction.row->mnemonic) == "ds_swizzle_b32") {
    append_swizzle(out, offset);
  } else {
    append_decimal(out, offset);
  }
}

/// SCOPE and TH of GFX12: how far a value must be seen, and how long it may be of use.
void append_temporal_hint(std::string& out, const Instruction& instruction) {
  const std::string_view name = instruction.row->mnemonic;
  const uint32_t hint = instruction[Field::TH], scope = instruction[Field::SCOPE];
  constexpr uint32_t kReturn = 1, kNonTemporal = 2, kCascade = 4, kReserved = 7;
  constexpr uint32_t kDevice = 2, kSystem = 3;
  if (hint == 0) return;
  out += " th:";
  if (name.find("_atomic_") != std::string_view::npos) {
    if ((hint & kCascade) != 0 && scope < kDevice) {
      append_hex(out += "TH_ATOMIC_", hint);
    } else if ((hint & kCascade) != 0) {
      out += (hint & kNonTemporal) != 0 ? "TH_ATOMIC_CASCADE_NT" : "TH_ATOMIC_CASCADE_RT";
    } else if ((hint & kNonTemporal) != 0) {
      out += (hint & kReturn) != 0 ? "TH_ATOMIC_NT_RETURN" : "TH_ATOMIC_NT";
    } else {
      out += "TH_ATOMIC_RETURN";
    }
    return;
  }
  const bool is_store = name.find("_store_") != std::string_view::npos;
  if (!is_store && hint == kReserved) return append_hex(out, hint);
  constexpr const char* kHints[] = {"", "NT", "HT", "", "NT_RT", "RT_NT", "NT_HT", "NT_WB"};
  const char* third = scope == kSystem ? "BYPASS" : is_store ? "WB" : "LU";
  (out += is_store ? "TH_STORE_" : "TH_LOAD_") += hint == 3 ? third : kHints[hint];
}

void append_cache_policy(std::string& out, const Instruction& instruction) {
  const uint32_t takes = instruction.row->modifiers;
  const bool scope = (takes & kCachePolicy) != 0;
  if (scope && instruction.row->generation == Generation::GFX12) {
    constexpr const char* kScopes[] = {"", " scope:SCOPE_SE", " scope:SCOPE_DEV", " scope:SCOPE_SYS"};
    append_temporal_hint(out, instruction);
    out += kScopes[instruction[Field::SCOPE]];
    return;
  }
  if (scope && instruction[Field::GLC] != 0) out += " glc";
  if (scope && instruction[Field::SLC] != 0) out += " slc";
  if (scope && instruction[Field::DLC] != 0) out += " dlc";
  const bool levels = instruction.row->precedes_gfx940;
  if (scope && instruction[Field::SC0] != 0) out += levels ? " glc" : " sc0";
  if ((takes & kNt) != 0 && instruction[Field::NT] != 0) out += levels ? " slc" : " nt";
  if (scope && instruction[Field::SC1] != 0) out += levels ? " scc" : " sc1";
}

void append_memory(std::string& out, const Instruction& instruction) {
  const Row& row = *instruction.row;
  const uint32_t takes = row.modifiers;
  if ((takes & kFormat) != 0) append_format(out, instruction);
  if (instruction[Field::IDXEN] != 0) out += " idxen";
  if (instruction[Field::OFFEN] != 0) out += " offen";
  if ((takes & kOffset) != 0) append_offset(out, instruction);
  if ((takes & kOffset01) != 0) {
    append_count(out, " offset0:", instruction[Field::OFFSET0]);
    append_count(out, " offset1:", instruction[Field::OFFSET1]);
  }
  if ((takes & kGds) != 0 && instruction[Field::GDS] != 0) out += " gds";
  const bool lds = goes_to_lds(instruction);
  const bool store = row.operand_count == 2;  // buffer_store_lds_dword says so before the cache policy
  if (lds && store) out += " lds";
  const bool has_address = row.format != Format::SMEM || (takes & kCachePolicy) != 0;
  if (has_address && instruction[Field::SCALE_OFFSET] != 0) out += " scale_offset";
  append_cache_policy(out, instruction);
  if (has_address && instruction[Field::NV] != 0) out += " nv";
  if (lds && !store) out += " lds";
}

}  // namespace

void append_modifiers(std::string& out, const Instruction& instruction) {
  const uint32_t takes = instruction.row->modifiers;
  switch (instruction.row->format) {
    case Format::VOP3:
    case Format::VOP3B:
    case Format::VOP3_DPP:
    case Format::VOP3B_DPP:
    case Format::VOP3_DPP8:
    case Format::VOP3B_DPP8:
      if ((takes & (kBitop3 | kLaneBounds)) != 0) append_special(out, instruction);
      if ((takes & (kOpSel | kOpSelDst | kOpSelByte)) != 0) append_selects(out, instruction);
      if ((takes & kByteSel) != 0) append_byte_select(out, instruction);
      append_output(out, instruction);
      return append_dpp(out, instruction);
    case Format::VOP3P:
    case Format::VOP3P_DPP:
    case Format::VOP3P_DPP8:
      if ((instruction.row->traits & kIndexKey) != 0) append_count(out, " index_key:", instruction[Field::OP_SEL]);
      append_packed(out, instruction);
      append_output(out, instruction);
      return append_dpp(out, instruction);
    case Format::VOP3PX2:
      append_packed(out, instruction);
      return append_matrix(out, instruction);
    case Format::MAI:
      return append_matrix(out, instruction);
    case Format::VOP1_SDWA:
    case Format::VOP2_SDWA:
    case Format::VOPC_SDWA:
      append_output(out, instruction);
      return append_sdwa(out, instruction);
    case Format::SMEM:
    case Format::DS:
    case Format::FLAT:
    case Format::GLOBAL:
    case Format::SCRATCH:
    case Format::MUBUF:
    case Format::MTBUF:
      return append_memory(out, instruction);
    default:
      return append_dpp(out, instruction);
  }
}

}  // namespace wave::isa
