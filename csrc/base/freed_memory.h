// Memory that was freed, and is kept from being allocated again for a while.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>

#include "base/fork_safe.h"
#include "base/memory_range.h"

namespace wave {

/// While a sanitizer looks for bad accesses: so that a stale pointer meets nothing else, and can be told. Thread-safe.
class FreedMemory {
 public:
  using Release = void (*)(void*);

  /// Never destroyed.
  static FreedMemory& of_process();

  /// Takes memory over, until much was freed after it. What it holds is lost. `release` gives it back.
  void add(AddressSpan bytes, Release release);
  /// Gives all of it back.
  void clear();

  /// What was freed at an address, for messages.
  std::optional<MemoryRange> at(uint64_t address) const;
  /// As find_mapping(), but for what was freed: nothing there, and of a mapping the part around the address that has
  /// none of it.
  std::optional<MemoryRange> find_mapping_besides(uint64_t address) const;

 private:
  struct Block {
    uint64_t size;
    Release release;
  };

  bool is_too_much() const;
  const std::pair<const uint64_t, Block>* block_at(uint64_t address) const;

  std::atomic<bool> is_empty_{true};
  mutable SharedMutex mutex_;  ///< guards what follows
  std::map<uint64_t, Block> blocks_;
  std::deque<uint64_t> order_;  ///< their addresses, the oldest first
  uint64_t size_ = 0;
};

}  // namespace wave
