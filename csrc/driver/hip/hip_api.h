// libamdhip64, opened at run time.
#pragma once

#include <string>

#include "base/dynamic_library.h"
#include "driver/hip/hip_interrupt.h"
#include "driver/hip/hip_types.h"

namespace wave::hip {

/// The functions of hip_symbols.inc as members of the same names. Lives until the process ends.
struct Api {
  DynamicLibrary library;

#define REQUIRED(name, parameters) Error(*name) parameters = nullptr;
#define OPTIONAL(name, parameters) Error(*name) parameters = nullptr;
#define TEXT(name) const char* (*name)(Error error) = nullptr;
#include "driver/hip/hip_symbols.inc"
#undef REQUIRED
#undef OPTIONAL
#undef TEXT
  decltype(&::waveStreamWait) waveStreamWait = nullptr;            ///< nullptr but in our own library,
  decltype(&::waveDeviceInterrupt) waveDeviceInterrupt = nullptr;  ///< and so is this

  /// Throws DriverError "hipModuleLaunchKernel failed: hipErrorInvalidValue (1): invalid argument" unless `error` is
  /// kSuccess.
  void check(Error error, const char* call) const {
    if (error != kSuccess) [[unlikely]]
      fail(error, call);
  }

 private:
  [[noreturn, gnu::cold]] void fail(Error error, const char* call) const;
};

/// The library, opened at the first call: the copy that the process has loaded, else WAVE_RUNTIME_LIBHIP, torch's own,
/// the one under ROCM_PATH (/opt/rocm), the soname. Throws RuntimeError that lists every path tried, or names the
/// function that is missing. Thread-safe.
const Api& api();

}  // namespace wave::hip
