#include "emulator/hazards.h"

#include <algorithm>

#include "emulator/isa/operand.h"
#include "emulator/workgroup.h"

namespace wave::emulator {

namespace {

using isa::Field;
using isa::Kind;
using isa::Location;
using isa::Operand;
using isa::Place;

bool is_register(isa::Generation generation, const Location& location) {
  if (location.place == Place::Vgpr || location.place == Place::Agpr) return true;
  return location.place == Place::Scalar && location.value < 128 &&
         location.value != isa::scalar_codes(generation).null;
}

bool is_vector(const Location& location) { return location.place != Place::Scalar; }

/// The vector registers of an operand in the order of the register file, accumulation registers last.
u32 first_row(const Wave& wave, const Location& location) {
  return location.value + (location.place == Place::Agpr ? wave.vgpr_count : 0);
}

std::string register_name(const Location& location, u32 i) {
  const char* file = location.place == Place::Vgpr ? "v" : location.place == Place::Agpr ? "a" : "s";
  if (location.place == Place::Scalar && location.value >= sreg::kVcc)
    return text("scalar register ", location.value + i);
  return text(file, location.value + i);
}

}  // namespace

const HazardChecker::Decoded& HazardChecker::look_up(const Wave& wave, const Op* op) {
  return instructions_.get(wave, op, [&](Decoded& instruction) {
    instruction.decoded = wave.group->launch().module.decode(wave.address(op), wave.group->launch().lanes);
    if (instruction.decoded.row == nullptr) return;
    const isa::Row& row = *instruction.decoded.row;
    instruction.matrix = matrix_timing(instruction.decoded);
    instruction.counters = counters_of(instruction.decoded);
    instruction.is_memory = row.kind == Kind::Lds || row.kind == Kind::VectorMemory;
    find_registers(instruction);
  });
}

void HazardChecker::find_registers(Decoded& instruction) {
  const isa::Row& row = *instruction.decoded.row;
  const bool accumulates = row.operand_count != 0 && row.operands[0].read;  // sparse matrices: then C is D
  const bool is_atomic = (row.modifiers & isa::kReturn) != 0;  // where it returns nothing, its data are but read
  const bool returns = !is_atomic || isa::returns_value(instruction.decoded);
  for (const Operand& operand : std::span(row.operands, row.operand_count)) {
    const Location location = isa::locate(instruction.decoded, operand);
    if (!is_register(row.generation, location)) continue;
    // What a load leaves of its destination is merged in order.
    const bool is_read = operand.read && !(operand.written && instruction.is_memory && !is_atomic);
    const bool is_c = instruction.matrix && (operand.written || (operand.field == Field::SRC2 && !accumulates));
    instruction.registers.push_back({location, is_read, operand.written && returns, is_c});
  }
}

void HazardChecker::start(const Wave& wave) {
  if (states_.size() <= wave.index) states_.resize(wave.index + 1);
  State& state = states_[wave.index];
  state.vectors.assign(wave.vgpr_count + wave.agpr_count, {});
  std::ranges::fill(state.scalars, Load{});
  state.counters = {};
  state.time = 0;
}

void HazardChecker::before(const Wave& wave, const Op* op) {
  const Decoded& instruction = look_up(wave, op);
  if (instruction.decoded.row == nullptr) return;  // a fault follows
  if (wave.mode.skip_vector() && (op->flags & kSkippable)) return;
  const isa::Row& row = *instruction.decoded.row;
  State& state = states_[wave.index];
  if (isa::is_wait(row.kind)) state.counters.wait(row, op->scalar.simm16);
  state.counters.issue(instruction.counters);

  const u64 pc = wave.address(op);
  const bool is_relative = wave.mode.gpr_index() && (op->flags & kIndexable);
  const auto is_followed = [&](const Register& one) { return !(is_relative && is_vector(one.location)); };
  for (const Register& one : instruction.registers) {
    if (!one.is_read || !is_followed(one)) continue;
    const Use use{state, wave, instruction, pc, one.location};
    check_read(use, one.is_c);
    if (one.is_c && is_vector(one.location)) note_c(use);
  }
  for (const Register& one : instruction.registers) {
    if (!one.is_written || !is_followed(one)) continue;
    const Use use{state, wave, instruction, pc, one.location};
    check_write(use);
    note_write(use);
  }
  state.time += row.kind == Kind::Nop ? 1 + (op->scalar.simm16 & 15u) : 1;
}

bool HazardChecker::is_pending(const State& state, const Load& load) {
  return load.counters != 0 && load.number > state.counters.done(load.counters);
}

void HazardChecker::check_load(const Use& use, const Load& load, bool write) {
  if (!is_pending(use.state, load)) return;
  const bool in_order = ends_in_order(load.counters), is_same = use.instruction.counters == load.counters;
  if (write && in_order && is_same) return;
  const u64 later = in_order ? use.state.counters.issued(load.counters) - load.number : 0;
  const u64 own = is_same ? 1 : 0;  // this instruction has been counted already
  const std::string wait =
      wait_text(use.instruction.decoded.row->generation, load.counters, later - std::min(later, own));
  report(use, load.pc, "missing-wait",
         text(write ? "overwritten" : "read", " before its load has been waited for: ", wait, " is missing"));
}

void HazardChecker::check_time(const Use& use, const Matrix& matrix, u32 needed, const char* what) {
  if (matrix.pc == 0) return;
  const u64 passed = use.state.time - matrix.time - 1;
  if (passed >= needed) return;
  report(use, matrix.pc, "wait-states",
         text(what, " after ", passed, " wait states, of ", needed, " that the matrix instruction takes"));
}

void HazardChecker::check_read(const Use& use, bool is_c) {
  for (u32 i = 0; i < use.location.dwords; ++i) {
    if (!is_vector(use.location)) {
      check_load(use, use.state.scalars[(use.location.value + i) & 127], false);
      continue;
    }
    const u32 first = first_row(use.wave, use.location);
    if (first + i >= use.state.vectors.size()) return;  // a fault follows
    const VectorRegister& vector = use.state.vectors[first + i];
    check_load(use, vector.load, false);
    const Matrix& writer = vector.written_by;
    const std::optional<MatrixTiming>& reader = use.instruction.matrix;
    if (!reader) {
      check_time(use, writer, writer.timing.until_read(use.instruction.is_memory), "read");
      continue;
    }
    const bool is_same = writer.first == first && writer.registers == use.location.dwords;
    const MatrixTiming& timing = writer.timing;
    check_time(use, writer,
               !is_c     ? timing.until_factor()
               : is_same ? timing.until_same_c(*reader)
                         : timing.until_overlapping_c(*reader),
               "read");
    if (vector.alu_pc != 0 && use.state.time - vector.alu_time - 1 < kVectorToMatrix) {
      report(use, vector.alu_pc, "wait-states",
             text("read by a matrix instruction after ", use.state.time - vector.alu_time - 1, " wait states, of ",
                  kVectorToMatrix, " after a vector instruction"));
    }
  }
}

void HazardChecker::check_write(const Use& use) {
  for (u32 i = 0; i < use.location.dwords; ++i) {
    if (!is_vector(use.location)) {
      check_load(use, use.state.scalars[(use.location.value + i) & 127], true);
      continue;
    }
    const u32 row = first_row(use.wave, use.location) + i;
    if (row >= use.state.vectors.size()) return;
    const VectorRegister& vector = use.state.vectors[row];
    check_load(use, vector.load, true);
    if (use.instruction.matrix) continue;
    check_time(use, vector.written_by, vector.written_by.timing.until_overwritten(), "overwritten");
    check_time(use, vector.read_as_c_by, vector.read_as_c_by.timing.until_c_overwritten(), "overwritten");
  }
}

void HazardChecker::note_c(const Use& use) {
  const u32 first = first_row(use.wave, use.location);
  for (u32 row = first; row < std::min<u64>(first + use.location.dwords, use.state.vectors.size()); ++row) {
    use.state.vectors[row].read_as_c_by = {*use.instruction.matrix, 0, 0, use.state.time, use.pc};
  }
}

void HazardChecker::note_write(const Use& use) {
  State& state = use.state;
  const Counters counters = use.instruction.counters;
  const Load load = counters == 0 ? Load{} : Load{counters, state.counters.issued(counters), use.pc};
  if (!is_vector(use.location)) {
    for (u32 i = 0; i < use.location.dwords; ++i) state.scalars[(use.location.value + i) & 127] = load;
    return;
  }
  const u32 first = first_row(use.wave, use.location);
  if (first + use.location.dwords > state.vectors.size()) return;
  for (u32 row = first; row < first + use.location.dwords; ++row) {
    VectorRegister& vector = state.vectors[row];
    vector = {};
    vector.load = load;
    if (use.instruction.matrix)
      vector.written_by = {*use.instruction.matrix, first, use.location.dwords, state.time, use.pc};
    if (use.instruction.decoded.row->kind == Kind::VectorAlu) vector.alu_time = state.time, vector.alu_pc = use.pc;
  }
}

void HazardChecker::report(const Use& use, u64 earlier_pc, const char* kind, const std::string& reason) {
  const WaveName self{use.wave.group->id(), use.wave.index};
  const Sighting sighting{.tool = kWaitsTool, .kind = kind, .pc = use.pc, .earlier_pc = earlier_pc, .earlier = self};
  findings_.add(use.wave, sighting, [&] {
    return text(register_name(use.location, 0), use.location.dwords > 1 ? " (or the next)" : "", " is ", reason);
  });
}

}  // namespace wave::emulator
