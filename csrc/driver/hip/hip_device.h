// The device that a thread works on.
#pragma once

#include "driver/hip/hip_api.h"

namespace wave::hip {

/// Makes a device current for a scope.
class DeviceGuard {
 public:
  /// `is_current`: whether the device is known to be current.
  DeviceGuard(const Api& api, Device device, bool is_current = false) : api_(api), previous_(device), device_(device) {
    if (is_current) return;
    api.check(api.hipGetDevice(&previous_), "hipGetDevice");
    if (previous_ != device) api.check(api.hipSetDevice(device), "hipSetDevice");
  }
  ~DeviceGuard() {
    if (previous_ != device_) [[unlikely]]
      api_.hipSetDevice(previous_);
  }
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;

 private:
  const Api& api_;
  Device previous_;
  const Device device_;
};

/// Lets this thread do for a scope what a capture under way in another stream or thread would forbid: loading code.
class RelaxedCapture {
 public:
  explicit RelaxedCapture(const Api& api) : api_(api) { api_.hipThreadExchangeStreamCaptureMode(&mode_); }
  ~RelaxedCapture() { api_.hipThreadExchangeStreamCaptureMode(&mode_); }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  const Api& api_;
  CaptureMode mode_ = kCaptureModeRelaxed;
};

}  // namespace wave::hip
