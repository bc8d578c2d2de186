// The accesses of LDS that waves of a workgroup have made since they met at a barrier: as they were made, so that they
// can be gone through later, and as sets of waves for each dword, which tell quickly that there is no race.
#pragma once

#include <vector>

#include "emulator/lds_history.h"
#include "emulator/observer.h"

namespace wave::emulator {

class LdsLog {
 public:
  /// Knows nothing, of so much LDS.
  void forget(u64 bytes);

  /// Notes what an instruction accesses. False where it may be a race with another wave's.
  bool load(const Wave& wave, const isa::Row& row, const LdsAccess& access, const LaneAccesses& all);
  /// `lds` is what there is before the store. Of atomics `all` has no data.
  bool store(const Wave& wave, const isa::Row& row, const LdsAccess& access, const LaneAccesses& all, const u8* lds);
  /// Of the access that was noted last.
  void note_release(const LdsRelease& release);
  /// Of an atomic on the launch's memory.
  void note_release_in_memory(const Wave& wave, const isa::Row& row, const LdsAccess& access, u64 address,
                              const LdsRelease& release);

  size_t size() const { return entries_.size(); }
  bool is_full() const { return entries_.size() >= kMost || begins_.size() >= kMostLanes; }
  /// Goes through the accesses from one on, in their order.
  void tell(LdsHistory& history, size_t from) const;
  /// Keeps those that their waves may not have waited for.
  void keep_pending(const std::vector<LdsWave>& waves);

 private:
  static constexpr size_t kMost = size_t{1} << 16, kMostLanes = size_t{1} << 21;

  struct Entry {
    const Wave* wave;
    const isa::Row* row;
    LdsAccess access;
    bool is_store;
    bool has_changes;  ///< a store with data
    u32 size;
    u64 lanes;
    size_t begins;    ///< where those of its lanes are, in begins_
    size_t changes;   ///< what it changes, in changes_
    size_t release;   ///< one more than its place in releases_; 0: there is none
    u64 address = 0;  ///< in the launch's memory; 0: it accesses LDS
  };

  /// By their waves, a bit for each, who has accessed a dword. A store of what is there already counts as a load.
  struct Waves {
    std::vector<u32> loads, stores, atomics;
  };

  Entry& begin(const Wave& wave, const isa::Row& row, const LdsAccess& access, const LaneAccesses& all);
  void touch(u64 first, u64 end) {
    touched_first_ = std::min(touched_first_, first);
    touched_end_ = std::max(touched_end_, end);
  }
  void clear();
  void mark(const Entry& entry);
  u32 load_side_by_side(u64 first, size_t count, u32 self);
  u32 store_side_by_side(u64 first, size_t count, u32 self, const u8* lds, const u8* data, u32* changes);
  u32 modify(const Entry& entry, u32 self);
  u32 change(const Entry& entry, const LaneAccesses& all, const u8* lds, u32 self);
  u32 store_dword(u64 dword, u32 changed, u32 self);

  std::vector<Entry> entries_;
  std::vector<u32> begins_;
  std::vector<u32> changes_;  ///< of each dword, or of what is less, the bits that are others
  std::vector<LdsRelease> releases_;
  Waves waves_;
  u64 touched_first_ = ~u64{0}, touched_end_ = 0;  ///< dwords of which something is known
};

}  // namespace wave::emulator
