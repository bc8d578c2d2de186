// Finds races in the memory of a launch: accesses of a byte by two waves, not both of them reads and not both atomic,
// of which neither happens before the other (LLVM AMDGPU usage guide, "Memory Model").
#pragma once

#include <array>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "emulator/findings.h"
#include "emulator/global_shadow.h"
#include "emulator/isa/memory_order.h"
#include "emulator/observer.h"
#include "emulator/per_instruction.h"
#include "emulator/wait_counters.h"

namespace wave::emulator {

/// Looks at one workgroup at a time; what workgroups share is in the shadow. Waves are ordered by barriers, as far as
/// they have waited for their accesses, and by atomics: behind a release, which is a wait and, where the processor has
/// one for it, a write-back, and before an acquire, which is an invalidation. Writes of the value that is there are
/// none.
class GlobalRaceChecker : public Observer {
 public:
  GlobalRaceChecker(Findings& findings, GlobalShadow& shadow) : findings_(findings), shadow_(shadow), hold_(shadow) {}
  void start(const Wave& wave) override;
  void before(const Wave& wave, const Op* op) override;
  void after(const Wave&, const Op*) override { hold_.let_go(); }
  void stop(const Wave& wave) override;
  void give_up(const Wave& wave) override;
  u8 watched_ops() const override { return kMovesMemory; }
  bool watches_lds() const override { return true; }
  void load_lds(AddressSpan span, int lane) override;
  void store_lds(AddressSpan span, const void* data, int lane) override;
  void compare_lds(AddressSpan span, const void* expected, int lane) override;
  void load_lds_lanes(const LaneAccesses& all) override;
  void store_lds_lanes(const LaneAccesses& all) override;
  bool watches_memory() const override { return true; }
  void load_memory(AddressSpan span, int lane) override;
  void store_memory(AddressSpan span, const void* data, int lane) override;
  void compare_memory(AddressSpan span, const void* expected, int lane) override;
  void load_memory_lanes(const LaneAccesses& all) override;
  void store_memory_lanes(const LaneAccesses& all) override;
  void modify_memory_lanes(const LaneAccesses& all) override;
  void signal_barrier(const Wave& wave) override;
  void pass_barrier(const Wave& wave) override;
  void reach_grid_barrier(const Wave& wave, u64 counter) override;
  void pass_grid_barrier(const Wave& wave, u64 counter) override;

  static bool may_acquire(const Wave& wave);

 private:
  struct Decoded {
    const isa::Row* row = nullptr;  ///< none: a fault follows
    Counters counters = 0;
    isa::CacheControl control;
    isa::Scope scope = isa::Scope::None;
    bool modifies = false;  ///< an atomic
    bool is_maybe_atomic = false;
    bool returns = false;
    bool may_be_stale = false;  ///< a load of what the compute unit may have cached for itself
    bool finds_in_lds = false;  ///< what other waves have told there: an atomic, or a load that polls
  };

  /// An access that may not have ended.
  struct Pending {
    Counters counters;
    u64 number;    ///< in the queue of its counters
    Reach access;  ///< 0: none of this kind
  };

  /// What is a race unless the wave's next access of the address is an atomic: loops of compare-and-swap begin with a
  /// plain load.
  struct Suspicion {
    u64 address;
    Sighting sighting;
    std::string message;
    u32 loads;  ///< it is a race only if the wave has stored something behind so many of them
  };

  /// A race of a wave's plain load with a wave of its workgroup. It matters only if the wave stores something behind
  /// the load: waves that compute what others do, and throw it away, do not.
  struct UnusedLoad {
    Witness witness;
    Sighting sighting;
    std::string message;
    u64 count;
  };

  /// The dwords that a wave's atomics have read, with what each has found done there. All see what is done to one dword
  /// in one order, whatever else is ordered: that comes before the wave's later accesses of the dword. The last kMost
  /// dwords are known, and up to as many before them.
  class AtomicReads {
   public:
    void note(u64 dword, const PastAccesses& found);
    /// nullptr where it is not known.
    const PastAccesses* find(u64 dword) const;
    bool may_have(AddressSpan span) const { return recent_.may_have(span) || older_.may_have(span); }

   private:
    static constexpr size_t kMost = 4096;
    struct Dwords {
      std::unordered_map<u64, PastAccesses> found;
      u64 begin = ~u64{0}, end = 0;  ///< of all of them
      bool may_have(AddressSpan span) const { return !found.empty() && AddressSpan::up_to(begin, end).overlaps(span); }
    };
    Dwords recent_, older_;
  };

