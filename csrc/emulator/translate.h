// From decoded instructions to micro-operations.
#pragma once

#include <array>
#include <memory>

#include "emulator/bindings.h"
#include "emulator/module.h"

namespace wave::emulator {

/// Builds one function at a time.
class Translator {
 public:
  Translator(const Bindings& bindings, const ProcessorTraits& processor, const RegisterLimits& limits)
      : bindings_(bindings), processor_(processor), limits_(limits) {}

  /// The function [begin, end). `words` starts at `begin` and may reach beyond `end`, so that all words of the last
  /// instruction can be seen.
  std::unique_ptr<TranslatedFunction> translate(u64 begin, u64 end, std::span<const u32> words);

 private:
  void translate_op(const isa::Instruction& instruction, u32 index, Op& op);
  /// VOPD: makes `op` run two operations.
  void translate_dual(const isa::Instruction& instruction, Op& op);
  /// A wave of 32 lanes: makes `op` keep the low half of the mask that its routine writes.
  void narrow_mask(Op& op);
  /// False where the instruction names a register that the kernel does not have.
  bool set_operands(const isa::Instruction& instruction, Op& op);
  /// The same of VOPD.
  bool set_dual_operands(const isa::Instruction& instruction, std::array<Op, 2>& parts);
  void set_scalar_operands(const isa::Instruction& instruction, Op& op);
  void set_scalar_memory_operands(const isa::Instruction& instruction, Op& op);
  void set_vector_operands(const isa::Instruction& instruction, Op& op);
  void set_vector_source(const isa::Instruction& instruction, const isa::Operand& operand, int index, Op& op);
  void set_vector_memory_operands(const isa::Instruction& instruction, Op& op);
  void set_buffer_operands(const isa::Instruction& instruction, Op& op);
  void set_modifiers(const isa::Instruction& instruction, Op& op);
  /// isa::locate, in the codes that the core uses.
  isa::Location locate(const isa::Instruction& instruction, const isa::Operand& operand) const;
  u16 register_row(const isa::Location& location) const;
  uintptr_t constant_rows(u64 value);

  const Bindings& bindings_;
  const ProcessorTraits& processor_;
  const RegisterLimits limits_;
  TranslatedFunction* function_ = nullptr;
};

}  // namespace wave::emulator
