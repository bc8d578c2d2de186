#include "emulator/hazards.h"

#include <algorithm>
#include <bit>

#include "emulator/isa/operand.h"
#include "emulator/step.h"
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

std::string register_name(const Location& location) {
  const char* file = location.place == Place::Vgpr ? "v" : location.place == Place::Agpr ? "a" : "s";
  const bool is_special = location.place == Place::Scalar && location.value >= sreg::kVcc;
  return text(is_special ? "scalar register " : file, location.value, location.dwords > 1 ? " (or the next)" : "");
}

/// Whether its vector registers are others than the encoding names.
bool is_relative(const Wave& wave, const Op* op) { return wave.mode.gpr_index() && (op->flags & kIndexable); }

/// More wait states than any matrix instruction asks for.
constexpr u64 kMatrixStates = 32;

}  // namespace

const HazardChecker::Decoded& HazardChecker::look_up(const Wave& wave, const Op* op) {
  return instructions_.get(wave, op, [&](Decoded& instruction) {
    decode(wave, op, instruction);
    if (instruction.decoded.row == nullptr) return;
    if (instruction.first != 0 && !may_matter(wave, op, instruction)) instruction.first = 0;
    instruction.is_simple = instruction.first == 0 && instruction.counters == 0 && !instruction.matrix &&
                            !instruction.is_wait && !instruction.is_transcendental && !instruction.ends_vectors;
  });
}

/// All but what follows from the instructions behind it.
void HazardChecker::decode(const Wave& wave, const Op* op, Decoded& instruction) const {
  instruction.decoded = decoded_instruction(wave, op);
  if (instruction.decoded.row == nullptr) return;
  const isa::Row& row = *instruction.decoded.row;
  instruction.matrix = matrix_timing(instruction.decoded);
  instruction.counters = counters_of(instruction.decoded);
  instruction.states = row.kind == Kind::Nop ? 1 + (op->scalar.simm16 & 15u) : 1;
  instruction.is_wait = isa::is_wait(row.kind);
  instruction.is_memory = row.kind == Kind::Lds || row.kind == Kind::VectorMemory;
  instruction.is_vector = row.kind == Kind::VectorAlu || row.kind == Kind::DotProduct || row.kind == Kind::Matrix ||
                          row.kind == Kind::SparseMatrix;
  instruction.is_transcendental = (row.traits & isa::kTranscendental) != 0;
  // S_WAITCNT_DEPCTR counts nothing of the tables; its upper four bits are VA_VDST.
  const bool waits_for_vectors = row.kind == Kind::Wait && row.traits == 0 && op->scalar.simm16 >> 12 == 0;
  instruction.ends_vectors = instruction.is_memory || waits_for_vectors;
  const bool has_named_by_m0 = moves_relative_rows(op->execute) || moves_relative_scalars(op->execute);
  if (!has_named_by_m0) find_registers(wave, instruction);
  instruction.has_only_vectors =
      instruction.is_vector && instruction.touched.scalar_writes.is_empty() && !instruction.touched.writes.is_empty();
  instruction.roles = wait_roles(instruction.decoded, instruction.touched, rules_);
  instruction.scalar_role = ScalarHazards::role_of(instruction.decoded, instruction.touched);
  instruction.first = instruction.roles.first;
  instruction.second = instruction.roles.second;
}

