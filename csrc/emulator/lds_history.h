// What waves of a workgroup did to LDS since they met at a barrier, to the byte, and which of it is a race.
#pragma once

#include <array>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "emulator/findings.h"
#include "emulator/isa/isa.h"
#include "emulator/wait_counters.h"

namespace wave::emulator {

inline constexpr u32 kLdsQueues = 16;  ///< one for each set of counters

/// An access of LDS, as far as races need it.
struct LdsAccess {
  static constexpr u8 kAtomic = kLdsQueues, kPoll = 2 * kLdsQueues;

  u32 pc = 0;  ///< from where the code object lies; 0: there is none
  u32 number = 0;
  u8 kind = 0;  ///< the queue of the number, by its counters, with kAtomic, or kPoll of a load that waits for others
  u8 wave = 0;
  i8 lane = -1;
  u8 changed = 0;  ///< of a write the bytes that get another value, a bit for each

  bool is_atomic() const { return (kind & kAtomic) != 0; }
  bool is_poll() const { return (kind & kPoll) != 0; }
  bool operator==(const LdsAccess&) const = default;
  u32 queue() const { return kind & (kAtomic - 1u); }
  /// Whether it is a load of memory, straight into LDS.
  bool is_of_load() const { return queue() == 1; }
};

/// What the waves of a workgroup have waited for.
struct LdsWave {
  WaitCounters now;
  std::array<u32, kLdsQueues> done{}, issued{};  ///< of each queue, at the last barrier

  bool is_done(const LdsAccess& access) const { return access.number <= done[access.queue()]; }
};

/// Of each queue how many of a wave's accesses come before some moment.
using LdsReach = std::array<u32, kLdsQueues>;

/// What an access makes known of its wave, and finds out: an atomic, of LDS or of memory, a load that polls, or a plain
/// store that may be polled.
struct LdsRelease {
  LdsReach done{};        ///< what its wave has waited for
  bool finds = false;     ///< what was there, and so what those before it have made known
  bool tells = false;     ///< ... what its wave has waited for
  bool is_plain = false;  ///< a store, which leaves nothing of what others have made known
};

/// Behind an access that finds out what was there a wave's accesses come after those that other waves had waited for
/// before theirs of the same dword, and behind all that was done to that dword itself. Atomics do not race with each
/// other, nor do loads that poll with stores, nor writes of the value that a byte has already. Of each wave the last
/// access of a kind is known of each byte: who races with an earlier one races with that, too.
///
/// A plain load that a wave's atomic on the same bytes follows, which returns what was there, does not race with
/// atomics: compilers begin loops of compare-and-swap so. Until such an atomic may follow, a race of a load is a
/// suspicion.
class LdsHistory {
 public:
  /// `waves` is what the accesses' waves have waited for, now.
  LdsHistory(Findings& findings, const std::vector<LdsWave>& waves) : findings_(findings), waves_(waves) {}

  /// Knows nothing, of so much LDS.
  void forget(u64 bytes);

  /// The instruction whose accesses follow.
  void begin(const Wave& wave, const isa::Row& row, const LdsAccess& access, const LdsRelease* release) {
    wave_ = &wave, row_ = &row, current_ = access, release_ = release;
  }
  void load(AddressSpan span, int lane);
  /// An atomic on the launch's memory, at an address of it.
  void meet_in_memory(u64 address) { meet(address); }
  /// `changed` has a bit for each byte that gets another value.
  void store(AddressSpan span, u32 changed, int lane);
  /// No atomic follows the loads so far: what is suspected is found.
  void settle();

 private:
  struct Accesses {
    LdsAccess last;
    LdsAccess other;  ///< the last of another wave than that
    u32 further = 0;  ///< in further_: those that nothing after them stands for; 0: there are none
  };

  /// Of a byte, or of a dword whose bytes were always accessed together.
  struct Cell {
    Accesses reads, writes;
    Accesses changes;  ///< the writes of another value than it had
    u32 writers = 0;   ///< the waves that have written the value that it has: a bit for each
  };
  struct Dword {
    u32 since = 0;  ///< what the rest is of, in the order of what was to be forgotten
    u32 bytes = 0;  ///< where it is split, its other bytes in bytes_; 0: it is not
    Cell cell;      ///< of the dword, or of its first byte
  };

  /// A race of a plain load with an atomic.
  struct Suspicion {
    u64 address;
    const Wave* wave;  ///< that makes the later access
    u8 reader;         ///< the wave whose load it is
    Sighting sighting;
    std::string message;
  };

  Dword& dword_at(u64 number);
  bool is_done(const LdsAccess& access) const { return waves_[access.wave].is_done(access); }
  /// Of the wave that makes the access which is under way.
  bool is_before(const LdsAccess& past) const {
    const bool is_known = !known_.empty() && !known_[current_.wave].empty();
    return is_done(past) || (is_known && past.number <= known_[current_.wave][past.wave][past.queue()]);
  }
  void meet(u64 place);
  void find_writes(const Cell& cell, u64 address);
  void follow_loads(AddressSpan span);
  void add(Accesses& all, const LdsAccess& access);
  void add_change(Accesses& all, LdsAccess access);
  void keep(Accesses& all, const LdsAccess& lost);
  void separate(Accesses& all);
  Cell byte_of(const Cell& dword, u32 byte);
  void split(Dword& dword);
  /// Calls `look` with each cell of the bytes, its first address, and how many it has.
  template <class Look>
  void for_each_cell(AddressSpan span, const Look& look);
  Sighting sighting(const LdsAccess& access, const LdsAccess& past, const char* kind) const;
  bool has_found(const LdsAccess& past, u64 address) const;
  void check(const Accesses& earlier, const LdsAccess& access, u64 address, bool is_store, bool was_store);
  void check_own(const Cell& cell, const LdsAccess& access, u64 address);

  Findings& findings_;
  const std::vector<LdsWave>& waves_;
  u32 since_ = 0;
  std::vector<Dword> dwords_;
  std::vector<std::array<Cell, 3>> bytes_;       ///< by Dword::bytes, from 1 on
  std::vector<std::vector<LdsAccess>> further_;  ///< by Accesses::further, from 1 on
  using Reaches = std::vector<LdsReach>;         ///< by wave; empty: nothing
  std::vector<Reaches> known_;                   ///< by wave what comes before what it does now; empty: nothing
  std::unordered_map<u64, Reaches> made_known_;  ///< by dword of LDS, or address in memory, by its last atomics
  /// By wave, and by dword, the writes that it has found there.
  std::map<std::pair<u32, u64>, std::vector<LdsAccess>> found_;
  std::vector<Suspicion> suspicions_;
  // What is under way.
  const Wave* wave_ = nullptr;
  const isa::Row* row_ = nullptr;
  LdsAccess current_;
  const LdsRelease* release_ = nullptr;  ///< nullptr: it tells nothing, and finds nothing out
};

}  // namespace wave::emulator
