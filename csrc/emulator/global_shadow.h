// Who accessed the launch's memory last, and what atomics have made known: shared by all workgroups of a launch.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "emulator/wave.h"

namespace wave::emulator {

/// How many loads and stores of a wave, in its order, count.
struct Reach {
  u32 loads = 0, stores = 0;

  void join(const Reach& other) {
    loads = std::max(loads, other.loads);
    stores = std::max(stores, other.stores);
  }
};

/// For each wave of the launch, by its number, the accesses that come before some moment.
class MemoryClock {
 public:
  bool is_empty() const { return all_.empty(); }
  void clear() { all_.clear(); }
  /// nullptr where nothing is known of the wave.
  const Reach* find(u32 wave) const;
  /// Most often the wave is the last one: they come in their order.
  void join(u32 wave, const Reach& reach) {
    if (all_.empty() || all_.back().first < wave) {
      all_.emplace_back(wave, reach);
    } else if (all_.back().first == wave) {
      all_.back().second.join(reach);
    } else {
      insert(wave, reach);
    }
  }
  void join(const MemoryClock& other);
  void join_loads(const MemoryClock& other);

 private:
  void insert(u32 wave, const Reach& reach);

  std::vector<std::pair<u32, Reach>> all_;  ///< by wave
};

/// An access of some bytes of a dword, or of all dwords of a block.
struct PastAccess {
  u32 wave = 0;               ///< its number in the launch, from 1 on; 0: there is none
  u32 number = 0;             ///< among the wave's loads, or its stores
  u32 pc = 0;                 ///< from where the code object lies
  u8 bytes : 4 = 0;           ///< a bit for each
  bool is_store : 1 = false;  ///< or an atomic
  bool is_atomic : 1 = false;
  bool is_maybe : 1 = false;  ///< a store that may be atomic
  bool is_local : 1 = false;  ///< atomic for its workgroup alone
  i8 lane = -1;
  i8 step = 0;  ///< of a block: the dwords of each lane or, negated, the lanes of each dword; 0: of a dword alone
};
static_assert(sizeof(PastAccess) == 16);

/// The last accesses of a dword by different waves, or of different bytes of it. Those that there are come first.
using PastAccesses = std::array<PastAccess, 4>;

/// What an atomic at an address has made known of the wave's past: to waves of other workgroups, and of its own.
struct Released {
  MemoryClock to_all, to_group;
  u64 group = 0;
  u32 bytes = 0;  ///< that atomics have accessed together

  /// Whether it is of an address, which is so many bytes behind the first one.
  bool is_of(u64 offset) const { return offset < bytes; }

  /// Before what an atomic of a workgroup makes known is joined to it. A plain store, which `adds` nothing, leaves
  /// nothing of what was known: but one of a part, of whose other bytes others may have told.
  void begin(u64 by_group, bool adds, u32 size) {
    const bool keeps = adds || size < bytes;
    if (!keeps || group != by_group) to_group.clear();
    if (!keeps) to_all.clear();
    group = by_group;
    bytes = std::max(bytes, size);
  }
};

/// What is known of a page of memory. Its dwords are in blocks that lie side by side: as long as those of a block have
/// been accessed together alone, by lanes side by side, what is known of one is known of all.
class ShadowPage {
 public:
  static constexpr u64 kBytes = 4096, kBlockDwords = 16, kBlockBytes = kBlockDwords * sizeof(u32);
  static constexpr u64 kBlocks = kBytes / kBlockBytes, kDwords = kBytes / sizeof(u32);

  /// Of all dwords of an address's block, or nullptr where they differ.
  PastAccesses* common(u64 address) {
    const u64 block = address % kBytes / kBlockBytes;
    return (split_ >> block & 1) == 0 ? &common_[block] : nullptr;
  }
  /// Of one dword, which may differ from the others from now on. The address is a multiple of 4.
  PastAccesses& own(u64 address) {
    const u64 block = address % kBytes / kBlockBytes;
    if ((split_ >> block & 1) == 0) split(block);
    return (*dwords_[block])[address % kBlockBytes / sizeof(u32)];
  }
  /// Of a dword, by its number in the page.
  PastAccesses of(size_t dword) const;

