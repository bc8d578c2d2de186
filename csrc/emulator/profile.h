// Counts the instructions of a launch, the bytes that they move and the cycles that LDS takes.
#pragma once

#include <unordered_map>

#include "base/launch_profile.h"
#include "emulator/isa/isa.h"
#include "emulator/observer.h"

namespace wave::emulator {

/// How a memory instruction accesses what for each lane.
struct MemoryAccess {
  enum class Direction { None, Load, Store, Atomic };
  Direction direction = Direction::None;
  u32 bytes = 0;      ///< at each address
  u32 addresses = 1;  ///< 2 of ds_read2_b32 and its like
  u32 unit = 1;       ///< of their offsets, in bytes
};

/// By the instruction's name. None where it moves nothing, or between lanes only.
MemoryAccess memory_access(std::string_view base_name);

class Profiler : public Observer {
 public:
  void before(const Wave& wave, const Op* op) override;

  LaunchProfile result() const;

 private:
  struct Instruction {
    const isa::Row* row = nullptr;
    MemoryAccess access;
    u64 count = 0;
    u64 lanes = 0;
  };

  Instruction& look_up(const Wave& wave, const Op* op);
  void count_lds_cycles(const Wave& wave, const Op* op, const MemoryAccess& access);

  std::unordered_map<const Op*, Instruction> instructions_;
  u64 lds_cycles_ = 0;
  u64 lds_least_cycles_ = 0;
};

}  // namespace wave::emulator
