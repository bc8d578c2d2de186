// What a launch on the emulator is asked for besides its arguments.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/profile_session.h"
#include "base/sanitizer.h"

namespace wave {

struct EmulatorOptions {
  uint64_t max_instructions = 0;         ///< of one wave; 0: no limit
  double time_limit = 0;                 ///< seconds; 0: none
  bool deterministic = false;            ///< on the calling thread alone, with a clock that only counts looks at it
  bool statistics = false;               ///< by kind of instruction, besides counts
  Tools checks = 0;                      ///< what is looked for so that the launch fails at its end where it was found
  std::shared_ptr<Sanitizer> sanitizer;  ///< who is told what was found; nullptr: nobody asks
  std::shared_ptr<ProfileSession> profile;  ///< who is told what was counted; nullptr: nobody asks
  std::string trace;                        ///< a file for a line of each instruction; "-": stderr; empty: none
  std::string trace_kernel;                 ///< what the names of kernels have that are traced; empty: all
  std::optional<uint64_t> trace_workgroup;  ///< the only one to trace
  std::optional<uint32_t> trace_wave;
  double progress_delay = 2;  ///< seconds until a terminal shows how far the launch is; 0: never
  std::string dump;           ///< a folder for launches that fail; empty: none
  bool exact_bounds = false;  ///< of the HIP library: kernels may touch what HIP allocated, and nothing else

  /// As WAVE_RUNTIME_* say now, for the sanitizer that is active now. Throws ValueError.
  static EmulatorOptions from_environment();
};

}  // namespace wave