/// Whether an instruction that comes so soon behind one may be the second of a rule: on all paths, as far as they are
/// known. So that most need not be remembered.
bool HazardChecker::may_matter(const Wave& wave, const Op* op, const Decoded& first) const {
  struct Path {
    const Op* next;
    u32 states, vectors;
  };
  constexpr size_t kMostSteps = 64;
  std::vector<Path> paths{{next(op), 0, 0}};
  for (size_t steps = 0; !paths.empty(); ++steps) {
    const auto [at, states, vectors] = paths.back();
    paths.pop_back();
    const bool is_known = wave.function->contains(wave.address(at));
    if (!is_known || steps == kMostSteps) return true;
    Decoded second;
    decode(wave, at, second);
    if (second.decoded.row == nullptr) continue;  // a fault
    const isa::Row& row = *second.decoded.row;
    bool is_open = false;  // what comes behind may matter
    for (WaitRules rules = first.roles.first; rules != 0; rules &= rules - 1) {
      const WaitRule& rule = wait_rules()[static_cast<size_t>(std::countr_zero(rules))];
      if ((rule.count == WaitRule::Count::States ? states : vectors) >= rule.states) continue;
      is_open = true;
      if ((rules & -rules & second.roles.second) != 0 &&
          is_shared(rule, first.touched, first.roles, second.touched, second.roles))
        return true;
    }
    if (!is_open) continue;
    if (row.kind == Kind::Control) {
      const auto is_place = [](const Operand& operand) { return operand.kind == isa::OperandKind::BranchTarget; };
      const std::span operands(row.operands, row.operand_count);
      const bool has_target = std::ranges::any_of(operands, is_place);
      const bool reads_registers = !second.touched.scalar_reads.is_empty();  // an address, or what VSKIP becomes
      if (reads_registers || (has_target && at->scalar.target == nullptr)) return true;
      if (has_target) paths.push_back({at->scalar.target, states + second.states, vectors});
    }
    paths.push_back({next(at), states + second.states, vectors + second.is_vector});
  }
  return false;
}

void HazardChecker::find_registers(const Wave& wave, Decoded& instruction) {
  const isa::Row& row = *instruction.decoded.row;
  const bool accumulates = row.operand_count != 0 && row.operands[0].read;  // sparse matrices: then C is D
  const bool is_atomic = (row.modifiers & isa::kReturn) != 0;  // where it returns nothing, its data are but read
  const bool returns = !is_atomic || isa::returns_value(instruction.decoded);
  for (const Operand& operand : std::span(row.operands, row.operand_count)) {
    const Location location = isa::locate(instruction.decoded, operand);
    if (!is_register(row.generation, location)) continue;
    // What a load leaves of its destination is merged in order. A mask of lanes that DPP writes is not read.
    const bool is_mask = operand.written && location.place == Place::Scalar && (row.traits & isa::kWritesMask) != 0;
    const bool is_merged = operand.written && instruction.is_memory && !is_atomic;
    const bool is_read = operand.read && !is_mask && !is_merged;
    const bool is_written = operand.written && returns, is_vector = location.place != Place::Scalar;
    const bool is_c = instruction.matrix && (operand.written || (operand.field == Field::SRC2 && !accumulates));
    // The vector registers in the order of the register file, accumulation registers last.
    const u32 first = location.value + (location.place == Place::Agpr ? wave.vgpr_count : 0);
    const u32 rows = wave.vgpr_count + wave.agpr_count;
    if (is_vector && first + location.dwords > rows) continue;  // a fault follows
    instruction.registers.push_back({location, first, is_vector, is_read, is_written, is_c});
    Touched& touched = instruction.touched;
    if (is_vector && is_read) touched.reads.add(first, location.dwords);
    if (is_vector && is_written) touched.writes.add(first, location.dwords);
    if (!is_vector && is_read) touched.scalar_reads.add(first, location.dwords);
    if (!is_vector && is_written) touched.scalar_writes.add(first, location.dwords);
    if (!is_vector && (is_read || is_written)) instruction.scalars.add(first, location.dwords);
  }
  instruction.summary = instruction.touched.reads.summary() | instruction.touched.writes.summary();
}

void HazardChecker::start(const Wave& wave) {
  if (wave.index == 0) {
    const ProcessorTraits& processor = wave.group->launch().module.processor();
    rules_ = processor.wait_rules;
    has_scalar_hazards_ = processor.has_scalar_hazards;
  }
  if (states_.size() <= wave.index) states_.resize(wave.index + 1);
  State& state = states_[wave.index];
  state.loads.resize(wave.vgpr_count + wave.agpr_count);
  state.matrices.resize(state.loads.size());
  state.loading = {};
  state.scalars_loading = {};
  state.pending.clear();
  state.counters = {};
  state.time += kMatrixStates;  // what registers have of the wave before is long ago
  state.past_count = 0;
  state.first = 0;
  state.suspicions.clear();
  state.scalar_hazards = {};
  state.watch();
}

