// A workgroup under way: its waves, LDS and scratch.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <new>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "base/host_line.h"
#include "emulator/dispatch.h"
#include "emulator/op.h"
#include "emulator/pending_adds.h"
#include "emulator/wave.h"

namespace wave::emulator {

class SpinProbe;
class SpinWatch;

/// A trap that the kernel ran into by its own will: __builtin_trap, or behind an assert that failed.
struct Abort : Fault {};

enum class ScratchAccess : u8 { Load, Store, Atomic };
/// For messages: "a load of ".
const char* verb(ScratchAccess access);

/// Frees what begins a cache line.
struct FreeLines {
  void operator()(u8* bytes) const { operator delete[](bytes, std::align_val_t{kHostLine}); }
};

/// How many instructions a wave runs before others do.
struct TurnLength {
  u64 accesses = 0;  ///< ... that may access memory, unless one that waits comes before
  u64 longest = 0;   ///< ... with those that follow and access none
};

/// Storage and progress of one workgroup. Used again for the next one of the same launch. One thread at a time.
class Workgroup {
 public:
  explicit Workgroup(const LaunchState& launch);
  ~Workgroup();

  /// Sets up the workgroup with this number (x fastest).
  void start(u64 number);

  enum class Progress { Finished, Suspended };

  /// Asked every few thousand instructions of a workgroup whether the launch goes on. Throws where it does not: a Fault
  /// becomes a KernelFault that says where a wave was.
  using Look = std::function<void()>;

  /// Runs the waves until all have ended, none can go on without other workgroups, or each has run `quantum`
  /// instructions, more or less. Throws KernelFault, and what `look` throws.
  Progress run(u64 quantum, const Look& look);

  /// The same where the launch may be stuck, with a look at each access (spinning.h).
  Progress probe(SpinWatch& watch, const Look& look);

  /// In the place of read_memory(): false where it does not know what to read.
  using Recalled = std::function<bool(AddressSpan span, void* to, int lane)>;

  /// What `body` accesses nobody is told of. What it reads of the launch's memory is as `recalled` says.
  template <class Body>
  void unwatched(const Recalled& recalled, Body body) {
    const std::tuple watching(std::exchange(lds_observer_, nullptr), std::exchange(memory_observer_, nullptr),
                              std::exchange(recalled_, &recalled));
    const auto watch_again = [&] { std::tie(lds_observer_, memory_observer_, recalled_) = watching; };
    try {
      body();
    } catch (...) {
      watch_again();
      throw;
    }
    watch_again();
  }

  /// Who sees each instruction; nullptr: nobody.
  Observer* observer() const { return observer_; }

  const LaunchState& launch() const { return launch_; }
  const std::array<u32, 3>& id() const { return id_; }
  /// Its extents in work-items.
  const std::array<u32, 3>& block() const { return block_; }
  u64 number() const { return number_; }
  /// How many it has had.
  u64 turns() const { return turns_; }
  /// Whether its waves may wait for what another workgroup does.
  bool waits_for_memory() const;
  u8* lds() { return lds_.get(); }
  AddressSpan lds_bytes() const { return {0, launch_.lds_size}; }
  /// What of LDS may be accessed by lds(), too: all or, where somebody watches the functions below, nothing.
  AddressSpan direct_lds_bytes() const { return {0, direct_lds_size_}; }
  u64 instructions() const;

  /// Whether all of it can be accessed as it is: Memory::covers(). What the access would see is there then.
  bool covers_memory(AddressSpan span, bool write) {
    const bool covers = probe_ == nullptr && (is_in_known_region(span, write) || finds_region(span, write));
    if (!pending_adds_.is_empty() && (write || pending_adds_.are_near(span))) [[unlikely]]
      pending_adds_.make();
    return covers;
  }
  /// Who is to be told of accesses of memory, all lanes' at once, that are made as they are; nullptr where they are not
  /// to be made so, or nobody watches.
  Observer* teller_of_memory(AddressSpan span, bool write) const {
    const bool may_tell = memory_observer_ != nullptr && probe_ == nullptr && recalled_ == nullptr;
    return may_tell && launch_.memory().covers_watched(span, write) ? memory_observer_ : nullptr;
  }
  /// The same of LDS.
  Observer* teller_of_lds(AddressSpan span) const {
    return probe_ == nullptr && lds_bytes().contains(span) ? lds_observer_ : nullptr;
  }
  /// Where additions to memory may wait, and be summed up, or nullptr.
  PendingAdds* pending_adds() { return sums_additions_ && probe_ == nullptr ? &pending_adds_ : nullptr; }
  /// Makes what has waited: before others may count on it.
  void make_pending_adds() { pending_adds_.make(); }
  /// The same where no instruction is under way. Throws KernelFault where memory is there no more.
  void settle_adds();

  /// Counts a wave that has come to a split barrier. True for the first of those that have not all come yet.
  bool signal_barrier(const Wave& wave);
  /// How many waves count at that barrier, and how many have come: as S_GET_BARRIER_STATE gives it.
  u32 barrier_state() const;

  /// The functions of Memory, seen by who watches memory.
  void read_memory(AddressSpan span, void* to, int lane);
  void write_memory(AddressSpan span, const void* from, int lane);
  AtomicTarget atomic_memory(const AtomicAccess& access);

  /// Copies bytes from LDS. Those that lie a little past its end read as zero and are recorded; throws Fault beyond,
  /// but for where kernels load zeros on purpose.
  void read_lds(AddressSpan span, void* to, int lane) const;
  /// Copies bytes to LDS. Throws Fault where they do not fit.
  void write_lds(AddressSpan span, const void* from, int lane);
  /// Where an atomic may work. Throws Fault.
  AtomicTarget atomic_lds(const AtomicAccess& access);