  /// Whether a dword is a counter: its last accesses are all atomics, as many as are known. Also without the lock, when
  /// it may have ceased to be one.
  bool is_counter(u64 address) const {
    const u64 dword = address % kBytes / sizeof(u32);
    return (counters_[dword / 64].load(std::memory_order_relaxed) >> dword % 64 & 1) != 0;
  }
  void set_counter(u64 address, bool is_one) {
    const u64 dword = address % kBytes / sizeof(u32), bit = u64{1} << dword % 64;
    std::atomic<u64>& counters = counters_[dword / 64];
    const u64 known = counters.load(std::memory_order_relaxed), wanted = is_one ? known | bit : known & ~bit;
    if (known != wanted) counters.store(wanted, std::memory_order_relaxed);
  }

  /// What atomics at an address have made known, or nullptr.
  const Released* released(u64 address) const {
    return released_ == nullptr ? nullptr : (*released_)[address % kBytes].get();
  }
  Released& releases(u64 address);

  /// Knows nothing again.
  void clear();

  void lock();
  void unlock() { is_locked_.store(false, std::memory_order_release); }

 private:
  using Dwords = std::array<PastAccesses, kBlockDwords>;
  void split(u64 block);
  static PastAccesses of_dword(const PastAccesses& common, size_t dword);

  /// A bit for each dword. Others read it while they have no lock.
  alignas(64) std::array<std::atomic<u64>, kDwords / 64> counters_{};
  alignas(64) std::atomic<bool> is_locked_{false};  ///< guards what follows: for less than a microsecond, often
  u64 split_ = 0;                                   ///< the blocks whose dwords differ: a bit for each
  alignas(64) std::array<PastAccesses, kBlocks> common_;
  std::array<std::unique_ptr<Dwords>, kBlocks> dwords_;  ///< of the blocks that are split
  std::unique_ptr<std::array<std::unique_ptr<Released>, kBytes>> released_;
};

/// Thread-safe.
class GlobalShadow {
 public:
  static constexpr u64 kPage = ShadowPage::kBytes;

  GlobalShadow() = default;
  ~GlobalShadow();
  GlobalShadow(const GlobalShadow&) = delete;
  GlobalShadow& operator=(const GlobalShadow&) = delete;

  /// A look at one page after the other, or at several. No one else has what is looked at.
  class Hold {
   public:
    explicit Hold(GlobalShadow& shadow) : shadow_(shadow) {}
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;
    ~Hold() { let_go(); }
    /// The page that an address lies in: one of those that it has, or else it has this one alone from now on.
    /// Neighbours cost no look-up.
    ShadowPage& page(u64 address) {
      if (address / kPage != number_) turn_to(address / kPage);
      return *page_;
    }
    /// The same page without a lock, for ShadowPage::is_counter() alone.
    const ShadowPage& unlocked(u64 address) { return *find(address / kPage); }
    /// Has some pages from now on, by their numbers: in rising order, so that no two threads wait for each other.
    void take(const std::vector<u64>& numbers);
    void let_go() {
      if (held_.empty()) return;
      for (const auto& [number, page] : held_) page->unlock();
      held_.clear();
      number_ = kNone;
    }

   private:
    static constexpr u64 kNone = ~u64{0}, kKnown = 64;
    void turn_to(u64 number);
    void add(u64 number);
    ShadowPage* find(u64 number);

    GlobalShadow& shadow_;
    u64 number_ = kNone;  ///< of the page that was asked for last
    ShadowPage* page_ = nullptr;
    std::vector<std::pair<u64, ShadowPage*>> held_;            ///< in the order of their numbers
    std::array<std::pair<u64, ShadowPage*>, kKnown> known_{};  ///< pages that it had, by the low bits of their numbers
  };

  /// Calls `look` with what is known of each dword that was accessed: the address of its page, its number there, and
  /// the accesses. Behind a launch.
  template <class Look>
  void visit(const Look& look) {
    for (Shard& shard : shards_) {
      for (const auto& [number, page] : shard.pages) {
        for (size_t dword = 0; dword < ShadowPage::kDwords; ++dword) look(number * kPage, dword, page->of(dword));
      }
    }
  }

 private:
  static constexpr u64 kShards = 64;
  struct Shard {
    std::mutex mutex;  ///< guards what follows
    std::unordered_map<u64, std::unique_ptr<ShadowPage>> pages;
  };

  ShadowPage* find(u64 number);

  std::array<Shard, kShards> shards_;
};

}  // namespace wave::emulator
