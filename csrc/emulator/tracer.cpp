#include "emulator/tracer.h"

#include <bit>
#include <cstdio>
#include <utility>

#include "base/error.h"
#include "emulator/isa/operand.h"
#include "emulator/step.h"
#include "emulator/workgroup.h"

namespace wave::emulator {

namespace {

using isa::Location;
using isa::Place;

std::string scalar_name(u32 number) {
  switch (number) {
    case sreg::kVcc:
      return "vcc";
    case sreg::kM0:
      return "m0";
    case sreg::kExec:
      return "exec";
    default:
      return text(number < sreg::kVcc ? "s" : "scalar ", number);
  }
}

/// Consecutive dwords as one number, the first lowest.
template <class Dword>
std::string number(u32 dwords, Dword dword) {
  std::string digits = "0x";
  for (u32 i = dwords; i-- > 0;) {
    char part[9];
    std::snprintf(part, sizeof(part), "%08x", dword(i));
    digits += part;
  }
  return digits;
}

/// "s4 = 0x00000007": consecutive scalar registers.
std::string scalar_value(const Wave& wave, u32 first, u32 dwords) {
  return text(scalar_name(first), " = ", number(dwords, [&](u32 i) { return wave.s[first + i]; }));
}

/// "v1 = 0x00000007 in lane 0", or nothing where the operand is no register, or null, or no lane is enabled.
std::string value(const Wave& wave, isa::Generation generation, const Location& location) {
  if (location.place == Place::Scalar) {
    const isa::ScalarCodes codes = isa::scalar_codes(generation);
    if (location.value >= 128 || location.value == codes.null) return "";
    return scalar_value(wave, location.value == codes.m0 ? sreg::kM0 : location.value, location.dwords);
  }
  const bool is_agpr = location.place == Place::Agpr;
  if ((location.place != Place::Vgpr && !is_agpr) || wave.exec() == 0) return "";
  const u32 lane = static_cast<u32>(std::countr_zero(wave.exec()));
  const u32 row = location.value + (is_agpr ? wave.vgpr_count : 0);
  return text(is_agpr ? "a" : "v", location.value, " = ",
              number(location.dwords, [&](u32 i) { return wave.v[row + i].lane[lane]; }), " in lane ", lane);
}

/// VSKIP skips it, or M0 says which registers it writes instead.
bool writes_none_of_its_operands(const Wave& wave, const Op* op) {
  return (wave.mode.skip_vector() && (op->flags & kSkippable)) || (wave.mode.gpr_index() && (op->flags & kIndexable)) ||
         moves_relative_rows(op->execute) || moves_relative_scalars(op->execute);
}

}  // namespace

bool Tracer::wants(const Wave& wave) const {
  return (!filter_.workgroup || *filter_.workgroup == wave.group->number()) &&
         (!filter_.wave || *filter_.wave == wave.index);
}

void Tracer::end_line() {
  if (line_.empty()) return;
  line_ += '\n';
  const std::string line = std::exchange(line_, {});
  write_(line);
}

void Tracer::before(const Wave& wave, const Op* op) {
  if (!wants(wave)) return;
  const Module& module = wave.group->launch().module;
  const auto& id = wave.group->id();
  const u64 pc = wave.address(op);
  line_ = text("(", id[0], ", ", id[1], ", ", id[2], ") wave ", wave.index, "  ", module.describe(pc), "  ",
               module.disassemble(pc, wave.lanes));
  instruction_ = module.decode(pc, wave.lanes);
}

void Tracer::after(const Wave& wave, const Op* op) {
  if (!wants(wave)) return;
  if (writes_none_of_its_operands(wave, op)) return end_line();
  std::string written;
  const auto add = [&](const std::string& item) {
    if (!item.empty()) written += (written.empty() ? "  # " : ", ") + item;
  };
  const isa::Row& row = *instruction_.row;
  for (const isa::Operand& operand : std::span(row.operands, row.operand_count)) {
    if (operand.written) add(value(wave, row.generation, isa::locate(instruction_, operand)));
  }
  if (row.traits & isa::kWritesExec) add(scalar_value(wave, sreg::kExec, wave.lanes / 32));
  if (row.traits & isa::kWritesScc) add(text("scc = ", int{wave.scc}));
  line_ += written;
  end_line();
}

}  // namespace wave::emulator
