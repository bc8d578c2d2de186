// Finds what hardware does not wait for by itself: a register that is used before its load was waited for (S_WAITCNT),
// or before a matrix instruction is done with it, and other pairs of instructions that must not follow each other too
// closely (ISA document, "Manually Inserted Wait States").
#pragma once

#include <array>
#include <string>
#include <vector>

#include "emulator/findings.h"
#include "emulator/isa/isa.h"
#include "emulator/matrix_timing.h"
#include "emulator/observer.h"
#include "emulator/per_instruction.h"
#include "emulator/scalar_hazards.h"
#include "emulator/touched.h"
#include "emulator/wait_counters.h"
#include "emulator/wait_states.h"

namespace wave::emulator {

/// Follows the waves of a launch. Registers are checked as the encoding names them: those relative to M0 are not.
/// What compilers rely on is not reported: loads of one kind that overwrite each other's results end in order.
class HazardChecker : public Observer {
 public:
  /// `dead_registers`: whether too early reads whose result nobody uses are findings, of a kind of their own.
  HazardChecker(Findings& findings, bool dead_registers) : findings_(findings), dead_registers_(dead_registers) {}
  void start(const Wave& wave) override;
  void before(const Wave& wave, const Op* op) override;
  bool wants_after() const override { return false; }
  void stop(const Wave& wave) override;
  void give_up(const Wave& wave) override;

 private:
  struct Load {
    Counters counters = 0;
    u32 number = 0;  ///< in their queue
    u64 pc = 0;
  };

  /// The registers of a load that may not be done.
  struct PendingLoad {
    Counters counters;
    u32 number;
    u32 first, count;
    bool is_vector;
  };

  /// A matrix instruction that writes a register, or reads it as C.
  struct Matrix {
    MatrixTiming timing{};
    u32 first = 0, registers = 0;  ///< what it writes
    u64 time = 0, pc = 0;          ///< pc 0: there is none
  };

  struct OfMatrices {
    Matrix written_by, read_as_c_by;
  };

  /// Of an operand.
  struct Register {
    isa::Location location;
    u32 first;  ///< of vector registers the row
    bool is_vector, is_read, is_written;
    bool is_c;  ///< of a matrix instruction, which reads it late
  };

  /// An instruction as far as its registers matter. What is asked of every one comes first, in a line of the host's
  /// cache.
  struct alignas(64) Decoded {
    u64 summary = 0;         ///< of the rows that it touches (RowSet)
    ScalarSet scalars;       ///< that it touches
    WaitRules first = 0;     ///< those rules whose first instruction it is, if one of the next may be the second
    WaitRules second = 0;    ///< the rules whose second instruction it may be
    u32 states = 1;          ///< that it takes
    bool is_simple = false;  ///< a vector or scalar ALU instruction, of which nothing need be kept
    bool is_vector = false;  ///< a vector or matrix instruction
    bool is_wait = false;
    bool is_memory = false;  ///< of lanes
    bool is_transcendental = false;
    bool has_only_vectors = false;  ///< as results
    bool ends_vectors = false;      ///< the results of vector instructions are there behind it (of RDNA)
    Counters counters = 0;
    isa::Instruction decoded;
    std::optional<MatrixTiming> matrix;
    std::vector<Register> registers;
    Touched touched;
    WaitRoles roles;
    ScalarHazards::Role scalar_role;
  };

  /// An instruction that a rule may be about.
  struct Past {
    const Decoded* instruction = nullptr;
    u64 pc = 0, time = 0;
    u32 vectors = 0, transcendentals = 0, ends = 0;  ///< how many there were
  };

  /// A register was read too early, which matters if somebody uses what was made of it.
  struct Suspicion {
    RowSet made;
    u64 lanes;
    Sighting sighting;
    std::string message;
  };

  static constexpr u32 kPast = 8;

