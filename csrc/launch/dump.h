// Launches on the emulator that fail, written to disk, so that they can be made again elsewhere:
// `python -m wave_runtime run FOLDER`.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "launch/hooks.h"

namespace wave {

/// The state before a launch. What kernels find through pointers in memory is copied as it is: such pointers do not
/// lead to the copies.
class LaunchDump {
 public:
  /// Copies the memory that the launch was given. nullptr where its options name no folder.
  static std::unique_ptr<LaunchDump> prepare(const LaunchSite& site, std::span<const uint8_t> arguments,
                                             const HostLaunch& host);

  /// Writes a folder of its own and returns its path. Throws RuntimeError where it cannot.
  std::string write(const KernelFault& fault) const;

 private:
  /// Overlapping ranges are one block.
  struct Block {
    uint64_t address;
    std::vector<uint8_t> bytes;
  };

  LaunchDump(const LaunchSite& site, std::span<const uint8_t> arguments, const HostLaunch& host);
  void copy_memory();
  std::string json(const KernelFault& fault) const;

  const LaunchSite& site_;
  std::vector<uint8_t> arguments_;
  const HostLaunch& host_;
  std::vector<Block> blocks_;
};

}  // namespace wave
