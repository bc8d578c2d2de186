// Finds where numbers that are none come from: instructions that make a NaN or an infinity of finite operands, that
// leave the range of a small format, and, where it is asked for, whose result is another one since denormals count as
// zeros.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "emulator/findings.h"
#include "emulator/float_rows.h"
#include "emulator/isa/isa.h"
#include "emulator/observer.h"
#include "emulator/per_instruction.h"

namespace wave::emulator {

/// Looks at the results of vector and matrix instructions on floats. Operands that are a part of a register (SDWA) are
/// not known: such instructions are not looked at, nor are those whose registers are relative to M0.
class NumberChecker : public Observer {
 public:
  NumberChecker(Findings& findings, bool denormals) : findings_(findings), finds_denormals_(denormals) {}
  void before(const Wave& wave, const Op* op) override;
  void after(const Wave& wave, const Op* op) override;
  u8 watched_ops() const override { return kMakesFloats; }

 private:
  /// A conversion to FP8 or BF8.
  struct Narrowing {
    const char* name;     ///< "FP8"
    double limit;         ///< what is larger leaves the range
    bool includes_limit;  ///< ... or is as large
    bool has_scale;       ///< the last source is one
  };

  struct Source : FloatOperand {
    bool is_moved = false;     ///< each lane has another lane's (DPP)
    std::optional<u32> saved;  ///< where it lies in saved_, if it is moved, or overwritten in whole or in part
  };

  /// What is made of what: of instructions of two halves (VOPD) there are two.
  struct Made {
    FloatOperand result;
    std::vector<Source> sources;
  };

  struct Decoded {
    bool is_looked_at = false;
    bool is_matrix = false;
    bool loses_denormals = false;  ///< of f32, whatever MODE says
    bool begins_division = false;  ///< V_DIV_SCALE: of value, denominator and numerator
    bool is_estimate = false;      ///< of f64, of which other instructions make a root or a quotient
    isa::Instruction instruction;
    std::vector<Made> made;
    std::vector<u32> saved_rows;  ///< of sources
    std::optional<Narrowing> narrowing;
  };

  static void decode(const Wave& wave, const Op* op, Decoded& decoded);
  static FloatOperand operand_of(const Wave& wave, const Decoded& decoded, const isa::Operand& operand,
                                 isa::OperandType type);
  static bool decode_operands(const Wave& wave, Decoded& decoded);
  static void choose_saved(Decoded& decoded);
  static Narrowing narrowing_of(const Wave& wave, const Decoded& decoded);
  void save(const Wave& wave, const Op* op);
  void find_in(const Wave& wave, const Made& made);
  static bool scales_denominator(const std::vector<Source>& sources);
  /// The source's value in a lane, before the instruction. Of packed halves the low one.
  double value(const Wave& wave, const Source& source, int lane) const;
  u64 scalar_bits(const Wave& wave, const FloatOperand& source) const;
  const LaneRow* rows(const Wave& wave, const Source& source) const;
  u64 not_finite(const Wave& wave, const Source& source) const;
  std::string operands_text(const Wave& wave, const Made& made, int lane) const;
  u64 zeros(const Wave& wave, const Source& source, u64 lanes) const;
  void report(const Wave& wave, const Made& made, int lane);
  void narrow(const Wave& wave);
  void keep_denormals(const Wave& wave, const Op* op);
  void find_denormals(const Wave& wave);
  void report_denormal(const Wave& wave, const Made& made, int lane, double kept);

  Findings& findings_;
  const bool finds_denormals_;
  PerInstruction<Decoded> instructions_;
  const Decoded* now_ = nullptr;
  u64 pc_ = 0;
  u64 lanes_ = 0;                         ///< those that get a result
  std::vector<LaneRow> saved_;            ///< the registers of Decoded::saved_rows as they were
  std::array<u32, 128> saved_scalars_{};  ///< ... and scalar registers, where a division begins
  std::vector<LaneRow> kept_;             ///< the results as they would be with denormals; empty where nobody asks
};

}  // namespace wave::emulator
