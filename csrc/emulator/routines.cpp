#include "emulator/routines.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <unordered_map>

#include "base/error.h"
#include "base/fork_safe.h"

namespace wave::emulator {

namespace {

using isa::Field;
using isa::Format;
using isa::Generation;
using isa::Instruction;

using Names = std::unordered_map<std::string, std::string>;

/// A DS atomic, which returns the old value where "_rtn" stands before the type.
void add_lds_atomic(Names& names, std::string_view atomic) {
  for (const char* bits : {"32", "64"}) {
    const std::string plain = text("ds_", atomic, bits);
    std::string returning = plain;
    returning.insert(returning.rfind('_'), "_rtn");
    names.emplace(plain, plain);
    names.emplace(returning, returning);
  }
}

/// From the names of GFX11 and GFX12 to those of routines.
Names later_names() {
  Names names;
#define WAVE_SAME(name) names.emplace(#name, #name);
#define WAVE_RENAMED(name, routine) names.emplace(name, routine);
#define WAVE_MEMORY(name, routine) \
  for (const char* space : {"global_", "flat_", "scratch_"}) names.emplace(text(space, name), text(space, routine));
#define WAVE_LDS_ATOMIC(name) add_lds_atomic(names, name);
#include "emulator/routines.inc"
#undef WAVE_SAME
#undef WAVE_RENAMED
#undef WAVE_MEMORY
#undef WAVE_LDS_ATOMIC
  return names;
}

/// Comparisons of all types but f16's classes, which gfx942 has likewise; always true is "tru" of floats there. Those
/// to EXEC write nothing else since GFX10, so that the routine is that of the others.
std::string comparison(std::string_view name) {
  const bool to_exec = name.starts_with("v_cmpx_");
  std::string_view rest = name.substr(std::string_view(to_exec ? "v_cmpx_" : "v_cmp_").size());
  if (rest.starts_with("t_f")) return text("v_cmp_tru_", rest.substr(2));
  return text("v_cmp_", rest);
}

/// These dot products have a bit for each factor, in NEG, that says whether it has signs.
std::string dot_product(const Instruction& instruction, std::string_view name) {
  const uint32_t is_signed = instruction[Field::NEG];
  return text(name, is_signed & 1 ? " s" : " u", is_signed & 2 ? "s" : "u");
}

Lazy<Names>& all_later_names = *new Lazy<Names>();

/// The name of the routine of an instruction of GFX11 or later; empty where there is none.
std::string later_routine(std::string_view name) {
  const Names& names = all_later_names.get(later_names);
  if (name.starts_with("v_cmp_") || name.starts_with("v_cmpx_")) return comparison(name);
  const auto found = names.find(std::string(name));
  return found == names.end() ? "" : found->second;
}

bool is_dpp8(Format format) { return format >= Format::VOP1_DPP8 && format <= Format::VOP3P_DPP8; }

/// Of the hardware registers, the fields of MODE that all generations have alike: rounding and denormals, bits 0 to 7;
/// and the clock, of which GFX11 has 20 bits and GFX12 64 in two registers.
std::string register_access(const Instruction& instruction, std::string_view name) {
  constexpr uint32_t kMode = 1, kShared = 8, kCycles = 29, kHighCycles = 30;
  const uint32_t field = instruction[Field::SIMM16], number = field & 63;
  const bool is_shared = number == kMode && (field >> 6 & 31) + (field >> 11 & 31) + 1 <= kShared;
  const bool has_high = instruction.row->generation == Generation::GFX12;
  if (name == "s_getreg_b32" && (number == kCycles || (number == kHighCycles && has_high)))
    return "s_getreg_b32 cycles";
  return is_shared ? std::string(name) : "";
}

std::string later_routine_of(const Instruction& instruction) {
  const isa::Row& row = *instruction.row;
  if (is_dpp8(row.format) || row.format == Format::VOPD) return "";
  const std::string_view name = isa::base_name(row);
  if (name == "s_getreg_b32" || name == "s_setreg_b32" || name == "s_setreg_imm32_b32")
    return register_access(instruction, name);
  if (name == "v_dot4_i32_iu8" || name == "v_dot8_i32_iu4") return dot_product(instruction, name);
  return later_routine(name);
}

/// Integer saturation (CLAMP) is a routine of its own: "v_add_u32 clamp". Instructions whose results always fit have
/// none. CLAMP of floats is an output modifier.
Execute find_with_saturation(const Instruction& instruction, std::string_view name) {
  const bool clamps = (instruction.row->modifiers & isa::kClamp) && instruction[Field::CLAMP] != 0;
  const Execute saturating = clamps ? find_body(text(name, " clamp")) : nullptr;
  return saturating != nullptr ? saturating : find_body(name);
}

}  // namespace

Execute find_routine(const Instruction& instruction) {
  if (instruction.row->generation == Generation::GFX9)
    return find_with_saturation(instruction, isa::base_name(*instruction.row));
  return find_with_saturation(instruction, later_routine_of(instruction));
}

Execute dual_routine(std::string_view mnemonic) {
  constexpr std::string_view kPrefix = "v_dual_";
  return find_body(later_routine(text("v_", mnemonic.substr(kPrefix.size()))));
}

DualNames dual_names(const isa::Row& row) {
  constexpr std::string_view kBetween = " :: ";
  const std::string_view both = row.mnemonic;
  const size_t at = both.find(kBetween);
  return {both.substr(0, at), both.substr(at + kBetween.size())};
}

bool writes_mask(const isa::Row& row) {
  if (std::string_view(row.mnemonic).starts_with("v_cmp")) return true;
  switch (row.format) {
    case Format::VOP3B:
    case Format::VOP3B_DPP:
      return true;
    case Format::VOP2:
    case Format::VOP2_DPP:
      return row.operand_count > 1 && row.operands[1].kind == isa::OperandKind::Vcc && row.operands[1].written;
    default:
      return false;
  }
}

}  // namespace wave::emulator
