// What waits wait for: how many of a wave's memory instructions have been issued, and how many are surely done.
#pragma once

#include <array>
#include <bit>
#include <string>

#include "emulator/isa/isa.h"
#include "emulator/wave.h"

namespace wave::emulator {

/// The counters that count an instruction until it is done, as bits of isa::Trait; 0 where none does. Instructions that
/// the same counters count form a queue.
using Counters = u32;

Counters counters_of(const isa::Instruction& instruction);

/// Whether a queue ends in order: vector loads, stores and LDS do. Scalar loads end in any order, and so does FLAT,
/// which two counters count, before GFX10.
bool ends_in_order(isa::Generation generation, Counters counters);

/// The wait after which at most so many of a queue are outstanding, as an assembler has it: "s_waitcnt vmcnt(1)",
/// "s_wait_loadcnt 1".
std::string wait_text(isa::Generation generation, Counters counters, u64 outstanding);

/// Of one wave.
class WaitCounters {
 public:
  void issue(Counters counters) {
    if (counters == 0) return;
    const u32 number = counters / isa::kLoadCount;
    ++queues_[number].issued;
    pending_ |= 1u << number;
    recent_[issued_++ % kRecent] = static_cast<u8>(number);
  }
  /// Carries out an instruction, with its SIMM16, where it is a wait.
  void wait(const isa::Row& row, u32 immediate);
  /// All that has been issued is done.
  void finish();

  /// The number of the last one of a queue, from 1 on.
  u64 issued(Counters counters) const { return queue(counters).issued; }
  /// The number of the last one that is surely done, with all before it.
  u64 done(Counters counters) const { return queue(counters).all_done; }
  /// The same of what an access does to LDS. Of FLAT, which two counters count, that of LDS tells it alone: the other
  /// one is for what goes to memory (LLVM AMDGPU usage guide, "Memory Model": vmcnt "can be omitted" for a workgroup).
  u64 done_in_lds(Counters counters) const {
    constexpr u32 kLds = std::countr_zero(u32{isa::kLdsCount / isa::kLoadCount});
    return counters & isa::kLdsCount ? queue(counters).done[kLds] : queue(counters).all_done;
  }
  /// Whether anything that was issued may not be done.
  bool has_pending() const { return pending_ != 0; }

 private:
  static constexpr u32 kCounters = 4;
  struct Queue {
    u64 issued = 0;
    u64 done[kCounters] = {};  ///< for each counter that counts it
    u64 all_done = 0;          ///< ... for all of them
  };

  Queue& queue(Counters counters) { return queues_[counters / isa::kLoadCount]; }
  const Queue& queue(Counters counters) const { return queues_[counters / isa::kLoadCount]; }
  void leave(isa::Generation generation, Counters counter, u32 outstanding);
  u32 count_recent(u32 number, u32 queues, u32 outstanding) const;

  Queue queues_[1 << kCounters];  ///< by the counters
  u32 pending_ = 0;               ///< a bit for each with something that may not be done
  static constexpr u32 kRecent = 256;
  std::array<u8, kRecent> recent_{};  ///< which queues the last ones went to, in the order in which they came
  u32 issued_ = 0;
};

}  // namespace wave::emulator
