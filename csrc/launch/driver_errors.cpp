#include "launch/driver_errors.h"

#include <algorithm>
#include <string_view>

#include "launch/enqueue.h"

namespace wave {

namespace {

struct Advice {
  std::string_view names[9];  ///< parts of the names of errors, CUDA's and HIP's
  const char* text;
};

constexpr Advice kEarlierLaunch{
    {"ILLEGAL_", "MISALIGNED_ADDRESS", "LAUNCH_FAILED", "LAUNCH_TIMEOUT", "CUDA_ERROR_ASSERT", "IllegalAddress",
     "LaunchFailure", "LaunchTimeOut", "hipErrorAssert"},
    "; an earlier kernel may have failed: WAVE_RUNTIME_SYNC=1 tells which, and on CPU tensors the emulator says why"};
constexpr Advice kCapture{{"StreamCapture", "STREAM_CAPTURE"},
                          "; a graph is being captured: call kernel.preload(device) before the capture"};

bool applies(const Advice& advice, std::string_view message) {
  return std::ranges::any_of(
      advice.names, [&](std::string_view name) { return !name.empty() && message.find(name) != message.npos; });
}

std::string with_advice(const std::string& message, During during) {
  if (during == During::Load && applies(kCapture, message)) return message + kCapture.text;
  if (!may_be_synchronous() && applies(kEarlierLaunch, message)) return message + kEarlierLaunch.text;
  return message;
}

}  // namespace

void rethrow_with_advice(const RuntimeError& error, const std::string& message, During during) {
  const std::string advised = with_advice(message, during);
  if (const auto* driver = dynamic_cast<const DriverError*>(&error)) throw DriverError(advised, driver->code);
  throw RuntimeError(advised);
}

}  // namespace wave
