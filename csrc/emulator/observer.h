// What looks at instructions as they are carried out: statistics, traces, checks.
#pragma once

#include "emulator/op.h"

namespace wave::emulator {

/// Sees the instructions of a launch. Called by the threads that run the workgroups, for one wave at a time on each.
class Observer {
 public:
  virtual ~Observer() = default;
  /// Before an instruction is carried out; also one that VSKIP skips, or that then throws. Throws Fault to stop the
  /// launch.
  virtual void before(const Wave& wave, const Op* op) = 0;
  /// Behind it. Not called where it threw.
  virtual void after(const Wave& wave, const Op* op) = 0;
};

}  // namespace wave::emulator
