// How the workgroups of a cooperative launch wait for one another.
#pragma once

#include <array>
#include <mutex>

#include "base/memory_range.h"
#include "emulator/mapped_memory.h"
#include "emulator/wave.h"

namespace wave::emulator {

/// Global wave sync (GWS), the counters of DS_GWS_*, and the record in memory that ROCm's device libraries use instead
/// since gfx940 and on gfx11 and later (__ockl_grid_sync). Thread-safe.
class GridSync {
 public:
  static constexpr u32 kResources = 64;

  GridSync(u64 workgroups, u32 work_items);

  /// Address of the record, which is what hidden_multigrid_sync_arg has.
  u64 record() const { return memory_.span().begin(); }
  MemoryRange region() const;

  /// DS_GWS_INIT: a barrier is over when so many waves and one more have arrived.
  void set(u32 resource, u32 others);
  /// DS_GWS_BARRIER: a wave arrives. What is_over() asks for, or 0 where it is the last one; then the next barrier is
  /// over when `others` and one more have arrived.
  u64 arrive(u32 resource, u32 others);
  bool is_over(u32 resource, u64 ticket) const;
  /// What stands for a resource where addresses are told apart.
  u64 address(u32 resource) const { return reinterpret_cast<u64>(&resources_[resource]); }

 private:
  /// Of rocm-device-libs, ockl/src/cg.cl (struct mg_info).
  struct Record {
    u64 grids = 0;  ///< what several grids would wait with
    u32 grid = 0, grid_count = 1;
    u64 work_items_before = 0, work_items = 0;
    u32 arrived = 0, unused = 0;
    u32 workgroups = 0, padding = 0;
  };

  struct Resource {
    u64 number = 1;  ///< of the barrier that waves arrive at
    u32 others = 0;
    u32 arrived = 0;
  };

  const MappedMemory memory_{sizeof(Record), "the record of the grid's barriers"};
  mutable std::mutex mutex_;  ///< guards what follows
  std::array<Resource, kResources> resources_;
};

}  // namespace wave::emulator
