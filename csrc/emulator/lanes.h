// Finds code for waves of 64 lanes in waves of 32: it asks for lanes that the wave does not have.
#pragma once

#include "emulator/findings.h"
#include "emulator/observer.h"

namespace wave::emulator {

class LaneChecker : public Observer {
 public:
  explicit LaneChecker(Findings& findings) : findings_(findings) {}
  void before(const Wave& wave, const Op* op) override;
  bool wants_after() const override { return false; }
  u8 watched_ops() const override { return kNamesLanes; }

 private:
  void exchange(const Wave& wave, const Op* op);
  void report(const Wave& wave, const Op* op, int lane, u32 named);

  Findings& findings_;
};

}  // namespace wave::emulator
