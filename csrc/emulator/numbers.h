// Finds where numbers that are none come from: instructions that make a NaN or an infinity of finite operands.
#pragma once

#include <vector>

#include "emulator/findings.h"
#include "emulator/isa/isa.h"
#include "emulator/observer.h"
#include "emulator/per_instruction.h"

namespace wave::emulator {

/// Looks at the results of vector and matrix instructions on floats. Operands that come from other lanes, or are a part
/// of a register (SDWA), are not known: such instructions are not looked at, nor are those whose registers are relative
/// to M0.
class NumberChecker : public Observer {
 public:
  explicit NumberChecker(Findings& findings) : findings_(findings) {}
  void before(const Wave& wave, const Op* op) override;
  void after(const Wave& wave, const Op* op) override;

 private:
  /// An operand of floats, as far as it lies in vector registers.
  struct Floats {
    isa::OperandType type{};
    bool is_vector = false;
    bool is_upper_half = false;
    u32 row = 0;
    u32 dwords = 0;
    u32 constant = 0;  ///< a scalar operand's code
  };

  struct Decoded {
    bool is_looked_at = false;
    bool is_matrix = false;
    isa::Instruction instruction;
    Floats result;
    std::vector<Floats> sources;
    bool overlaps = false;  ///< the result may overwrite a source
  };

  static Floats floats_of(const Wave& wave, const isa::Instruction& instruction, const isa::Operand& operand,
                          isa::OperandType type);
  static void decode(const Wave& wave, const Op* op, Decoded& decoded);
  void report(const Wave& wave, u64 pc, const Decoded& decoded, int lane);
  /// The source's value in a lane, before the instruction. Of packed halves the low one.
  double value(const Wave& wave, const Decoded& decoded, const Floats& source, int lane) const;
  u64 not_finite(const Wave& wave, const Decoded& decoded, const Floats& source) const;

  Findings& findings_;
  PerInstruction<Decoded> instructions_;
  const Decoded* now_ = nullptr;
  u64 pc_ = 0;
  std::vector<LaneRow> saved_;  ///< the result's registers as they were, where sources are among them
};

}  // namespace wave::emulator
