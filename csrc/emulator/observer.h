// What looks at instructions as they are carried out: statistics, traces, checks.
#pragma once

#include "emulator/op.h"

namespace wave::emulator {

/// Sees the instructions of a launch, which runs on one thread then.
class Observer {
 public:
  virtual ~Observer() = default;
  /// A wave begins.
  virtual void start(const Wave&) {}
  /// Before an instruction is carried out; also one that VSKIP skips, or that then throws.
  virtual void before(const Wave& wave, const Op* op) = 0;
  /// Behind it. Not called where it threw.
  virtual void after(const Wave&, const Op*) {}
};

}  // namespace wave::emulator
