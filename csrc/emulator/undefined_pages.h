// Which bytes of the process's memory are undefined, as the workgroups of one launch see it.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "base/address_span.h"
#include "base/unwritten_memory.h"
#include "emulator/wave.h"

namespace wave::emulator {

/// A bit for each byte, of the pages that the launch touches: of memory bytes are stored and kept, and bits of theirs
/// are followed in registers alone. Pages of which all is defined have none. Thread-safe.
class UndefinedPages {
 public:
  struct Bits {
    std::array<std::atomic<u64>, kShadowPage / 64> undefined;
    std::array<std::atomic<u64>, kShadowPage / 64> stored;  ///< by the launch, where something was undefined nearby
  };
  struct Page {
    std::atomic<Bits*> bits{nullptr};  ///< nullptr: all is defined
    std::unique_ptr<Bits> owned{};
  };

  /// Whether anything can be undefined.
  bool has_some() const { return has_some_.load(std::memory_order_relaxed); }
  /// By its number.
  Page& page(u64 number);
  /// The page's bits, which it gets where it has none.
  Bits& bits_of(Page& page);
  /// These are told, and count as defined behind the launch. Within it they stay, so that it does not matter which
  /// workgroup came first.
  void note_told(AddressSpan bytes);
  /// Behind the launch.
  void finish();

 private:
  static constexpr u64 kShards = 64;
  struct Shard {
    std::mutex mutex;  ///< guards what follows
    std::unordered_map<u64, Page> pages;
  };

  std::atomic<bool> has_some_{!UnwrittenMemory::of_process().is_empty()};
  std::array<Shard, kShards> shards_;
  std::mutex mutex_;                   ///< guards what follows
  std::unordered_map<u64, u64> told_;  ///< sizes, by address
};

/// The same for one thread, which remembers pages that it has asked for.
class UndefinedView {
 public:
  explicit UndefinedView(UndefinedPages& pages) : pages_(pages) {}

  bool has_some() const { return pages_.has_some(); }
  bool is_defined(AddressSpan bytes) { return !pages_.has_some() || count(bytes, false); }
  bool is_defined(u64 address) { return is_defined(AddressSpan(address, 1)); }
  void define(AddressSpan bytes) {
    if (pages_.has_some()) count(bytes, true);
  }
  void undefine(u64 address);
  void note_told(AddressSpan bytes) { pages_.note_told(bytes); }

 private:
  struct Known {
    u64 number = ~u64{0};
    UndefinedPages::Page* page = nullptr;
  };

  UndefinedPages::Page& page(u64 number) {
    Known& known = known_[number % known_.size()];
    if (known.number != number) known = {number, &pages_.page(number)};
    return *known.page;
  }
  bool count(AddressSpan bytes, bool defines);

  UndefinedPages& pages_;
  std::array<Known, 64> known_;
};

}  // namespace wave::emulator
