// Finds races in LDS: accesses of a byte by two waves of a workgroup, not both of them reads, whose order neither a
// barrier nor the waits before it decide (LLVM's "Memory Model gfx942", workgroup scope).
#pragma once

#include <unordered_map>
#include <vector>

#include "emulator/findings.h"
#include "emulator/observer.h"
#include "emulator/wait_counters.h"

namespace wave::emulator {

/// Atomics do not race with each other, nor do writes of the value that a byte has already. Only barriers order waves
/// here: not flags in memory that they poll.
class RaceChecker : public Observer {
 public:
  void start(const Wave& wave) override;
  void before(const Wave& wave, const Op* op) override;
  bool watches_lds() const override { return true; }
  void load_lds(AddressSpan span) override;
  void store_lds(AddressSpan span, const void* data) override;
  void pass_barrier(const Wave& wave) override;

  const Findings& findings() const { return findings_; }

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

  struct Group {
    std::vector<Byte> bytes;
    std::vector<WaveState> waves;
  };

  const Decoded& look_up(const Wave& wave, const Op* op);
  Access current_access() const;
  void check(const Accesses& earlier, const Access& access, u64 address, const char* done, const char* done_before);
  void check_own(const Byte& byte, const Access& access, u64 address);

  std::unordered_map<const Op*, Decoded> instructions_;
  std::unordered_map<const Workgroup*, Group> groups_;
  // What is under way.
  const Wave* wave_ = nullptr;
  Group* group_ = nullptr;
  Decoded instruction_;
  Findings findings_{"race", "in LDS, which hardware may decide either way"};
};

}  // namespace wave::emulator