  struct State {
    WaitCounters counters;
    Reach issued, done;
    bool shares_cache = false;  ///< with the workgroup's waves, so that for them what was issued is done
    const Reach& done_for_mates() const { return shares_cache ? issued : done; }
    std::optional<u32> wanted_back;  ///< stores before the last write-back
    Reach written_back;              ///< ... that has ended; loads need not be written
    std::vector<Pending> pending;
    std::optional<Reach> signalled_done, signalled_back;  ///< where it came to a split barrier that is not over
    std::vector<Reach> mates;                             ///< of the workgroup's waves what comes before now
    bool has_mates = false;                               ///< there is something of that
    std::vector<Reach> mates_back;         ///< ... whose stores have been written back, by whichever wave
    std::vector<Reach> mates_wanted_back;  ///< ... by this wave's last write-back, which may not have ended
    std::vector<Reach> fresh_mates;        ///< ... and can be read, since the cache was invalidated after it
    MemoryClock others;                    ///< ... of waves of other workgroups
    MemoryClock to_be_acquired;            ///< what atomics have read, and no acquire has made known
    MemoryClock behind_own_cache;  ///< ... and what only the invalidation of the compute unit's own cache has not
    bool is_shared_fresh = false;  ///< the wave has loaded nothing since the outer caches were invalidated
    bool is_fresh = false;         ///< ... nor since the own one was, behind those
    bool has_passed_grid_barrier = false;  ///< since the workgroup's last barrier
    AtomicReads atomic_reads;
    /// Dwords that the wave's stores have left as others' had made them, as if it had read them; of the last 4,096. So
    /// each workgroup may make the same table for itself.
    AtomicReads stored_alike;
    u32 last_alike = 0;  ///< the last of these, among its stores
    std::vector<Suspicion> suspicions;
    u32 used_loads = 0;  ///< before the last store or atomic of the wave
    std::vector<UnusedLoad> unused_loads;
    bool has_ended = false;
  };

  const Decoded& look_up(const Wave& wave, const Op* op);
  u32 number_of(const Wave& wave) const;
  void look_at(const Wave& wave);
  void look_at_grid_barrier(const Wave& wave);
  State& state() { return states_[wave_->index]; }
  static void settle(State& state, bool writes_back);
  static void acquire_all(State& state);
  static void note_grid_barrier(State& state);
  bool is_of_grid_barrier(AddressSpan span) const;
  void note_load(AddressSpan span);
  void begin_access(bool is_load, bool is_store);
  PastAccess access_of(bool is_store) const;
  void access(AddressSpan span, int lane, bool is_store);
  void access_lanes(const LaneAccesses& all, u64 lanes, bool is_store);
  void access_same(const LaneAccesses& all, u64 same, PastAccess now);
  bool access_block(const LaneAccesses& all, int lane, PastAccess now);
  bool is_constant(AddressSpan span) const;
  void hold_pages(const LaneAccesses& all);
  void access_dword(u64 address, PastAccess now);
  struct Place {
    PastAccess* past;  ///< what gives way to an access
    bool has_race;     ///< the access is a race with one of those that are known
  };
  Place find_place(PastAccesses& all, const PastAccess& now) const;
  bool note(PastAccesses& all, const PastAccess& now) const;
  bool note_atomic(PastAccesses& all, const PastAccess& now) const;
  PastAccess* find_obsolete(PastAccesses& all, const PastAccess& now) const;
  void invalidate();
  const std::vector<Reach>& mates_before(const PastAccess& past) const;
  bool is_ordered(const PastAccess& past) const;
  bool is_of_mate(const PastAccess& past) const;
  bool has_read_by_atomic(u64 dword) const { return states_[wave_->index].atomic_reads.find(dword) != nullptr; }
  bool meets_atomic_read(const LaneAccesses& all) const;
  static bool has_found(const AtomicReads& reads, u64 address, const PastAccess& past);
  void note_alike(AddressSpan span);
  bool has_stored_alike(u64 address, const PastAccess& past) const;
  bool conflicts(const PastAccess& past, const PastAccess& now) const;
  bool is_covered(const PastAccess& past, const PastAccess& now) const;
  void report(u64 address, const PastAccess& now, const PastAccess& past);
  UnusedLoad* note_load(State& reader, const Sighting& sighting);
  void use_loads(State& own);
  bool has_to_release();
  void release(AddressSpan span);
  void tell_group(Released& known) const;
  void acquire(AddressSpan span);
  void acquire_of_group(const Released& known);

  Findings& findings_;
  GlobalShadow& shadow_;
  GlobalShadow::Hold hold_;  ///< during an instruction
  std::vector<u64> pages_;   ///< of the lanes of one, by their numbers
  PerInstruction<Decoded> instructions_;
  std::vector<State> states_;  ///< by wave
  // What is under way.
  const Wave* wave_ = nullptr;
  Decoded instruction_;
  bool writes_back_ = false;   ///< the processor has an instruction for that, which a release takes
  bool may_acquire_ = true;    ///< the code has instructions that find out what atomics have made known
  bool meets_in_lds_ = false;  ///< ... or has some that find out what stands in LDS
  std::unordered_map<u64, Released> told_in_lds_;  ///< of the workgroup, by the first byte of each dword's
  u32 first_ = 0;                                  ///< the number of the workgroup's first wave
  bool has_begun_ = false;                         ///< the instruction's access has its numbers
  PastAccess current_;                             ///< what its accesses have in common, from then on
};

}  // namespace wave::emulator
