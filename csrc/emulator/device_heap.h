// Memory that kernels allocate themselves.
#pragma once

#include <atomic>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/fork_safe.h"
#include "emulator/mapped_memory.h"
#include "emulator/memory.h"

namespace wave::emulator {

/// The heap of malloc in kernels, one for the process. It outlives launches, as on a device: what one allocates,
/// another may use and free. Any thread.
class DeviceHeap {
 public:
  static DeviceHeap& get();

  /// All of the heap, which every launch that may use it can read and write. Empty where the process got no address
  /// space for it.
  Region region() const { return {memory_.span(), true, "the heap of malloc in kernels"}; }

  /// What `hidden_heap_v1` points to: the device libraries' own record of small blocks, which begins as zeros
  /// (ROCm's device libraries, ockl/src/dm.cl, heap_t). 0 where there is no heap.
  u64 record() const { return memory_.span().begin(); }

  /// Address space, where the process may have so much; memory is taken as it is touched.
  static constexpr u64 kSize = u64{64} << 30;

  /// Zeros; 0 where there is no room. Aligned to pages, as the device libraries expect, and to 2 MiB from that size on.
  u64 allocate(u64 size);
  /// Why allocate() had no room, a clause for messages; empty where it had always some.
  std::string shortage() const;
  /// False where `address` is not what allocate() returned.
  bool free(u64 address);

 private:
  DeviceHeap();
  u64 find_room(u64 size);

  MappedMemory memory_;
  std::atomic<bool> has_refused_{false};
  Mutex mutex_;                                   ///< guards what follows
  u64 next_ = 0;                                  ///< from here on nothing was allocated yet
  std::unordered_map<u64, u64> sizes_;            ///< of what is allocated
  std::map<u64, std::vector<u64>> freed_blocks_;  ///< by size
};

}  // namespace wave::emulator
