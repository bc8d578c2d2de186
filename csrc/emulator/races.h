// Finds races in LDS: accesses of a byte by two waves of a workgroup, not both of them reads, whose order neither a
// barrier nor an atomic decides, nor the waits before it (LLVM's "Memory Model gfx942", workgroup scope).
#pragma once

#include <vector>

#include "emulator/findings.h"
#include "emulator/lds_history.h"
#include "emulator/lds_log.h"
#include "emulator/observer.h"
#include "emulator/per_instruction.h"
#include "emulator/wait_counters.h"

namespace wave::emulator {

/// Barriers order waves here, and atomics of LDS: not flags that they poll, nor memory. What waves access is logged, by
/// the dword. Where two waves meet in one the log is gone through to the byte, and so is all that follows it until the
/// next barrier.
class RaceChecker : public Observer {
 public:
  explicit RaceChecker(Findings& findings) : history_(findings, waves_) {}
  void start(const Wave& wave) override;
  void before(const Wave& wave, const Op* op) override;
  u8 watched_ops() const override { return kMovesMemory; }
  bool wants_after() const override { return false; }
  bool watches_lds() const override { return true; }
  void load_lds(AddressSpan span, int lane) override;
  void store_lds(AddressSpan span, const void* data, int lane) override;
  void load_lds_lanes(const LaneAccesses& all) override;
  void store_lds_lanes(const LaneAccesses& all) override;
  void pass_barrier(const Wave& wave) override;

 private:
  struct Decoded {
    const isa::Row* row = nullptr;  ///< none: a fault follows
    Counters counters = 0;
    bool returns = false;  ///< an atomic, what was there
  };

  /// What a wave has loaded straight into LDS.
  struct OwnLoads {
    u64 begin = ~u64{0}, end = 0;  ///< of all of them
    u64 number = 0;                ///< of the last one
  };

  const Decoded& look_up(const Wave& wave, const Op* op);
  void begin_access();
  LdsRelease release() const;
  bool meets_own_load(const LaneAccesses& all);
  void note(const LaneAccesses& all, bool is_store);
  void look_closely();

  PerInstruction<Decoded> instructions_;
  // Of the workgroup.
  u64 bytes_ = 0;
  std::vector<LdsWave> waves_;
  std::vector<OwnLoads> own_loads_;  ///< by wave
  LdsLog log_;
  LdsHistory history_;
  bool is_close_ = false;  ///< the history has all that the log has
  bool is_logged_ = true;  ///< ... or else more, of which there is no log
  // What is under way.
  const Wave* wave_ = nullptr;
  const Decoded* instruction_ = nullptr;
  const Op* begun_ = nullptr;  ///< the instruction that current_ is of
  LdsAccess current_;
  std::vector<u8> data_;  ///< of a single lane, where its place among the others' is
};

}  // namespace wave::emulator
