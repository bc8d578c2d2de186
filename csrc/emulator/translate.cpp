#include "emulator/translate.h"

#include "base/error.h"
#include "emulator/workgroup.h"

namespace wave::emulator {

namespace {

using isa::Field;
using isa::Format;
using isa::Instruction;

/// What stands in for operations that cannot run: the fault is raised where they are reached, not before.
const Op* refuse_instruction(Wave& wave, const Op*) {
  const Module& module = wave.group->launch().module;
  const Instruction instruction = module.decode(wave.address(wave.op));
  if (instruction.row == nullptr)
    fault(text("an instruction that ", module.code().target().processor, " does not have"));
  const std::string reason = unsupported(instruction);
  fault(reason.empty() ? "a register that the kernel does not have: its descriptor allocates fewer" : reason);
}

/// Behind the last instruction: the next function, if there is one.
const Op* run_on(Wave& wave, const Op* op) { return wave.jump(wave.address(op)); }

bool is_branch(const Instruction& instruction) {
  const std::string_view name = isa::base_name(*instruction.row);
  return name.starts_with("s_cbranch_") || name == "s_branch";
}

/// Integer saturation (CLAMP) is a routine of its own: "v_add_u32 clamp". Instructions whose results always fit have
/// none. CLAMP of floats is an output modifier.
Execute find_routine(const Instruction& instruction) {
  const isa::Row& row = *instruction.row;
  const std::string_view name = isa::base_name(row);
  const bool clamps = (row.modifiers & isa::kClamp) && instruction[Field::CLAMP] != 0;
  const Execute saturating = clamps ? find_body(text(name, " clamp")) : nullptr;
  return saturating != nullptr ? saturating : find_body(name);
}

/// What MODE.VSKIP and MODE.GPR_IDX_EN concern.
u8 mode_flags(Format format) {
  if (format <= Format::SMEM) return 0;
  return format < Format::DS ? kSkippable | kIndexable : kSkippable;
}

}  // namespace

std::string unsupported(const Instruction& instruction) {
  const isa::Row& row = *instruction.row;
  const std::string name = row.mnemonic;
  if (find_routine(instruction) == nullptr) return text(name, " is not implemented");
  if (row.format == Format::DS && (row.modifiers & isa::kGds) && instruction[Field::GDS] != 0) {
    return text(name, " is not implemented: gds");
  }
  return {};
}

void Translator::translate_op(const Instruction& instruction, u32 index, Op& op) {
  op.size = instruction.dwords;
  if (instruction.row != nullptr) op.flags = mode_flags(instruction.row->format);
  if (instruction.row == nullptr || !unsupported(instruction).empty() || !set_operands(instruction, op)) {
    op.execute = refuse_instruction;
    return;
  }
  op.execute = find_routine(instruction);
  if (is_branch(instruction)) {
    const i64 target = i64{index} + 1 + static_cast<i32>(op.imm);
    if (target >= 0 && target < static_cast<i64>(function_->count_))
      op.target = &function_->ops_[static_cast<size_t>(target)];
  }
}

std::unique_ptr<Function> Translator::translate(u64 begin, u64 end, std::span<const u32> words) {
  // An instruction that starts at the last dword may be three long: so many guards are needed behind it.
  constexpr size_t kGuards = 3;
  auto function = std::make_unique<Function>();
  function_ = function.get();
  function->begin_ = begin;
  const u32 count = static_cast<u32>((end - begin) / 4);
  function->ops_.resize(count + kGuards);
  function->count_ = count;
  for (u32 index = 0; index < count; ++index) {
    translate_op(instruction_set_.decode(words.subspan(index)), index, function->ops_[index]);
  }
  for (size_t guard = 0; guard < kGuards; ++guard) function->ops_[count + guard].execute = run_on;
  return function;
}

}  // namespace wave::emulator