void HazardChecker::before(const Wave& wave, const Op* op) {
  const Decoded* const known = instructions_.find(wave, op);
  if (known == nullptr || has_scalar_hazards_) return look_first(wave, op);
  look(wave, op, *known);
}

/// What most instructions need not.
void HazardChecker::look_first(const Wave& wave, const Op* op) {
  const Decoded& instruction = look_up(wave, op);
  if (has_scalar_hazards_) check_scalars(states_[wave.index], wave, instruction, op);
  look(wave, op, instruction);
}

void HazardChecker::look(const Wave& wave, const Op* op, const Decoded& instruction) {
  State& state = states_[wave.index];
  const bool meets = (state.watched_rows & instruction.summary) != 0 || (state.first & instruction.second) != 0 ||
                     state.scalars_loading.meets(instruction.scalars);
  if (!instruction.is_simple || meets || wave.mode.skip_vector()) return look_closely(state, wave, instruction, op);
  state.vectors_count += instruction.is_vector;
  state.time += instruction.states;
}

void HazardChecker::look_closely(State& state, const Wave& wave, const Decoded& instruction, const Op* op) {
  if (instruction.decoded.row == nullptr) return;  // a fault follows
  const bool may_skip = wave.mode.skip_vector();
  if (may_skip && (op->flags & kSkippable)) return;
  if (instruction.is_wait) wait(state, *instruction.decoded.row, op->scalar.simm16);
  state.counters.issue(instruction.counters);
  if (instruction.registers.empty() && instruction.roles.first == 0 && instruction.roles.second == 0) {
    state.vectors_count += instruction.is_vector;
    state.ends += instruction.ends_vectors;
    state.time += instruction.states;
    return state.watch();
  }

  const bool are_relative = is_relative(wave, op);
  if (!state.suspicions.empty() && !are_relative) follow_suspicions(state, wave, instruction);
  const bool meets_loads = touches(instruction, state.loading) || state.scalars_loading.meets(instruction.scalars);
  const bool meets_matrices = state.time < state.matrix_until && touches(instruction, state.of_matrices);
  if (meets_loads || meets_matrices || instruction.matrix) {
    check_registers(state, wave, instruction, op, meets_loads, meets_matrices);
  } else if (instruction.counters != 0) {
    note_writes(state, wave, instruction, op);
  }
  if (state.past_count != 0) forget_past(state);
  if (!are_relative) {
    if ((instruction.second & state.first) != 0) check_past(state, wave, instruction, wave.address(op));
    // What is skipped is no wait state: how far others are then follows from no text.
    if ((may_skip ? instruction.roles.first : instruction.first) != 0) note_past(state, instruction, wave.address(op));
  }
  state.vectors_count += instruction.is_vector;
  state.transcendentals += instruction.is_transcendental;
  state.ends += instruction.ends_vectors;
  state.time += instruction.states;
  state.watch();
}

/// What is too long ago for every rule.
void HazardChecker::forget_past(State& state) {
  const Past& last = state.past[(state.past_count - 1) % kPast];
  const bool is_old = state.time - last.time > last.instruction->states + kMostWaitStates &&
                      state.vectors_count - last.vectors > kMostWaitStates;
  if (is_old) state.past_count = 0, state.first = 0;
}

void HazardChecker::note_past(State& state, const Decoded& instruction, u64 pc) {
  state.first |= instruction.roles.first;
  state.past[state.past_count++ % kPast] = {&instruction,          pc,        state.time, state.vectors_count,
                                            state.transcendentals, state.ends};
}

