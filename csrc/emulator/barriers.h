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
  void before(const Wave&, const Op*) override {}
  void after(const Wave& wave, const Op* op) override;
  void pass_barrier(const Wave& wave) override;

 private:
  struct State {
    u64 pc = 0;  ///< of the barrier at which the wave waits, or of its last instruction
    bool has_ended = false;
  };

  void compare(const Wave& wave, const State& state, u32 other);

  Findings& findings_;
  std::vector<State> states_;  ///< by wave
};

}  // namespace wave::emulator
