// Finds what hardware does not wait for by itself: a register that is used before its load was waited for (S_WAITCNT),
// or before a matrix instruction is done with it (ISA document, "Manually Inserted Wait States").
#pragma once

#include <vector>

#include "emulator/findings.h"
#include "emulator/isa/isa.h"
#include "emulator/matrix_timing.h"
#include "emulator/observer.h"
#include "emulator/per_instruction.h"
#include "emulator/wait_counters.h"

namespace wave::emulator {

/// Follows the waves of a launch. Registers are checked as the encoding names them: vector registers relative to M0 are
/// not. What compilers rely on is not reported: loads of one kind that overwrite each other's results end in order.
class HazardChecker : public Observer {
 public:
  explicit HazardChecker(Findings& findings) : findings_(findings) {}
  void start(const Wave& wave) override;
  void before(const Wave& wave, const Op* op) override;

 private:
  struct Load {
    Counters counters = 0;
    u64 number = 0;  ///< in their queue
    u64 pc = 0;
  };

  /// A matrix instruction that writes a register, or reads it as C.
  struct Matrix {
    MatrixTiming timing{};
    u32 first = 0, registers = 0;  ///< what it writes
    u64 time = 0, pc = 0;          ///< pc 0: there is none
  };

  struct VectorRegister {
    Load load;
    Matrix written_by, read_as_c_by;
    u64 alu_time = 0, alu_pc = 0;  ///< the vector ALU instruction that wrote it last
  };

  struct State {
    std::vector<VectorRegister> vectors;
    Load scalars[128];
    WaitCounters counters;
    u64 time = 0;  ///< in wait states
  };

  /// Of an operand.
  struct Register {
    isa::Location location;
    bool is_read, is_written;
    bool is_c;  ///< of a matrix instruction, which reads it late
  };

  /// An instruction as far as its registers matter.
  struct Decoded {
    isa::Instruction decoded;
    std::optional<MatrixTiming> matrix;
    Counters counters = 0;
    bool is_memory = false;  ///< of lanes
    std::vector<Register> registers;
  };

  /// One look at one register.
  struct Use {
    State& state;
    const Wave& wave;
    const Decoded& instruction;
    u64 pc;
    isa::Location location;
  };

  const Decoded& look_up(const Wave& wave, const Op* op);
  static void find_registers(Decoded& instruction);
  static bool is_pending(const State& state, const Load& load);
  void check_read(const Use& use, bool is_c);
  void check_write(const Use& use);
  void check_load(const Use& use, const Load& load, bool write);
  void check_time(const Use& use, const Matrix& matrix, u32 needed, const char* what);
  static void note_c(const Use& use);
  static void note_write(const Use& use);
  void report(const Use& use, u64 earlier_pc, const char* kind, const std::string& reason);

  Findings& findings_;
  PerInstruction<Decoded> instructions_;
  std::vector<State> states_;  ///< by wave, of the workgroup
};

}  // namespace wave::emulator