/// What has been waited for is looked at no more.
void HazardChecker::wait(State& state, const isa::Row& row, u32 immediate) {
  state.counters.wait(row, immediate);
  if (!state.counters.has_pending()) {
    state.loading = {};
    state.scalars_loading = {};
    state.pending.clear();
    return;
  }
  std::erase_if(state.pending, [&](const PendingLoad& load) {
    const bool is_done = load.number <= state.counters.done(load.counters);
    if (is_done) end_load(state, load);
    return is_done;
  });
}

/// Its registers may have been loaded again since, or written otherwise.
void HazardChecker::end_load(State& state, const PendingLoad& load) {
  for (u32 i = load.first; i < load.first + load.count; ++i) {
    const Load& last = load.is_vector ? state.loads[i] : state.scalar_loads[i & 127];
    if (last.number != load.number || last.counters != load.counters) continue;
    load.is_vector ? state.loading.remove(i) : state.scalars_loading.remove(i);
  }
}

/// `meets_loads`: whether a load of one of its registers may not be done. `meets_matrices`: whether a matrix
/// instruction is under way.
void HazardChecker::check_registers(State& state, const Wave& wave, const Decoded& instruction, const Op* op,
                                    bool meets_loads, bool meets_matrices) {
  const u64 pc = wave.address(op);
  const bool are_relative = is_relative(wave, op);
  const auto is_followed = [&](const Register& one) { return !(are_relative && one.is_vector); };
  for (const Register& one : instruction.registers) {
    if (!one.is_read || !is_followed(one)) continue;
    const Use use{state, wave, instruction, pc, one};
    if (meets_loads) check_loads(use, false);
    if (one.is_vector && meets_matrices) check_read(use);
    if (one.is_vector && one.is_c) note_c(use);
  }
  for (const Register& one : instruction.registers) {
    if (!one.is_written || !is_followed(one)) continue;
    const Use use{state, wave, instruction, pc, one};
    if (meets_loads) check_loads(use, true);
    if (one.is_vector && meets_matrices) check_write(use);
    note_write(use, meets_matrices || instruction.matrix);
  }
  if (instruction.matrix) note_matrix(state, instruction);
}

void HazardChecker::note_matrix(State& state, const Decoded& instruction) {
  if (state.time >= state.matrix_until) state.of_matrices = {};
  for (const Register& one : instruction.registers) {
    if (one.is_vector && one.is_c) state.of_matrices.add(one.first, one.location.dwords);
  }
  state.matrix_until = std::max(state.matrix_until, state.time + kMatrixStates);
}

/// Of a load that meets nothing.
void HazardChecker::note_writes(State& state, const Wave& wave, const Decoded& instruction, const Op* op) {
  const bool are_relative = is_relative(wave, op);
  for (const Register& one : instruction.registers) {
    if (one.is_written && !(are_relative && one.is_vector))
      note_write({state, wave, instruction, wave.address(op), one}, false);
  }
}

bool HazardChecker::is_pending(const State& state, const Load& load) {
  return load.counters != 0 && load.number > state.counters.done(load.counters);
}

void HazardChecker::check_loads(const Use& use, bool write) {
  State& state = use.state;
  for (u32 i = use.one.first; i < use.one.first + use.one.location.dwords; ++i) {
    if (use.one.is_vector ? !state.loading.contains(i) : !state.scalars_loading.contains(i)) continue;
    const Load& load = use.one.is_vector ? state.loads[i] : state.scalar_loads[i];
    if (is_pending(state, load)) {
      check_load(use, load, write);
    } else if (use.one.is_vector) {
      state.loading.remove(i);
    } else {
      state.scalars_loading.remove(i);
    }
  }
}

