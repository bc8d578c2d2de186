#include "op/allocations.h"

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>

#include <atomic>
#include <limits>
#include <mutex>
#include <unordered_map>

#include "base/fork_safe.h"
#include "base/freed_memory.h"
#include "base/unwritten_memory.h"

namespace wave {

namespace {

std::atomic<int> finding_undefined{0}, finding_freed{0};  ///< sessions
c10::Allocator* torchs = nullptr;  ///< the allocator that torch has by itself, once there was a session
Mutex& mutex = *new Mutex;         ///< guards torch's choice of one

/// What was allocated while there was a session. It may be freed at the process's end.
struct Sizes {
  Mutex mutex;  ///< guards what follows
  std::unordered_map<void*, size_t> by_address;
};
Sizes& sizes = *new Sizes;

size_t forget(void* memory) {
  const std::lock_guard lock(sizes.mutex);
  const auto found = sizes.by_address.find(memory);
  if (found == sizes.by_address.end()) return 0;
  const size_t size = found->second;
  sizes.by_address.erase(found);
  return size;
}

void free_watched(void* memory) {
  const size_t size = forget(memory);
  const auto begin = reinterpret_cast<uint64_t>(memory);
  UnwrittenMemory::of_process().remove(begin);
  if (size == 0 || finding_freed == 0) return torchs->raw_deleter()(memory);
  FreedMemory::of_process().add({begin, size}, torchs->raw_deleter());
}

/// Torch's own, but that what it allocates and frees is made known.
class WatchingAllocator final : public c10::Allocator {
 public:
  at::DataPtr allocate(size_t size) override {
    // Up to whole granules, so that the last bytes of a tensor can be told, too.
    constexpr size_t kGranule = UnwrittenMemory::kGranule;
    const bool is_watched = size != 0 && size <= std::numeric_limits<size_t>::max() - kGranule;
    const size_t whole = is_watched ? (size + kGranule - 1) / kGranule * kGranule : size;
    at::DataPtr data = torchs->allocate(whole);
    if (!is_watched || data.get_context() != data.get()) return data;
    if (!data.compare_exchange_deleter(torchs->raw_deleter(), free_watched)) return data;
    {
      const std::lock_guard lock(sizes.mutex);
      sizes.by_address[data.get()] = whole;
    }
    if (finding_undefined != 0) UnwrittenMemory::of_process().add({reinterpret_cast<uint64_t>(data.get()), size});
    return data;
  }

  at::DeleterFnPtr raw_deleter() const override { return free_watched; }
  void copy_data(void* to, const void* from, size_t count) const override { default_copy_data(to, from, count); }
};

WatchingAllocator& ours = *new WatchingAllocator;  ///< storages keep the allocator that they were made by

/// Has torch allocate by ours.
void choose_ours() {
  c10::Allocator* const now = c10::GetCPUAllocator();
  if (now == &ours || now->raw_deleter() == nullptr || (torchs != nullptr && torchs != now)) return;
  torchs = now;
  c10::SetCPUAllocator(&ours);
}

}  // namespace

void begin_watching_allocations(Tools tools) {
  if ((tools & (kUninitializedTool | kMemoryTool)) == 0) return;
  const std::lock_guard lock(mutex);
  finding_undefined += (tools & kUninitializedTool) != 0;
  finding_freed += (tools & kMemoryTool) != 0;
  choose_ours();
}

void end_watching_allocations(Tools tools) {
  const std::lock_guard lock(mutex);
  if ((tools & kUninitializedTool) != 0 && --finding_undefined == 0) UnwrittenMemory::of_process().clear();
  if ((tools & kMemoryTool) != 0 && --finding_freed == 0) FreedMemory::of_process().clear();
  if (finding_undefined == 0 && finding_freed == 0 && torchs != nullptr) c10::SetCPUAllocator(torchs);
}

}  // namespace wave