  struct State {
    u64 watched_rows = 0;       ///< of which something is known that matters: as RowSet::summary()
    ScalarSet scalars_loading;  ///< registers whose load may not be done
    WaitRules first = 0;        ///< what those of `past` may be the first of
    u32 vectors_count = 0;
    u64 time = 0;  ///< in wait states
    u32 transcendentals = 0, ends = 0;
    u64 matrix_until = 0;     ///< the time from which no matrix instruction is under way
    RowSet loading;           ///< vector registers whose load may not be done
    RowSet of_matrices;       ///< what matrix instructions that may be under way write, or read as C
    std::vector<Load> loads;  ///< of the vector registers
    std::vector<OfMatrices> matrices;
    std::array<Load, 128> scalar_loads;
    std::vector<PendingLoad> pending;  ///< the last ones, in their order
    WaitCounters counters;
    std::array<Past, kPast> past;
    u32 past_count = 0;
    std::vector<Suspicion> suspicions;
    ScalarHazards scalar_hazards;

    /// Behind what may have changed it.
    void watch() {
      watched_rows = loading.summary() | (time < matrix_until ? of_matrices.summary() : 0);
      if (!suspicions.empty()) watched_rows = ~u64{0};
    }
  };

  /// One look at one register.
  struct Use {
    State& state;
    const Wave& wave;
    const Decoded& instruction;
    u64 pc;
    const Register& one;
  };

  const Decoded& look_up(const Wave& wave, const Op* op);
  [[gnu::noinline]] void look_first(const Wave& wave, const Op* op);
  inline void look(const Wave& wave, const Op* op, const Decoded& instruction);
  void decode(const Wave& wave, const Op* op, Decoded& instruction) const;
  bool may_matter(const Wave& wave, const Op* op, const Decoded& first) const;
  [[gnu::noinline]] void look_closely(State& state, const Wave& wave, const Decoded& instruction, const Op* op);
  static void find_registers(const Wave& wave, Decoded& instruction);
  static void wait(State& state, const isa::Row& row, u32 immediate);
  static void end_load(State& state, const PendingLoad& load);
  /// Whether an instruction touches some of these rows.
  static bool touches(const Decoded& instruction, const RowSet& rows) {
    return (rows.summary() & instruction.summary) != 0 &&
           (rows.meets(instruction.touched.reads) || rows.meets(instruction.touched.writes));
  }
  static void note_matrix(State& state, const Decoded& instruction);
  static bool is_pending(const State& state, const Load& load);
  void check_registers(State& state, const Wave& wave, const Decoded& instruction, const Op* op, bool meets_loads,
                       bool meets_matrices);
  void check_loads(const Use& use, bool write);
  void check_load(const Use& use, const Load& load, bool write);
  void check_time(const Use& use, const Matrix& matrix, u32 needed, const char* what);
  void check_read(const Use& use);
  void check_write(const Use& use);
  static void note_c(const Use& use);
  static void note_writes(State& state, const Wave& wave, const Decoded& instruction, const Op* op);
  static void note_write(const Use& use, bool meets_matrices);
  [[gnu::noinline]] void check_scalars(State& state, const Wave& wave, const Decoded& instruction, const Op* op);
  void check_past(State& state, const Wave& wave, const Decoded& instruction, u64 pc);
  static bool is_written_again(const State& state, u32 age, const WaitRule& rule, WaitRules bit,
                               const Decoded& instruction);
  static void forget_past(State& state);
  static void note_past(State& state, const Decoded& instruction, u64 pc);
  static u32 passed_since(const State& state, const Past& past, const WaitRule& rule);
  static u64 lanes_of(const Wave& wave, const Decoded& instruction);
  void follow_suspicions(State& state, const Wave& wave, const Decoded& instruction);
  static std::vector<Suspicion>::iterator find_suspicion(const Use& use, u64 earlier_pc);
  bool report_reading(const Use& use, u64 load);
  void suspect(const Use& use, const Sighting& sighting, std::string message);
  void report(const Wave& wave, Suspicion& suspicion, bool is_dead);
  void report_all(const Wave& wave, bool are_dead);
  static Sighting sighting(const Use& use, u64 earlier_pc, const char* kind);

  Findings& findings_;
  const bool dead_registers_;
  PerInstruction<Decoded> instructions_;
  WaitRules rules_ = 0;  ///< of the processor
  bool has_scalar_hazards_ = false;
  std::vector<State> states_;  ///< by wave, of the workgroup
};

}  // namespace wave::emulator
