// Finds barriers that not all waves of a workgroup come to as they should.
#pragma once

#include <vector>

#include "emulator/findings.h"
#include "emulator/observer.h"

namespace wave::emulator {

/// Of one workgroup at a time.
class BarrierChecker : public Observer {
 public:
  explicit BarrierChecker(Findings& findings) : findings_(findings) {}
  void start(const Wave& wave) override;
  void before(const Wave& wave, const Op* op) override;
  bool wants_after() const override { return false; }
  u8 watched_ops() const override { return kSignals; }
  void stop(const Wave& wave) override;
  void pass_barrier(const Wave& wave) override;

 private:
  struct State {
    u64 pc = 0;  ///< of the barrier at which the wave waits, or of its last instruction
    bool has_ended = false;
    bool is_stopped = false;  ///< ... since the last barrier
    u64 signal_pc = 0;        ///< of the signal that the wave has not waited for; 0: there is none
  };

  void compare(const Wave& wave, const State& state, u32 other);
  void report(const Wave& wave, const char* kind, u64 pc, u64 earlier_pc, const char* message);

  Findings& findings_;
  std::vector<State> states_;  ///< by wave
};

}  // namespace wave::emulator
