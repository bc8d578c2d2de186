// Scalar registers of RDNA4 that vector instructions have read, and that are read again before what has overwritten
// them since is surely there (LLVM: AMDGPUWaitSGPRHazards.cpp).
#pragma once

#include <array>
#include <string>

#include "emulator/isa/isa.h"
#include "emulator/touched.h"

namespace wave::emulator {

/// Of one wave.
class ScalarHazards {
 public:
  /// What can be waited for, as S_WAIT_ALU names it.
  enum Pending : u8 { kScalarResults = 1, kVectorResults = 2, kVcc = 4 };

  /// What an instruction does about it.
  struct Role {
    enum class What : u8 { Other, Vector, Scalar, Memory, Wait, LdsNop };
    What what = What::Other;
    u8 waits = 0;             ///< for which of Pending
    ScalarSet reads, writes;  ///< but M0, EXEC and VCC
    ScalarSet pairs;          ///< those that `reads` has, with the other half of each pair, and VCC
    bool reads_vcc = false, writes_vcc = false;
    bool is_branch = false;  ///< or a call, or a return
  };
  static Role role_of(const isa::Instruction& instruction, const Touched& touched);

  /// What an instruction reads too early, and who has written it.
  struct TooEarly {
    u8 pending = 0;  ///< some of Pending; 0: nothing
    u32 scalar = 0;  ///< a register
    u64 pc = 0;
  };
  TooEarly follow(const Role& role, u64 pc, u32 lanes);

  static std::string wait_text(u8 pending);

 private:
  u8 pending_of(const Role& role, TooEarly& found);
  void end(u8 pending);
  void note_writes(const Role& role, u64 pc);

  ScalarSet tracked_;                ///< pairs that a vector instruction has read
  ScalarSet by_scalar_, by_vector_;  ///< those of them that were written since
  bool has_branched_ = false;        ///< so that compilers may take more of them for tracked, by other paths
  u8 vcc_ = 0;                       ///< whose result VCC is, where it is one of them
  u32 nops_ = 0;                     ///< DS_NOP, one behind the other
  std::array<u64, 128> writers_{};
};

}  // namespace wave::emulator
