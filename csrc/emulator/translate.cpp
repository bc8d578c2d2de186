#include "emulator/translate.h"

#include <algorithm>
#include <span>
#include <utility>

#include "base/error.h"
#include "emulator/float_rows.h"
#include "emulator/scalar.h"
#include "emulator/workgroup.h"

namespace wave::emulator {

namespace {

using isa::Format;
using isa::Instruction;

/// What stands in for operations that cannot run: the fault is raised where they are reached, not before.
const Op* refuse_instruction(Wave& wave, const Op*) {
  const Module& module = wave.group->launch().module;
  const Instruction instruction = decoded_instruction(wave, wave.op);
  if (instruction.row == nullptr && instruction.graphics == nullptr)
    fault(text("an instruction that ", module.code().target().processor, " does not have"));
  const std::string reason = unsupported(Bindings::of(module.processor(), wave.lanes), instruction);
  fault(reason.empty() ? "a register that the kernel does not have: its descriptor allocates fewer" : reason);
}

/// Behind the last instruction: the next function, if there is one. It counts as no instruction.
const Op* run_on(Wave& wave, const Op* op) {
  ++wave.end;
  return go_to(wave, op, wave.jump(wave.address(op)));
}

/// Whether the instruction names its target, relative to itself, as its last operand.
bool is_branch(const isa::Row& row) {
  return row.operand_count != 0 && row.operands[row.operand_count - 1].kind == isa::OperandKind::BranchTarget;
}

/// Runs the parts of an operation one after the other.
const Op* run_both(Wave& wave, const Op* op) {
  for (const Op* part = op->dual.parts; part != op->dual.parts + 2; ++part) part->execute(wave, part);
  return go_on(wave, op);
}

/// The same where each reads what the other writes: the second finds the first one's destination as it was.
const Op* run_crossed(Wave& wave, const Op* op) {
  const Op *first = op->dual.parts, *second = first + 1;
  LaneRow& destination = wave.v[first->vector.dst];
  const LaneRow before = destination;
  first->execute(wave, first);
  const LaneRow result = std::exchange(destination, before);
  second->execute(wave, second);
  destination = result;
  return next(op);
}

/// Whether an operation reads what another one writes: vector registers of one row each.
bool reads_result(const Op& reader, const Op& writer) {
  for (const u16 source : reader.vector.src) {
    if (source == sreg::kVgpr0 + writer.vector.dst) return true;
  }
  return false;
}

/// What MODE.VSKIP and MODE.GPR_IDX_EN concern, for which GFX9 alone has bits in MODE.
u8 mode_flags(isa::Kind kind) {
  switch (kind) {
    case isa::Kind::VectorAlu:
    case isa::Kind::DotProduct:
    case isa::Kind::Matrix:
    case isa::Kind::SparseMatrix:
      return kSkippable | kIndexable;
    case isa::Kind::Lds:
    case isa::Kind::VectorMemory:
      return kSkippable;
    default:
      return 0;
  }
}

/// Whether it reads or writes lanes whose numbers it is given: V_READFIRSTLANE is given none.
bool names_lanes(const isa::Row& row) {
  constexpr u8 kWithNumber = 3;  // operands
  return row.kind == isa::Kind::Lds ? (row.traits & isa::kPermlane) != 0
                                    : (row.traits & isa::kOneLane) != 0 && row.operand_count == kWithNumber;
}

/// What an instruction is to observers that need not see all of them.
u8 observer_flags(const isa::Row& row) {
  constexpr u32 kCounted = isa::kLoadCount | isa::kStoreCount | isa::kLdsCount | isa::kScalarCount;
  if (row.traits & isa::kBarrierSignal) return kSignals;
  if (isa::is_wait(row.kind)) return kMovesMemory | kWaits;
  if (names_lanes(row)) return kNamesLanes | (row.kind == isa::Kind::Lds ? kMovesMemory : 0);
  if ((row.traits & kCounted) != 0) return kMovesMemory;
  if (row.traits & (isa::kMakesFp8 | isa::kMakesBf8)) return kMakesFloats;
  switch (row.kind) {
    case isa::Kind::VectorAlu:
    case isa::Kind::DotProduct: {
      const auto is_result = [](const isa::Operand& one) { return one.written && is_float(one.type); };
      return std::ranges::any_of(std::span(row.operands, row.operand_count), is_result) ? kMakesFloats : 0;
    }
    case isa::Kind::Matrix:
    case isa::Kind::SparseMatrix:
      return kMakesFloats;
    case isa::Kind::ScalarMemory:
    case isa::Kind::Lds:
    case isa::Kind::VectorMemory:
      return kMovesMemory;
    default:
      return 0;
  }
}

}  // namespace

void Translator::translate_op(const Instruction& instruction, u32 index, Op& op) {
  op.size = instruction.dwords;
  op.execute = refuse_instruction;
  if (instruction.row == nullptr) return;
  op.flags |= mode_flags(instruction.row->kind) | observer_flags(*instruction.row);
  if (instruction.row->format == Format::VOPD) return translate_dual(instruction, op);
  const Body* const body = bindings_.find(instruction);
  if (body == nullptr || !set_operands(instruction, op)) return;
  op.execute = body->forms.of(op.vector);
  if (is_branch(*instruction.row)) {
    const i64 target = i64{index} + 1 + static_cast<i32>(op.scalar.literal);
    if (target < 0 || target >= static_cast<i64>(function_->count_)) return;
    op.scalar.target = &function_->ops_[static_cast<size_t>(target)];
    branches_.push_back(&op);
  }
}

/// Leaves the refusal where one of the halves is not implemented. Both read their sources before either writes, so the
/// one whose result the other reads comes last.
void Translator::translate_dual(const Instruction& instruction, Op& op) {
  if (!unsupported(bindings_, instruction).empty()) return;
  const std::array<const Body*, 2> bodies = bindings_.find_halves(*instruction.row);
  std::array<Op, 2>& parts = function_->parts_.emplace_back();
  if (!set_dual_operands(instruction, parts)) return;
  for (size_t half = 0; half < 2; ++half) parts[half].execute = bodies[half]->forms.of(parts[half].vector);
  const bool first_is_read = reads_result(parts[1], parts[0]), second_is_read = reads_result(parts[0], parts[1]);
  if (first_is_read) std::swap(parts[0], parts[1]);
  op.execute = first_is_read && second_is_read ? run_crossed : run_both;
  op.dual = {parts.data()};
}

std::unique_ptr<TranslatedFunction> Translator::translate(u64 begin, u64 end, std::span<const u32> words,
                                                          const TranslatedFunction* besides) {
  // An instruction that starts at the last dword may be four long: so many guards are needed behind it.
  constexpr size_t kGuards = 4;
  auto function = std::make_unique<TranslatedFunction>();
  function_ = function.get();
  function->begin_ = begin;
  const u32 count = static_cast<u32>((end - begin) / 4);
  function->ops_.resize(count + kGuards);
  function->count_ = count;
  for (u32 index = 0; index < count;) {
    Op& op = function->ops_[index];
    const bool is_elsewhere = besides != nullptr && besides->ops_[index].execute != nullptr;
    if (!is_elsewhere)
      translate_op(bindings_.instruction_set().decode(words.subspan(index), registers_.lanes), index, op);
    index += besides != nullptr ? 1 : op.size;
  }
  // A branch into the middle of an instruction looks its target up, as one to another function does.
  for (Op* op : branches_) {
    if (op->scalar.target->execute == nullptr) op->scalar.target = nullptr;
  }
  branches_.clear();
  for (size_t index = 0; index < function->ops_.size(); ++index) {
    const bool goes_on_elsewhere = besides != nullptr && besides->ops_[index].execute != nullptr;
    if (index >= count || goes_on_elsewhere) function->ops_[index].execute = run_on;
  }
  u32 number = 0;
  for (Op& op : std::span(function->ops_).first(count + 1)) {
    op.number = number;
    if (op.execute == nullptr || op.execute == run_on) continue;
    op.behind = next(&op)->flags | size_flag(op.size);
    ++number;
  }
  return function;
}

}  // namespace wave::emulator