void HazardChecker::check_load(const Use& use, const Load& load, bool write) {
  const isa::Generation generation = use.instruction.decoded.row->generation;
  const bool in_order = ends_in_order(generation, load.counters), is_same = use.instruction.counters == load.counters;
  if (write && in_order && is_same) return;
  if (write && report_reading(use, load.pc)) return;
  const u64 later = in_order ? use.state.counters.issued(load.counters) - load.number : 0;
  const u64 own = is_same ? 1 : 0;  // this instruction has been counted already
  const std::string wait = wait_text(generation, load.counters, later - std::min(later, own));
  std::string message = text(register_name(use.one.location), " is ", write ? "overwritten" : "read",
                             " before its load has been waited for: ", wait, " is missing");
  const Sighting found = sighting(use, load.pc, "missing-wait");
  if (!write && use.instruction.has_only_vectors) return suspect(use, found, std::move(message));
  findings_.add(use.wave, found, [&] { return message; });
}

void HazardChecker::check_time(const Use& use, const Matrix& matrix, u32 needed, const char* what) {
  if (matrix.pc == 0) return;
  const u64 passed = use.state.time - matrix.time - 1;
  if (passed >= needed) return;
  findings_.add(use.wave, sighting(use, matrix.pc, "wait-states"), [&] {
    return text(register_name(use.one.location), " is ", what, " after ", passed, " wait states, of ", needed,
                " that the matrix instruction takes");
  });
}

void HazardChecker::check_read(const Use& use) {
  for (u32 i = use.one.first; i < use.one.first + use.one.location.dwords; ++i) {
    const Matrix& writer = use.state.matrices[i].written_by;
    const MatrixTiming& timing = writer.timing;
    const std::optional<MatrixTiming>& reader = use.instruction.matrix;
    if (!reader) {
      check_time(use, writer, timing.until_read(use.instruction.is_memory), "read");
      continue;
    }
    const bool is_same = writer.first == use.one.first && writer.registers == use.one.location.dwords;
    const u32 needed = !use.one.is_c ? timing.until_factor()
                       : is_same     ? timing.until_same_c(*reader)
                                     : timing.until_overlapping_c(*reader);
    check_time(use, writer, needed, "read");
  }
}

void HazardChecker::check_write(const Use& use) {
  if (use.instruction.matrix) return;
  for (u32 i = use.one.first; i < use.one.first + use.one.location.dwords; ++i) {
    const OfMatrices& vector = use.state.matrices[i];
    check_time(use, vector.written_by, vector.written_by.timing.until_overwritten(), "overwritten");
    check_time(use, vector.read_as_c_by, vector.read_as_c_by.timing.until_c_overwritten(), "overwritten");
  }
}

void HazardChecker::note_c(const Use& use) {
  for (u32 i = use.one.first; i < use.one.first + use.one.location.dwords; ++i)
    use.state.matrices[i].read_as_c_by = {*use.instruction.matrix, 0, 0, use.state.time, use.pc};
}

/// What matrix instructions have written long ago need not be forgotten.
void HazardChecker::note_write(const Use& use, bool meets_matrices) {
  State& state = use.state;
  const Counters counters = use.instruction.counters;
  const Load load = counters == 0 ? Load{} : Load{counters, static_cast<u32>(state.counters.issued(counters)), use.pc};
  const u32 first = use.one.first, count = use.one.location.dwords;
  for (u32 i = first; i < first + count; ++i) {
    if (use.one.is_vector) {
      state.loads[i] = load;
      if (meets_matrices) state.matrices[i] = {};
      if (use.instruction.matrix)
        state.matrices[i].written_by = {*use.instruction.matrix, first, count, state.time, use.pc};
      if (counters == 0) state.loading.remove(i);
    } else {
      state.scalar_loads[i & 127] = load;
      if (counters == 0) state.scalars_loading.remove(i);
    }
  }
  if (counters == 0) return;
  constexpr size_t kMostPending = 64;
  if (state.pending.size() == kMostPending) state.pending.erase(state.pending.begin());
  state.pending.push_back({counters, load.number, first, count, use.one.is_vector});
  if (use.one.is_vector) {
    state.loading.add(first, count);
  } else {
    state.scalars_loading.add(first, count);
  }
}

