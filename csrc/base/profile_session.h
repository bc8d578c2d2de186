// A session of the profiler: from when on launches on the emulator are counted, and what was counted. It is the
// process's: launches of all threads, and of HIP's streams, report to it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/fork_safe.h"
#include "base/launch_profile.h"

namespace wave {

/// A launch that has ended.
struct ProfiledLaunch {
  std::array<uint32_t, 3> grid, block;
  uint64_t shared_memory;  ///< bytes of LDS, static and dynamic
  uint64_t instructions;   ///< of waves
  uint64_t waves;
  uint64_t workgroups;
  double seconds;  ///< of the emulator's time
};

/// A kernel, and the sum of its launches.
struct ProfiledKernel {
  std::string name;
  std::string target;
  std::span<const uint8_t> image;      ///< the code object
  std::shared_ptr<const void> holder;  ///< keeps it
  LaunchProfile profile{};
  std::vector<ProfiledLaunch> launches{};
};

/// Thread-safe.
class ProfileSession {
 public:
  /// `kernel` without a profile and launches: those are added.
  void add(const ProfiledKernel& kernel, const ProfiledLaunch& launch, const LaunchProfile& profile);
  /// All that was counted, in the order of the kernels' first launches.
  std::vector<ProfiledKernel> kernels();

  /// The one that began last of those that have not ended, else the process's own (profile_log.h); nullptr where there
  /// is none.
  static std::shared_ptr<ProfileSession> active();
  static void begin(std::shared_ptr<ProfileSession> session);
  static void end(const ProfileSession& session);

 private:
  Mutex mutex_;  ///< guards what follows
  std::vector<ProfiledKernel> kernels_;
};

}  // namespace wave
