#include "emulator/polls.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "emulator/isa/operand.h"
#include "emulator/workgroup.h"

namespace wave::emulator {

namespace {

using Direction = isa::MemoryAccess::Direction;
using isa::Kind;
using isa::Place;

constexpr u64 kMostCode = 16384, kMostLoop = 512, kMostBefore = 256;  // bytes

/// An instruction, as far as loops that poll need it.
struct Step {
  isa::Instruction instruction;
  const Op* target = nullptr;  ///< of a branch within the function
  std::set<u32> reads, writes;
  bool is_load = false;       ///< of one address, of LDS or memory
  bool is_of_lds = false;     ///< perhaps, by a FLAT instruction
  bool is_of_memory = false;  ///< likewise
  bool is_atomic = false;     ///< of LDS, perhaps
  bool calls = false;         ///< ... or returns: it leaves the function
  bool ends_polling = false;  ///< a store, an atomic, or what leaves the function
};

/// Registers have numbers: vector ones come behind the others.
void note_registers(const isa::Instruction& instruction, Step& step) {
  constexpr u32 kVectors = 256, kAccumulators = 1024;
  for (const isa::Operand& operand : std::span(instruction.row->operands, instruction.row->operand_count)) {
    const isa::Location location = isa::locate(instruction, operand);
    const bool is_scalar = location.place == Place::Scalar;
    if (!is_scalar && location.place != Place::Vgpr && location.place != Place::Agpr) continue;
    const u32 base = is_scalar ? 0 : location.place == Place::Vgpr ? kVectors : kAccumulators;
    for (u32 i = 0; i < std::max<u32>(location.dwords, 1); ++i) {
      if (operand.read) step.reads.insert(base + location.value + i);
      if (operand.written) step.writes.insert(base + location.value + i);
    }
  }
}

bool has_target(const isa::Row& row) {
  const auto leads_on = [](const isa::Operand& one) { return one.kind == isa::OperandKind::BranchTarget; };
  return std::ranges::any_of(std::span(row.operands, row.operand_count), leads_on);
}

isa::Instruction instruction_at(const Wave& wave, u64 pc) {
  const LaunchState& launch = wave.group->launch();
  return launch.module.decode(pc, launch.lanes);
}

Step step_at(const Wave& wave, u64 pc) {
  Step step;
  step.instruction = instruction_at(wave, pc);
  step.ends_polling = step.instruction.row == nullptr;
  if (step.ends_polling) return step;
  const isa::Row& row = *step.instruction.row;
  const Direction direction = row.memory.direction;
  note_registers(step.instruction, step);
  const bool accesses = row.kind == Kind::Lds || row.kind == Kind::VectorMemory || row.kind == Kind::ScalarMemory;
  step.is_of_lds = row.kind == Kind::Lds || row.format == isa::Format::FLAT;
  step.is_of_memory =
      row.kind == Kind::VectorMemory && row.format != isa::Format::SCRATCH && !isa::loads_to_lds(step.instruction);
  step.is_load = (step.is_of_lds || step.is_of_memory) && direction == Direction::Load &&
                 row.memory.bytes <= sizeof(u64) && row.memory.addresses == 1;
  step.is_atomic = step.is_of_lds && direction == Direction::Atomic;
  const bool stores = direction == Direction::Store || direction == Direction::Atomic;
  step.ends_polling = accesses && stores && row.format != isa::Format::SCRATCH;  // where registers are spilled
  if (has_target(row)) step.target = wave.function->at(pc)->scalar.target;
  step.calls = row.kind == Kind::Control && !(step.reads.empty() && step.writes.empty());
  step.ends_polling |= step.calls;
  return step;
}

/// Of instructions of a loop, by their place and how deep they were asked for: whether they stay. Each is asked for
/// once, since there may be as many ways to it as paths through a net.
using Stays = std::map<std::pair<size_t, int>, bool>;

/// Whether what an instruction of a loop reads is the same in each turn: it is made, in the lines before it, of what
/// nothing in the loop writes, or of constants.
bool stays(const std::vector<Step>& loop, size_t at, Stays& known, int depth = 0) {
  constexpr int kDeepest = 16;
  if (depth == kDeepest) return false;
  const auto [place, is_new] = known.try_emplace({at, depth}, false);
  if (!is_new) return place->second;
  return place->second = std::ranges::all_of(loop[at].reads, [&](u32 number) {
           const auto writes = [&](const Step& step) { return step.writes.contains(number); };
           for (size_t i = at; i-- > 0;) {
             if (writes(loop[i])) return stays(loop, i, known, depth + 1);
           }
           return std::ranges::none_of(loop, writes);
         });
}

struct Polls : FunctionNotes {
  std::set<u64> pcs;
  bool has_lds = false;        ///< ... of loads of LDS
  bool has_memory = false;     ///< ... of memory
  bool may_be_called = false;  ///< in other functions
  bool has_atomics = false;    ///< that return what was in LDS
};

/// The loads between a branch's target and the branch.
void find_in_loop(const std::map<u64, Step>& code, u64 begin, u64 branch, Polls& polls) {
  std::vector<Step> loop;
  std::vector<std::pair<u64, size_t>> loads;
  for (auto at = code.find(begin); at != code.end() && at->first <= branch; ++at) {
    if (at->second.ends_polling) return;
    if (at->second.is_load) loads.emplace_back(at->first, loop.size());
    loop.push_back(at->second);
  }
  Stays known;
  for (const auto& [pc, number] : loads) {
    if (stays(loop, number, known)) polls.pcs.insert(pc);
  }
}

/// The first turn of a loop may stand before it: a load like the loop's, and a branch that passes the loop by.
void find_first_turns(const TranslatedFunction& function, const std::map<u64, Step>& code, Polls& polls) {
  const std::set<u64> in_loops = polls.pcs;
  for (const u64 pc : in_loops) {
    const auto poll = code.find(pc);
    bool is_passed_by = false;  // by what goes on behind the loop
    u64 lowest = ~u64{0};       // where a branch goes that may go on before it
    for (auto at = poll; at != code.begin() && pc - (--at)->first <= kMostBefore;) {
      const Step& step = at->second;
      if (step.ends_polling) break;
      if (step.target != nullptr) {
        is_passed_by |= function.address(step.target) > pc;
        lowest = std::min(lowest, function.address(step.target));
      }
      if ((!is_passed_by && lowest >= at->first) || step.instruction.row != poll->second.instruction.row) continue;
      polls.pcs.insert(at->first);
      break;
    }
  }
}

const Polls& polls_of(const Wave& wave) {
  static constexpr char kKey = 0;
  const TranslatedFunction& function = *wave.function;
  return static_cast<const Polls&>(function.notes(&kKey, [&] {
    auto polls = std::make_unique<Polls>();
    if (function.end() - function.begin() > kMostCode) return polls;
    std::map<u64, Step> code;
    for (u64 pc = function.begin(); pc < function.end(); pc += 4 * u64{function.at(pc)->size})
      code.emplace(pc, step_at(wave, pc));
    for (const auto& [pc, step] : code) {
      // Whatever loop it stands in: at -O0 one keeps what it has loaded in scratch, by a store like any other.
      if (step.is_load && step.instruction.row->format == isa::Format::FLAT && isa::is_atomic_load(step.instruction))
        polls->pcs.insert(pc);
      polls->may_be_called |= step.calls;
      polls->has_atomics |= step.is_atomic && isa::has_result(step.instruction);
      if (step.target == nullptr) continue;
      const u64 begin = function.address(step.target);
      if (begin <= pc && pc - begin <= kMostLoop) find_in_loop(code, begin, pc, *polls);
    }
    find_first_turns(function, code, *polls);
    for (const u64 pc : polls->pcs) {
      polls->has_lds |= code.at(pc).is_of_lds;
      polls->has_memory |= code.at(pc).is_of_memory;
    }
    return polls;
  }));
}

struct Waits : FunctionNotes {
  bool for_memory = false;
};

bool computes_floats(const isa::Row& row) {
  using isa::OperandType;
  constexpr OperandType kFloats[] = {OperandType::F16, OperandType::F32, OperandType::F64, OperandType::PackedF16};
  const auto is_float = [&](const isa::Operand& one) {
    return std::ranges::find(kFloats, one.type) != std::end(kFloats);
  };
  return row.kind == Kind::VectorAlu && std::ranges::any_of(std::span(row.operands, row.operand_count), is_float);
}

/// Whether a loop reads memory by atomics, and stores nothing there: where one work-item asks for all, it tells the
/// others by LDS. One that also computes floats makes an atomic of them by compare-and-swap, and waits for nobody.
bool polls_memory(const Wave& wave, u64 begin, u64 branch) {
  bool asks = false;
  for (u64 pc = begin; pc <= branch; pc += 4 * u64{wave.function->at(pc)->size}) {
    const isa::Instruction instruction = instruction_at(wave, pc);
    if (instruction.row == nullptr) return false;
    const isa::Row& row = *instruction.row;
    const Direction direction = row.memory.direction;
    if (computes_floats(row)) return false;
    if (row.kind != Kind::VectorMemory) continue;
    if (direction == Direction::Store && row.format != isa::Format::SCRATCH) return false;
    const bool modifies = direction == Direction::Atomic && isa::has_result(instruction);
    asks |= modifies || isa::is_atomic_load(instruction);
  }
  return asks;
}

std::unique_ptr<Waits> find_waits(const Wave& wave) {
  const TranslatedFunction& function = *wave.function;
  auto waits = std::make_unique<Waits>();
  for (u64 pc = function.begin(); pc < function.end(); pc += 4 * u64{function.at(pc)->size}) {
    const isa::Instruction instruction = instruction_at(wave, pc);
    if (instruction.row == nullptr || !has_target(*instruction.row)) continue;
    const u64 begin = function.address(function.at(pc)->scalar.target);
    waits->for_memory |= begin <= pc && pc - begin <= kMostLoop && polls_memory(wave, begin, pc);
  }
  return waits;
}

}  // namespace

bool waits_for_memory(const Wave& wave) {
  static constexpr char kKey = 0;
  return static_cast<const Waits&>(wave.function->notes(&kKey, [&] { return find_waits(wave); })).for_memory;
}

bool is_poll(const Wave& wave, u64 pc) { return polls_of(wave).pcs.contains(pc); }

bool may_poll(const Wave& wave) {
  const Polls& polls = polls_of(wave);
  return polls.may_be_called || polls.has_lds;
}

bool may_poll_in_memory(const Wave& wave) { return shares_cache(wave) && polls_of(wave).has_memory; }

bool shares_cache(const Wave& wave) {
  const KernelDescriptor& descriptor = *wave.group->launch().kernel.descriptor;
  return !descriptor.tg_split && !descriptor.wgp_mode;
}

isa::Scope scope_of(const Wave& wave, const isa::Instruction& instruction, u64 pc) {
  const isa::Row& row = *instruction.row;
  const isa::Scope shown = isa::atomic_scope(instruction);
  if (shown != isa::Scope::None || row.kind != Kind::VectorMemory) return shown;
  if (!isa::hides_group_scope(row) || !shares_cache(wave)) return shown;
  const bool may_be_atomic =
      row.memory.direction == Direction::Store || (row.memory.direction == Direction::Load && is_poll(wave, pc));
  return may_be_atomic ? isa::Scope::Workgroup : shown;
}

bool may_acquire_in_lds(const Wave& wave) { return may_poll(wave) || polls_of(wave).has_atomics; }

}  // namespace wave::emulator
