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
  /// Behind it, when the wave may be in another function, which the Op is not of. Not called where it threw.
  virtual void after(const Wave&, const Op*) {}

  /// Whether it wants to see accesses of LDS: by the instruction that before() has announced.
  virtual bool watches_lds() const { return false; }
  virtual void load_lds(u64 /*address*/, u32 /*size*/) {}
  /// Before it is done. `data` is nullptr for atomics.
  virtual void store_lds(u64 /*address*/, u32 /*size*/, const void* /*data*/) {}
  /// All waves of the workgroup are at a barrier, or have ended: for each of them, before it goes on.
  virtual void pass_barrier(const Wave&) {}
};

}  // namespace wave::emulator
