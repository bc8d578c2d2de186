#include "emulator/step.h"

#include <algorithm>

#include "base/error.h"
#include "emulator/workgroup.h"

namespace wave::emulator {

namespace {

using isa::Instruction;
using isa::Location;
using isa::Operand;
using isa::Place;

/// The bits of M0 that make operands relative (ISA document, "VGPR Indexing").
enum IndexEnable : u32 { kSource0 = 1u << 12, kSource2 = 1u << 14, kDestination = 1u << 15 };

/// Adds M0's index to the registers that it is for, accumulation registers among them.
class Indexing {
 public:
  Indexing(const Wave& wave, VectorOperands& operands) : wave_(wave), operands_(operands), m0_(wave.s[sreg::kM0]) {}

  void apply(const Instruction& instruction) {
    u32 sources = 0;
    bool accumulates = false;
    for (const Operand& operand : std::span(instruction.row->operands, instruction.row->operand_count)) {
      const Location location = isa::locate(instruction, operand);
      const bool is_destination = operand.written && operand.field == isa::Field::VDST;
      if (is_destination) {
        if (is_relative(location, kDestination)) operands_.dst = static_cast<u16>(operands_.dst + index());
        accumulates = operand.read && is_relative(location, kSource2);
      } else if (operand.read) {  // not a scalar destination
        if (is_relative(location, kSource0 << sources)) move_source(sources);
        ++sources;
      }
    }
    if (accumulates && sources < 3) move_source(sources);  // the destination's old value is the last source
  }

 private:
  u32 index() const { return m0_ & 0xff; }

  bool is_relative(const Location& location, u32 enable) const {
    const bool is_agpr = location.place == Place::Agpr;
    if ((location.place != Place::Vgpr && !is_agpr) || (m0_ & enable) == 0) return false;
    const u32 first = location.value + (is_agpr ? wave_.vgpr_count : 0);
    const u32 last = first + index() + std::max<u32>(location.dwords, 1) - 1;
    check_relative_register(wave_, last);
    return true;
  }

  void move_source(u32 i) {
    operands_.rows[i] += index() * sizeof(LaneRow);
    operands_.src[i] = static_cast<u16>(operands_.src[i] + index());
  }

  const Wave& wave_;
  VectorOperands& operands_;
  const u32 m0_;
};

}  // namespace

const Op* step(Wave& wave, const Op* op) {
  if (wave.mode.skip_vector() && (op->flags & kSkippable)) return next(op);
  if (!wave.mode.gpr_index() || !(op->flags & kIndexable)) return op->execute(wave, op);
  const Instruction instruction = decoded_instruction(wave, op);
  if (instruction.row->matrix.m != 0)
    fault("a matrix instruction while GPR indexing is on: what that does is not documented");
  Op relative = *op;
  Indexing(wave, relative.vector).apply(instruction);
  relative.execute(wave, &relative);
  return next(op);
}

}  // namespace wave::emulator
