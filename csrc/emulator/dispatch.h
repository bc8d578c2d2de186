// One launch on the emulator: its description, its memory, and the workers that run its workgroups.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/parallel.h"
#include "emulator/grid_sync.h"
#include "emulator/hostcall.h"
#include "emulator/kernarg_segment.h"
#include "emulator/memory.h"
#include "emulator/module.h"
#include "emulator/printf_buffer.h"

namespace wave::emulator {

class Checks;
class Observer;

/// What to run. Borrowed pointers must outlive run().
struct Dispatch {
  const Module* module = nullptr;
  const KernelInfo* kernel = nullptr;
  std::array<u32, 3> grid{1, 1, 1};   ///< workgroups
  std::array<u32, 3> block{1, 1, 1};  ///< work-items of a workgroup
  std::array<u32, 3> remainder{};     ///< work-items of the last workgroup along an axis; 0: as many as of the others
  u32 dynamic_lds = 0;                ///< bytes, on top of the kernel's own
  bool cooperative = false;           ///< all workgroups are under way at once, and may wait for one another
  std::span<const u8> arguments;      ///< the explicit part of the kernarg segment
  std::vector<Region> memory;         ///< what the kernel may touch besides its code object, kernarg, LDS and scratch
  FindRegion find_region;             ///< for addresses elsewhere; empty: they are faults
  bool deterministic = false;         ///< on the calling thread alone, with a clock that only counts looks at it
  bool strict = false;                ///< reads past the end of a region are faults, too
  AccessTrace* trace = nullptr;       ///< where to note what is read and written
  Observer* observer = nullptr;       ///< what sees each instruction, on one thread; nullptr: nothing
  Checks* checks = nullptr;           ///< what looks at workgroups, on all threads; nullptr: nothing
  Parallel parallel;                  ///< how to run on several threads; empty: the calling thread does everything
  u64 max_instructions = 0;           ///< of one wave; 0: no limit
  double time_limit = 0;              ///< seconds of the launch; 0: none
  double patience = 0.1;  ///< seconds before a launch counts as stuck, in which others may change its memory
  /// Called on the calling thread some twenty times a second, whatever the waves do: how many workgroups have ended,
  /// and how many there are. May throw to stop the launch.
  std::function<void(u64, u64)> poll;
};

struct Statistics {
  u64 instructions = 0;  ///< executed by waves
  u64 waves = 0;
  u64 workgroups = 0;
  std::vector<std::string> over_reads;
};

/// Runs a launch to its end. Throws KernelFault where a kernel does what it must not: the first such fault by workgroup
/// that was found; other workgroups may have run or not. Thread-safe: several launches may run at once.
Statistics run(const Dispatch& dispatch);

/// A dispatch made ready: what all of its workgroups share.
class LaunchState {
 public:
  explicit LaunchState(const Dispatch& dispatch);

  const Dispatch& dispatch;
  const Module& module;
  const KernelInfo& kernel;
  KernelRegisters registers;
  u32 lanes;                           ///< of a wave
  u32 work_items;                      ///< of a workgroup, but for a smaller one at the grid's end
  u32 waves;                           ///< the same
  u32 lds_size;                        ///< bytes
  u32 scratch_size;                    ///< bytes of a lane
  u64 entry;                           ///< address of the first instruction
  const TranslatedFunction& function;  ///< that it is of
  u64 workgroups;
  u64 max_resident;  ///< workgroups that may be under way at once, as on the device
  const Memory& memory() const { return memory_; }

  /// The extents of a workgroup in work-items.
  std::array<u32, 3> block_of(const std::array<u32, 3>& id) const;
  /// Of all workgroups.
  u64 all_waves() const;

  /// The function that an address is in, which may be another module's. Throws Fault where it is nobody's. Any thread
  /// may call.
  const TranslatedFunction& function_at(u64 address) const;

  /// nullptr where the kernel makes none.
  Hostcalls* hostcalls() const { return hostcalls_.get(); }

  /// nullptr where the kernel has none.
  const PrintfBuffer* printf_buffer() const { return printf_buffer_.get(); }

  /// nullptr where the launch is not cooperative.
  GridSync* grid_sync() const { return grid_sync_.get(); }

  /// Nanoseconds since some moment: the host's.
  u64 nanoseconds() const;
  /// Of the shader's clock since that moment, which runs at the rate that the device says it has at the most.
  u64 cycles() const;
  /// Of the constant clock, which has 100 MHz.
  u64 ticks() const { return nanoseconds() / 10; }

  /// Sets the scalar registers and modes that the hardware sets up before the first instruction of workgroup `id`.
  void set_initial_state(Wave& wave, const std::array<u32, 3>& id) const;

 private:
  using DispatchPacket = std::array<u8, 64>;  ///< hsa_kernel_dispatch_packet_t

  u64 hidden_value(ValueKind kind) const;
  u64 kernarg_size() const;
  void write_arguments();
  DispatchPacket packet() const;
  std::vector<Region> regions() const;

  std::unique_ptr<Hostcalls> hostcalls_;         ///< nullptr where the kernel makes none
  std::unique_ptr<PrintfBuffer> printf_buffer_;  ///< nullptr where the kernel has none
  std::unique_ptr<GridSync> grid_sync_;          ///< nullptr where the launch is not cooperative
  const std::array<u8, 256> queue_{};            ///< what a queue pointer points to
  KernargSegment kernarg_;
  const DispatchPacket packet_;
  mutable u64 looks_at_clock_ = 0;
  Memory memory_;
  mutable std::mutex visiting_;
  /// Other modules that were called, which stay till the end. Guarded by `visiting_`.
  mutable std::vector<std::shared_ptr<const Module>> visited_;
};

}  // namespace wave::emulator
