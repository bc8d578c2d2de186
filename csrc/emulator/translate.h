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
  Translator(const ProcessorTraits& processor, const KernelRegisters& registers)
      : bindings_(Bindings::of(processor, registers.lanes)), processor_(processor), registers_(registers) {}

  /// The function [begin, end). `words` starts at `begin` and may reach beyond `end`, so that all words of the last
  /// instruction can be seen. `besides`, if any, is what the same has given: then it is what begins at all other
  /// dwords.
  std::unique_ptr<TranslatedFunction> translate(u64 begin, u64 end, std::span<const u32> words,
                                                const TranslatedFunction* besides);

 private:
  void translate_op(const isa::Instruction& instruction, u32 index, Op& op);
  /// VOPD: makes `op` run two operations.
  void translate_dual(const isa::Instruction& instruction, Op& op);
  /// False where the instruction names a register that the kernel does not have.
  bool set_operands(const isa::Instruction& instruction, Op& op);
  /// The same of VOPD.
  bool set_dual_operands(const isa::Instruction& instruction, std::array<Op, 2>& parts);
  ScalarOperands scalar_operands(const isa::Instruction& instruction) const;
  ScalarMemoryOperands scalar_memory_operands(const isa::Instruction& instruction) const;
  VectorOperands vector_operands(const isa::Instruction& instruction);
  MatrixOperands matrix_operands(const isa::Instruction& instruction);
  u16 scale_row(const isa::Instruction& instruction, isa::Field field) const;
  FlatOperands flat_operands(const isa::Instruction& instruction) const;
  LdsOperands lds_operands(const isa::Instruction& instruction) const;
  BufferOperands buffer_operands(const isa::Instruction& instruction) const;
  void set_vector_source(const isa::Instruction& instruction, const isa::Operand& operand, int index,
                         VectorOperands& to);
  const Modifiers* modifiers(const isa::Instruction& instruction);
  /// isa::locate, in the codes that the core uses.
  isa::Location locate(const isa::Instruction& instruction, const isa::Operand& operand) const;
  /// The code of a scalar operand, the row of a vector register.
  u16 scalar_or_row(const isa::Instruction& instruction, const isa::Operand& operand) const;
  u16 register_row(const isa::Location& location) const;
  uintptr_t constant_rows(u64 value);

  const Bindings& bindings_;
  const ProcessorTraits& processor_;
  const KernelRegisters registers_;
  TranslatedFunction* function_ = nullptr;
  std::vector<Op*> branches_;  ///< of the function, whose targets lie in it
};

}  // namespace wave::emulator
