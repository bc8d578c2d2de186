// Finds launches that are stuck: waves that go round in loops, most often polling memory, which nobody changes any
// more.
#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <span>
#include <vector>

#include "base/error.h"
#include "emulator/findings.h"
#include "emulator/observer.h"
#include "emulator/per_instruction.h"

namespace wave::emulator {

/// What a wave waits for.
struct Waiting {
  enum class What : u8 { Memory, Lds, Grid, Nothing };
  What what = What::Nothing;  ///< Nothing: it goes round in a loop that accesses no memory that is shared
  u64 pc = 0;                 ///< of the instruction that accesses it last, or is in the loop
  u32 wave = 0;
  int lane = -1;
  AddressSpan bytes{};
};

class SpinProbe;

/// Of one launch. Thread-safe.
///
/// A wave whose registers and scratch are as they were at the same instruction before, while no memory has changed,
/// does the same again, for ever. Where all waves that have not ended do so, or wait at barriers for those, and no
/// workgroup is left that may begin, the launch is stuck.
class SpinWatch {
 public:
  /// Memory, or what else waves can see of each other, has changed.
  void change() { changes_.fetch_add(1, std::memory_order_acq_rel); }
  u64 changes() const { return changes_.load(std::memory_order_acquire); }

  /// A workgroup is stuck as long as nothing changes.
  void note(const Workgroup& group, const SpinProbe& probe);
  /// ... or it is not, or has ended.
  void forget(const Workgroup& group);
  /// Whether the workgroup's next turn is to be a look at it: where the last one has found it stuck, and else ever less
  /// often.
  bool is_due(const Workgroup& group) const;
  /// How many workgroups are stuck now.
  u64 stuck() const;
  /// Adds findings, of each wave that waits for something, and says that nothing goes on. `waiting`: workgroups that
  /// have not begun.
  KernelFault report(const LaunchState& launch, Findings& findings, u64 waiting) const;

 private:
  struct Stuck {
    u64 changes;
    std::array<u32, 3> id;
    std::vector<Waiting> waits;
  };

  std::atomic<u64> changes_{0};
  mutable std::mutex mutex_;     ///< guards what follows
  std::map<u64, Stuck> groups_;  ///< by number
};

/// Looks at the waves of a workgroup for a while. Loops are found as R. Brent finds cycles: the state at one
/// instruction is kept, and compared whenever the wave is there again; after twice as many instructions it is another
/// one.
class SpinProbe : public Observer {
 public:
  SpinProbe(SpinWatch& watch, std::span<const Wave> waves);

  void before(const Wave& wave, const Op* op) override;
  void after(const Wave& wave, const Op* op) override;
  bool watches_lds() const override { return true; }
  void load_lds(AddressSpan span, int lane) override { poll(Waiting::What::Lds, span, lane); }
  void store_lds(AddressSpan span, const void* data, int lane) override;
  bool watches_memory() const override { return true; }
  void load_memory(AddressSpan span, int lane) override { poll(Waiting::What::Memory, span, lane); }
  void store_memory(AddressSpan span, const void* data, int lane) override;

  void change() { has_changed_ = true, watch_.change(); }
  /// Whether all waves are known to go round, or wait for those that do.
  bool is_stuck();
  u64 changes() const { return changes_; }
  std::vector<Waiting> waits() const;

 private:
  struct State {
    u64 pc = 0, scalars = 0, vectors = 0;  ///< the instruction, and hashes of the state, that were kept
    u64 count = 0, next = 1;
    bool is_periodic = false, has_moved = false;
    int rank = -1;  ///< of the wait: the likelier it is what the wave waits for, the higher
    Waiting wait;
  };
  /// What an atomic is about to change.
  struct Change {
    const u8* bytes;
    u64 size;
    u64 before;
  };

  void begin();
  void poll(Waiting::What what, AddressSpan span, int lane);
  void modify(const u8* bytes, const void* data, u64 size);
  int rank_of(const Wave& wave);

  SpinWatch& watch_;
  const std::span<const Wave> waves_;
  u64 changes_ = 0;  ///< before all that follows
  std::vector<State> states_;
  PerInstruction<int> ranks_;
  bool has_changed_ = false;
  // What is under way.
  const Wave* wave_ = nullptr;
  const Op* op_ = nullptr;
  u64 grid_barrier_ = 0;
  std::vector<Change> modified_;
};

}  // namespace wave::emulator
