#include "emulator/skipped_access.h"

#include "emulator/isa/features.h"
#include "emulator/isa/operand.h"
#include "emulator/observer.h"
#include "emulator/step.h"
#include "emulator/workgroup.h"

namespace wave::emulator {

namespace {

using isa::Kind;
using isa::Place;
using Direction = isa::MemoryAccess::Direction;

/// Puts poison into what the instruction loads, or gets back from memory, in these lanes.
void poison(Wave& wave, const isa::Instruction& instruction, u64 lanes) {
  const isa::Row& row = *instruction.row;
  if ((row.modifiers & isa::kReturn) != 0 && !isa::returns_value(instruction)) return;
  for (const isa::Operand& operand : std::span(row.operands, row.operand_count)) {
    if (!operand.written) continue;
    const isa::Location location = isa::locate(instruction, operand);
    const bool is_null = location.place == Place::Scalar && location.value == isa::scalar_codes(row.generation).null;
    if (is_null) continue;  // of which the code is that of M0 here
    for (u32 i = 0; i < location.dwords; ++i) {
      const u32 number = location.value + i;
      if (location.place == Place::Scalar) {
        if (number < sreg::kExec) wave.s[number] = kPoison;
      } else if (location.place == Place::Vgpr || location.place == Place::Agpr) {
        LaneRow& to = wave.v[number + (location.place == Place::Agpr ? wave.vgpr_count : 0)];
        for (int lane = 0; lane < kLanes; ++lane) {
          if (lanes >> lane & 1) to.lane[lane] = kPoison;
        }
      }
    }
  }
}

}  // namespace

bool is_of_access(const Wave& wave, const Fault& fault) {
  if (!fault.has_address) return false;
  const isa::Instruction instruction = decoded_instruction(wave, wave.op);
  if (instruction.row == nullptr) return false;
  const Kind kind = instruction.row->kind;
  return kind == Kind::ScalarMemory || kind == Kind::Lds || kind == Kind::VectorMemory;
}

// What the lanes before the one at fault have loaded or stored is done once more, which changes nothing. Their atomics
// are not: those go lane by lane.
void carry_out_rest(Wave& wave, const Fault& fault, const std::function<void(const Fault&)>& note) {
  const isa::Instruction instruction = decoded_instruction(wave, wave.op);
  const Direction direction = instruction.row->memory.direction;
  const Op* const op = wave.op;
  const u64 exec = wave.exec();
  u64 left_out = 0, at_fault = 0;
  Fault last = fault;
  while (true) {
    note(last);
    if (last.lane < 0 || direction == Direction::None) {  // the lanes' as a whole
      at_fault = exec;
      break;
    }
    at_fault |= lane_bit(last.lane);
    left_out |= direction == Direction::Atomic ? lane_bit(last.lane) | (lane_bit(last.lane) - 1) : lane_bit(last.lane);
    if ((exec & ~left_out) == 0) break;
    wave.set_exec(exec & ~left_out);
    if (Observer* const observer = wave.group->observer()) observer->repeat(wave);
    try {
      step(wave, op);
      break;
    } catch (const Fault& next) {
      last = next;
    }
  }
  wave.set_exec(exec);
  poison(wave, instruction, at_fault & exec);
  wave.op = next(op);
}

}  // namespace wave::emulator
