// Finds races in LDS: accesses of a byte by two waves of a workgroup, not both of them reads, whose order neither a
// barrier nor the waits before it decide (LLVM's "Memory Model gfx942", workgroup scope).
#pragma once

#include <array>
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
  u8 watched_ops() const override { return kMovesMemory; }
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
  };

  static constexpr u32 kQueues = 16;
  static constexpr u8 kAtomic = kQueues;

  struct Access {
    u32 pc = 0;  ///< from where the code object lies; 0: there is none
    u32 number = 0;
    u8 kind = 0;  ///< the queue that has the number, by its counters, and kAtomic
    u8 wave = 0;
    i8 lane = -1;
    u8 changed = 0;  ///< of a write the bytes that get another value, a bit for each

    bool is_atomic() const { return (kind & kAtomic) != 0; }
    u32 queue() const { return kind & (kAtomic - 1u); }
  };

  struct Accesses {
    Access last;
    Access other;     ///< the last of another wave than that
    u32 further = 0;  ///< in further_: those that nothing after them stands for; 0: there are none
  };

  /// Of a byte, or of a dword whose bytes were always accessed together.
  struct Cell {
    Accesses reads, writes;
    Accesses changes;  ///< the writes of another value than it had
    u32 writers = 0;   ///< the waves that have written the value that it has: a bit for each
  };
  struct Dword {
    u32 workgroup = 0;  ///< that the rest is of, in the order in which they came
    u32 bytes = 0;      ///< where it is split, its other bytes in bytes_; 0: it is not
    Cell cell;          ///< of the dword, or of its first byte
  };

  struct WaveState {
    WaitCounters now;
    std::array<u32, kQueues> done{}, issued{};  ///< of each queue, at the last barrier
  };

  const Decoded& look_up(const Wave& wave, const Op* op);
  void begin_access();
  Dword& dword_at(u64 number);
  bool is_done(const Access& access) const;
  inline void add(Accesses& all, const Access& access);
  inline void add_change(Accesses& all, Access access);
  void keep(Accesses& all, const Access& lost);
  void separate(Accesses& all);
  Cell byte_of(const Cell& dword, u32 byte);
  void split(Dword& dword);
  /// Calls `look` with each cell of the bytes, its first address, and how many it has.
  template <class Look>
  void for_each_cell(AddressSpan span, const Look& look);
  Sighting sighting(const Access& access, const Access& past, const char* kind) const;
  void check(const Accesses& earlier, const Access& access, u64 address, const char* done, const char* done_before);
  void check_own(const Cell& cell, const Access& access, u64 address);
  inline bool is_ordered(const Accesses& earlier, const Access& access) const;
  inline bool note_load(u64 address, const Access& access);
  inline bool note_store(u64 address, u32 value, Access& access);

  Findings& findings_;
  PerInstruction<Decoded> instructions_;
  // Of the workgroup.
  u32 workgroup_ = 0;
  std::vector<Dword> dwords_;
  std::vector<std::array<Cell, 3>> bytes_;    ///< by Dword::bytes, from 1 on
  std::vector<std::vector<Access>> further_;  ///< by Accesses::further, from 1 on
  std::vector<WaveState> waves_;
  // What is under way.
  const Wave* wave_ = nullptr;
  const Decoded* instruction_ = nullptr;
  const Op* begun_ = nullptr;  ///< the instruction that current_ is of
  Access current_;
};

}  // namespace wave::emulator
