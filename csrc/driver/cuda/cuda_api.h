// libcuda, opened at run time.
#pragma once

#include "base/dynamic_library.h"
#include "driver/cuda/cuda_types.h"

namespace wave::cuda {

/// The functions of cuda_symbols.inc as members of the same names. Lives until the process ends.
struct Api {
  DynamicLibrary library;

#define REQUIRED(name, parameters) Error(*name) parameters = nullptr;
#define OPTIONAL(name, parameters) Error(*name) parameters = nullptr;
#include "driver/cuda/cuda_symbols.inc"
#undef REQUIRED
#undef OPTIONAL

  /// Throws RuntimeError "cuLaunchKernel failed: CUDA_ERROR_INVALID_VALUE (1): invalid argument" unless `error` is
  /// kSuccess.
  void check(Error error, const char* call) const {
    if (error != kSuccess) [[unlikely]]
      fail(error, call);
  }

 private:
  [[noreturn, gnu::cold]] void fail(Error error, const char* call) const;
};

/// The library, opened at the first call: the copy that the process has loaded, else WAVE_RUNTIME_LIBCUDA, the soname.
/// Throws RuntimeError that lists every path tried, or names the function that is missing. Thread-safe.
const Api& api();

}  // namespace wave::cuda
