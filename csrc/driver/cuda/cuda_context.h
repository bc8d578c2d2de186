// The context that a thread works in.
#pragma once

#include "driver/cuda/cuda_api.h"

namespace wave::cuda {

/// Makes a context current for a scope. A thread that had none keeps it: it is the device's primary one, which every
/// other library of the process uses too.
class ContextGuard {
 public:
  /// `is_current`: whether the context is known to be current.
  ContextGuard(const Api& api, Context context, bool is_current = false) : api_(api) {
    if (is_current) return;
    api.cuCtxGetCurrent(&previous_);
    if (previous_ == context) {
      previous_ = nullptr;
    } else {
      api.check(api.cuCtxSetCurrent(context), "cuCtxSetCurrent");
    }
  }
  ~ContextGuard() {
    if (previous_ != nullptr) [[unlikely]]
      api_.cuCtxSetCurrent(previous_);
  }
  ContextGuard(const ContextGuard&) = delete;
  ContextGuard& operator=(const ContextGuard&) = delete;

 private:
  const Api& api_;
  Context previous_ = nullptr;  ///< to be restored
};

/// Lets this thread do for a scope what a capture under way in another stream or thread would forbid: loading code.
class RelaxedCapture {
 public:
  explicit RelaxedCapture(const Api& api) : api_(api) { api_.cuThreadExchangeStreamCaptureMode(&mode_); }
  ~RelaxedCapture() { api_.cuThreadExchangeStreamCaptureMode(&mode_); }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  const Api& api_;
  CaptureMode mode_ = kCaptureModeRelaxed;
};

}  // namespace wave::cuda