/// What lies between: the states, or the vector instructions. More than any rule asks for where it does not count.
u32 HazardChecker::passed_since(const State& state, const Past& past, const WaitRule& rule) {
  if (rule.count == WaitRule::Count::States) {
    return static_cast<u32>(std::min<u64>(state.time - past.time - past.instruction->states, kMostWaitStates));
  }
  const bool is_transcendental = past.instruction->is_transcendental;
  if (is_transcendental && (state.ends != past.ends || state.transcendentals - past.transcendentals > 2))
    return kMostWaitStates;
  return state.vectors_count - past.vectors - 1;
}

void HazardChecker::check_scalars(State& state, const Wave& wave, const Decoded& instruction, const Op* op) {
  const u64 pc = wave.address(op);
  const ScalarHazards::TooEarly early = state.scalar_hazards.follow(instruction.scalar_role, pc, wave.lanes);
  if (early.pending == 0) return;
  const WaveName self{wave.group->id(), wave.index};
  const Sighting found{.tool = kWaitsTool, .kind = "wait-states", .pc = pc, .earlier_pc = early.pc, .earlier = self};
  findings_.add(wave, found, [&] {
    const std::string name = early.scalar == sreg::kVcc ? "VCC" : text("s", early.scalar);
    return text(name, ", which a vector instruction has read, was written since, and is read ",
                "before that is surely done: ", ScalarHazards::wait_text(early.pending), " is missing");
  });
}

/// Whether what an instruction of the past shares with this one has been written again since, by instructions that the
/// rule is about, too. Then those have not been waited for, and a wait for them is one for it: a chain of dot products
/// that add to one register is one hazard.
bool HazardChecker::is_written_again(const State& state, u32 age, const WaitRule& rule, WaitRules bit,
                                     const Decoded& instruction) {
  const Decoded& first = *state.past[(state.past_count - 1 - age) % kPast].instruction;
  Touched left = first.touched;
  bool has_others = false;
  for (u32 later = 0; later < age; ++later) {
    const Decoded& other = *state.past[(state.past_count - 1 - later) % kPast].instruction;
    if ((other.roles.first & bit) == 0) continue;
    has_others = true;
    left.writes.remove(other.touched.writes);
    left.scalar_writes.remove(other.touched.scalar_writes);
  }
  if (rule.share == WaitRule::Share::Nothing) return has_others;
  return has_others && !is_shared(rule, left, first.roles, instruction.touched, instruction.roles);
}

void HazardChecker::check_past(State& state, const Wave& wave, const Decoded& instruction, u64 pc) {
  for (u32 i = 0; i < std::min(state.past_count, kPast); ++i) {
    const Past& past = state.past[(state.past_count - 1 - i) % kPast];
    for (WaitRules both = past.instruction->roles.first & instruction.roles.second; both != 0; both &= both - 1) {
      const WaitRule& rule = wait_rules()[static_cast<size_t>(std::countr_zero(both))];
      const u32 passed = passed_since(state, past, rule);
      if (passed >= rule.states) continue;
      if (!is_shared(rule, past.instruction->touched, past.instruction->roles, instruction.touched, instruction.roles))
        continue;
      if (is_written_again(state, i, rule, both & -both, instruction)) continue;
      const WaveName self{wave.group->id(), wave.index};
      const Sighting found{.tool = kWaitsTool, .kind = "wait-states", .pc = pc, .earlier_pc = past.pc, .earlier = self};
      findings_.add(wave, found, [&] {
        const char* counted = rule.count == WaitRule::Count::States ? " wait states" : " vector instructions";
        return text(rule.text, ": this one comes after ", passed, counted, ", of ", rule.states,
                    " that must lie between");
      });
    }
  }
}

Sighting HazardChecker::sighting(const Use& use, u64 earlier_pc, const char* kind) {
  const WaveName self{use.wave.group->id(), use.wave.index};
  return {.tool = kWaitsTool, .kind = kind, .pc = use.pc, .earlier_pc = earlier_pc, .earlier = self};
}

}  // namespace wave::emulator
