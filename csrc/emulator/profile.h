// Counts the instructions of a launch, the bytes that they move and the cycles that LDS takes.
#pragma once

#include <unordered_map>

#include "base/launch_profile.h"
#include "emulator/isa/isa.h"
#include "emulator/observer.h"

namespace wave::emulator {

class Profiler : public Observer {
 public:
  void before(const Wave& wave, const Op* op) override;

  LaunchProfile result() const;

 private:
  struct Tally {
    const isa::Row* row = nullptr;  ///< none: a fault follows
    u64 count = 0;
    u64 lanes = 0;
  };

  Tally& look_up(const Wave& wave, const Op* op);
  void count_lds_cycles(const Wave& wave, const Op* op, const isa::MemoryAccess& access);

  std::unordered_map<const Op*, Tally> instructions_;
  u32 wave_lanes_ = 0;
  u64 lds_cycles_ = 0;
  u64 lds_least_cycles_ = 0;
};

}  // namespace wave::emulator
