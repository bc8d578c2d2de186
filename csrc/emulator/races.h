// Finds races in LDS: accesses of a byte by two waves of a workgroup, not both of them reads, whose order neither a
// barrier nor the waits before it decide (LLVM's "Memory Model gfx942", workgroup scope).
#pragma once

#include <vector>

#include "emulator/findings.h"
#include "emulator/observer.h"
#include "emulator/per_instruction.h"
#include "emulator/wait_counters.h"

namespace wave::emulator {

/// Atomics do not race with each other, nor do writes of the value that a byte has already. Only barriers order waves
/// here: not flags in memory that they poll.
class RaceChecker : public Observer {
 public:
  explicit RaceChecker(Findings& findings) : findings_(findings) {}
  void start(const Wave& wave) override;
  void before(const Wave& wave, const Op* op) override;
  bool watches_lds() const override { return true; }
  void load_lds(AddressSpan span, int lane) override;
  void store_lds(AddressSpan span, const void* data, int lane) override;
  void pass_barrier(const Wave& wave) override;

 private:
  struct Decoded {
    const isa::Row* row = nullptr;  ///< none: a fault follows
    Counters counters = 0;
  };

  struct Access {
    u64 pc = 0;  ///< 0: there is none
    u32 number = 0;
    Counters counters = 0;  ///< of the queue that has the number
    u8 wave = 0;
    i8 lane = -1;
    bool is_atomic = false;
  };

  struct Accesses {
    Access last;
    Access other;  ///< the last of another wave than that
    void add(const Access& access);
  };

  struct Byte {
    Accesses reads, writes;
    Accesses changes;  ///< the writes of another value than it had
    u32 writers = 0;   ///< the waves that have written the value that it has: a bit for each
  };

  struct WaveState {
    WaitCounters now, at_barrier;
  };

  const Decoded& look_up(const Wave& wave, const Op* op);
  Access current_access(int lane) const;
  Sighting sighting(const Access& access, const Access& past, const char* kind) const;
  void check(const Accesses& earlier, const Access& access, u64 address, const char* done, const char* done_before);
  void check_own(const Byte& byte, const Access& access, u64 address);

  Findings& findings_;
  PerInstruction<Decoded> instructions_;
  // Of the workgroup.
  std::vector<Byte> bytes_;
  std::vector<WaveState> waves_;
  // What is under way.
  const Wave* wave_ = nullptr;
  Decoded instruction_;
};

}  // namespace wave::emulator
