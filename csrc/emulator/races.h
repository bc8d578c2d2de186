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

/// Barriers order waves here, atomics of LDS and of memory, and flags in LDS that they poll. What waves access is
/// logged, by the dword. Where two waves meet in one the log is gone through to the byte, and so is all that follows it
/// until the next barrier.
class RaceChecker : public Observer {
 public:
  /// `watches_memory`: atomics on the launch's memory are told.
  RaceChecker(Findings& findings, bool watches_memory) : watches_memory_(watches_memory), history_(findings, waves_) {}
  void start(const Wave& wave) override;
  void before(const Wave& wave, const Op* op) override;
  void stop(const Wave& wave) override;
  u8 watched_ops() const override { return kMovesMemory; }
  bool wants_after() const override { return false; }
  bool watches_lds() const override { return true; }
  void load_lds(AddressSpan span, int lane) override;
  void store_lds(AddressSpan span, const void* data, int lane) override;
  void compare_lds(AddressSpan span, const void* expected, int lane) override;
  void load_lds_lanes(const LaneAccesses& all) override;
  void store_lds_lanes(const LaneAccesses& all) override;
  bool watches_memory() const override { return watches_memory_; }
  void load_memory(AddressSpan span, int lane) override;
  void store_memory(AddressSpan span, const void* data, int lane) override;
  void load_memory_lanes(const LaneAccesses& all) override;
  void store_memory_lanes(const LaneAccesses& all) override;
  void modify_memory_lanes(const LaneAccesses& all) override;
  void signal_barrier(const Wave& wave) override;
  void pass_barrier(const Wave& wave) override;

 private:
  struct Decoded {
    const isa::Row* row = nullptr;  ///< none: a fault follows
    Counters counters = 0;
    bool returns = false;  ///< an atomic, what was there
    bool is_atomic = false;
    bool is_poll = false;           ///< a load that waits for another wave
    bool orders_by_memory = false;  ///< an atomic of the launch's memory, or what says that it is one
  };

  /// What a wave had done where it came to a barrier.
  struct Reached {
    std::array<u32, kLdsQueues> done{}, issued{};
    bool is_split = false;  ///< ... to a split one, which is not over
  };

  /// What a wave has loaded straight into LDS.
  struct OwnLoads {
    u64 begin = ~u64{0}, end = 0;  ///< of all of them
    u64 number = 0;                ///< of the last one
  };

  const Decoded& look_up(const Wave& wave, const Op* op);
  void reach_barrier(const Wave& wave);
  void begin_access();
  LdsRelease release(bool is_store) const;
  void meet_in_memory(u64 address, bool is_store);
  bool meets_own_load(const LaneAccesses& all);
  void note(const LaneAccesses& all, bool is_store);
  void look_closely();
  void limit_log();

  const bool watches_memory_;
  PerInstruction<Decoded> instructions_;
  // Of the workgroup.
  bool may_poll_ = false;
  bool meets_in_memory_ = false;  ///< atomics on memory may order accesses of LDS
  u64 bytes_ = 0;
  std::vector<LdsWave> waves_;
  std::vector<Reached> reached_;     ///< by wave
  u32 ended_ = 0;                    ///< waves
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
