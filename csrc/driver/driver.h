// What a driver does for the launch layer.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/access_trace.h"
#include "base/memory_range.h"
#include "base/parallel.h"
#include "code_object/code_object.h"

namespace wave {

/// One launch, with everything checked and packed. Borrowed: valid during Driver::launch only.
struct Launch {
  const std::shared_ptr<const CodeObject>& code;
  const KernelInfo& kernel;
  std::array<uint32_t, 3> grid;        ///< workgroups
  std::array<uint32_t, 3> block;       ///< work-items of a workgroup
  uint32_t shared_memory;              ///< bytes of dynamic LDS
  std::span<const uint8_t> arguments;  ///< the kernarg segment up to the hidden arguments, which the driver fills
  std::vector<MemoryRange> memory;     ///< what the arguments point to, for drivers that check accesses
  Parallel parallel;                   ///< threads for a driver that computes on the host; empty: the calling one only
  bool strict = false;                 ///< for drivers that check accesses: reads past an end are faults, too
  AccessTrace* trace = nullptr;        ///< where drivers that check accesses note them
};

/// A way to run code objects. Thread-safe.
class Driver {
 public:
  virtual ~Driver() = default;

  /// Loads the code where it is not loaded yet and launches. Returns when the launch is enqueued; a driver that
  /// computes on the host, when it is done. Returns warnings for the user. Throws ValueError where the code does not
  /// fit the device, RuntimeError where the driver fails and KernelFault where the kernel does.
  virtual std::vector<std::string> launch(const Launch& launch) = 0;
};

/// The emulator, for tensors in the host's memory. Always there.
Driver& emulator_driver();

/// What the last launch of this thread on the emulator executed.
struct EmulatorStatistics {
  uint64_t instructions = 0;  ///< by waves
  uint64_t waves = 0;
  uint64_t workgroups = 0;
};
EmulatorStatistics last_emulator_statistics();

/// Sets what launches on the emulator call now and then on the thread that made them; it may throw to stop the launch.
void set_interrupt_check(void (*check)());

}  // namespace wave
