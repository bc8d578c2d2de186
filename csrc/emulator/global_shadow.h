// Who accessed the launch's memory last, and what atomics have made known: shared by all workgroups of a launch.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <unordered_map>

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
using MemoryClock = std::unordered_map<u32, Reach>;

void join(MemoryClock& clock, const MemoryClock& other);

/// An access of some bytes of a dword, or of all dwords of a block.
struct PastAccess {
  u32 wave = 0;    ///< its number in the launch, from 1 on; 0: there is none
  u32 number = 0;  ///< among the wave's loads, or its stores
  u32 pc = 0;      ///< from where the code object lies
  u8 bytes = 0;    ///< a bit for each
  i8 lane = -1;
  i8 step = 0;  ///< of a block: the dwords of each lane or, negated, the lanes of each dword; 0: of a dword alone
  bool is_store = false;
  bool is_atomic = false;
  bool is_maybe = false;  ///< a store that may be atomic
};

/// The last accesses of a dword by different waves, or of different bytes of it.
using PastAccesses = std::array<PastAccess, 4>;

/// Some dwords that lie side by side. As long as they have been accessed together alone, by lanes side by side, what is
/// known of one is known of all.
class AccessBlock {
 public:
  static constexpr u64 kDwords = 16, kBytes = kDwords * sizeof(u32);

  /// Of all dwords, or nullptr where they differ.
  PastAccesses* common() { return dwords_ == nullptr ? &common_ : nullptr; }
  /// Of one dword, which may differ from the others from now on.
  PastAccesses& own(size_t dword) {
    if (dwords_ == nullptr) split();
    return (*dwords_)[dword];
  }
  PastAccesses of(size_t dword) const;

 private:
  void split();

  PastAccesses common_;
  std::unique_ptr<std::array<PastAccesses, kDwords>> dwords_;
};

/// Thread-safe.
class GlobalShadow {
 public:
  static constexpr u64 kPage = 4096;

 private:
  static constexpr u64 kShards = 64;
  using Page = std::array<AccessBlock, kPage / AccessBlock::kBytes>;
  struct Shard {
    std::mutex mutex;  ///< guards what follows
    std::unordered_map<u64, std::unique_ptr<Page>> pages;
  };

 public:
  /// A look at one page after the other. No one else has what is looked at.
  class Hold {
   public:
    explicit Hold(GlobalShadow& shadow) : shadow_(shadow) {}
    /// The block that an address lies in. It is had until the next call: neighbours cost no look-up.
    AccessBlock& block(u64 address) {
      if (address / kPage != number_) take(address / kPage);
      return (*page_)[address % kPage / AccessBlock::kBytes];
    }
    /// The accesses of the dword at an address, which is a multiple of 4, likewise.
    PastAccesses& at(u64 address) { return block(address).own(address % AccessBlock::kBytes / sizeof(u32)); }
    void let_go() {
      if (!lock_.owns_lock()) return;
      lock_.unlock();
      number_ = kNone;
    }

   private:
    static constexpr u64 kNone = ~u64{0};
    void take(u64 number);

    GlobalShadow& shadow_;
    std::unique_lock<std::mutex> lock_{};
    u64 number_ = kNone;
    Page* page_ = nullptr;
  };

  /// What an atomic at an address has made known of the wave's past: to waves of other workgroups, and of its own.
  struct Released {
    MemoryClock to_all, to_group;
    u64 group = 0;
  };
  /// Has what `add` joins to what is known there. For a plain store, which `adds` nothing, that is all.
  template <class Add>
  void release(u64 address, u64 group, bool adds, const Add& add) {
    has_released_.store(true, std::memory_order_release);
    const std::lock_guard lock(mutex_);
    Released& known = released_[address];
    if (!adds || known.group != group) known.to_group.clear();
    if (!adds) known.to_all.clear();
    known.group = group;
    add(known);
  }
  /// What is known there. An empty one where nothing is.
  Released released(u64 address);

  /// Calls `look` with what is known of each dword that was accessed: the address of its page, its number there, and
  /// the accesses. Behind a launch.
  template <class Look>
  void visit(const Look& look) {
    for (Shard& shard : shards_) {
      for (const auto& [number, page] : shard.pages) {
        for (size_t dword = 0; dword < kPage / sizeof(u32); ++dword) {
          look(number * kPage, dword, (*page)[dword / AccessBlock::kDwords].of(dword % AccessBlock::kDwords));
        }
      }
    }
  }

 private:
  std::array<Shard, kShards> shards_;
  std::atomic<bool> has_released_{false};
  std::mutex mutex_;  ///< guards what follows
  std::unordered_map<u64, Released> released_;
};

}  // namespace wave::emulator
