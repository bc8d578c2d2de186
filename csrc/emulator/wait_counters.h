// What S_WAITCNT waits for: how many of a wave's memory instructions have been issued, and how many are surely done.
#pragma once

#include "emulator/isa/isa.h"
#include "emulator/wave.h"

namespace wave::emulator {

/// What is counted until it is done. Vector memory ends in order, and so does LDS; scalar loads and FLAT instructions
/// end in any order.
enum class Counter : u8 { None, Vector, Lds, Scalar, Flat };

Counter counter_of(const isa::Row& row);
/// What S_WAITCNT calls it: "lgkmcnt". FLAT needs "vmcnt(0) lgkmcnt".
const char* counter_name(Counter counter);

/// Of one wave.
class WaitCounters {
 public:
  void issue(Counter counter) { issued_[static_cast<int>(counter)] += counter != Counter::None; }
  /// S_WAITCNT with this immediate.
  void wait(u32 immediate);

  /// The number of the last one, from 1 on.
  u64 issued(Counter counter) const { return issued_[static_cast<int>(counter)]; }
  /// The number of the last one that is surely done, with all before it.
  u64 done(Counter counter) const { return done_[static_cast<int>(counter)]; }

 private:
  u64 issued_[5] = {}, done_[5] = {};
  u64 flat_done_for_vector_ = 0, flat_done_for_lds_ = 0;
};

}  // namespace wave::emulator