  /// Host memory of a lane's scratch. Throws Fault where there is no such scratch.
  u8* scratch(Wave& wave, AddressSpan span, ScratchAccess access, int lane) {
    if (!AddressSpan(0, wave.scratch_ready).contains(span)) [[unlikely]]
      prepare_scratch(wave, span, access, lane);
    return wave.scratch + static_cast<u64>(lane) * wave.scratch_size + span.begin();
  }

 private:
  /// One in which there was an access.
  struct KnownRegion {
    AddressSpan bytes;
    bool writable = false;
  };
  bool is_in_known_region(AddressSpan span, bool write) const {
    for (const KnownRegion& known : known_regions_) {
      if (known.bytes.contains(span)) return !write || known.writable;
    }
    return false;
  }
  /// Memory::covers(). The region is known then.
  bool finds_region(AddressSpan span, bool write);

  /// The ids within the workgroup, where the processor has them.
  void set_work_items(Wave& wave) const;
  void start_wave(Wave& wave, u32 index);
  /// Has the waves that a workgroup of these extents takes.
  void set_block(const std::array<u32, 3>& block);
  u64 run_wave(Wave& wave, TurnLength turn, const Look& look);
  u64 run_turn(Wave& wave, TurnLength turn, const Look& look);
  void observe(Observer* observer, SpinProbe* probe);
  void look_at(const Wave& wave, const Look& look);
  bool serve(const Wave& wave, const Look& look);
  bool release_barrier();
  /// The waves that have not ended.
  u32 members() const;
  bool skip_access(Wave& wave, const Fault& fault);
  void check_lds(const char* verb, AddressSpan span, int lane, bool write) const;
  void prepare_scratch(Wave& wave, AddressSpan span, ScratchAccess access, int lane);

  const LaunchState& launch_;
  std::array<KnownRegion, 4> known_regions_{};  ///< most kernels have no more: they are looked for first
  u32 oldest_known_ = 0;
  u64 number_ = 0;
  u64 turns_ = 0;
  u64 until_look_ = 0;  ///< instructions, of all that run here, to the next look at what may stop the launch
  std::array<u32, 3> id_{};
  u32 barrier_signals_ = 0;
  bool is_barrier_over_ = false;  ///< all have come to a split barrier, and nobody has been let go on
  std::array<u32, 3> block_;
  u32 work_item_count_;
  std::vector<Wave> all_waves_;  ///< as many as the launch's largest workgroups have
  std::span<Wave> waves_;        ///< this one's
  const bool takes_turns_;
  const bool has_split_barriers_;
  const u64 max_instructions_;
  const std::unique_ptr<Observer> own_observer_;  ///< of the launch's checks, for this workgroup alone
  const std::unique_ptr<Observer> both_;          ///< it and the launch's, where there are both
  Observer* const usual_observer_;
  Observer* observer_ = nullptr;      ///< nullptr: nobody looks on
  u8 watched_ops_ = 0;                ///< of which it is told (OpFlags)
  bool runs_freely_ = false;          ///< nothing is to be done between instructions
  Observer* lds_observer_ = nullptr;  ///< nullptr where nobody watches LDS
  Observer* memory_observer_ = nullptr;
  const Recalled* recalled_ = nullptr;
  SpinProbe* probe_ = nullptr;  ///< what looks at a launch that may be stuck
  u32 direct_lds_size_ = 0;
  const bool sums_additions_;  ///< where nobody looks on, and no host or grid is waited for
  PendingAdds pending_adds_;
  std::unique_ptr<LaneRow[]> registers_;
  LaneRow* const work_items_;  ///< behind them: what each wave finds in v0
  /// Begins a cache line of the host, as a row of a tile does that begins at a multiple of its bytes.
  std::unique_ptr<u8[], FreeLines> lds_;
  std::unique_ptr<u8[]> scratch_;
};

/// The memory of the launch that a wave belongs to.
inline const Memory& memory_of(const Wave& wave) { return wave.group->launch().memory(); }

/// An instruction of the wave's code as its encoding says; without a row where there is none.
inline isa::Instruction decoded_instruction(const Wave& wave, const Op* op) {
  return wave.group->launch().module.decode(wave.address(op), wave.lanes);
}

/// The routine of what orders accesses of memory: it is coherent here, and in order but for additions that wait.
inline const Op* order_memory(Wave& wave, const Op* op) {
  wave.group->make_pending_adds();
  return next(op);
}

/// The address in LDS that M0 holds: 16 bits of it, 18 where LDS has more than 64 KiB (ISA documents of CDNA3 and
/// CDNA4, "Memory Buffer Load to LDS").
inline u32 lds_address_in_m0(const Wave& wave) {
  constexpr u32 kSmall = 65536, kLargeMask = 0x3ffff;
  const bool is_large = wave.group->launch().module.processor().limits.lds_bytes > kSmall;
  return wave.s[sreg::kM0] & (is_large ? kLargeMask : kSmall - 1);
}

/// Where loads into LDS put a lane's dwords: at M0 plus the instruction's offset plus the lane's place in the wave.
/// Three dwords have the place of four (ISA document of CDNA4, the same section).
inline AddressSpan lds_slot(const Wave& wave, i64 offset, int lane, u32 dwords = 1) {
  const u64 first = lds_address_in_m0(wave) + static_cast<u64>(offset), place = dwords == 3 ? 4 : dwords;
  return {first + sizeof(u32) * place * static_cast<u32>(lane), sizeof(u32) * dwords};
}
inline void write_lds_slot(Wave& wave, i64 offset, u32 dword, int lane) {
  wave.group->write_lds(lds_slot(wave, offset, lane), &dword, lane);
}

}  // namespace wave::emulator
