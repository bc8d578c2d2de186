#include "launch/launch.h"

#include <cstdlib>
#include <cstring>

#include "base/error.h"
#include "driver/fork.h"
#include "launch/arguments.h"

namespace wave {

namespace {

bool synchronous() {
  static const bool value = [] {
    const char* text = std::getenv("WAVE_RUNTIME_SYNC");
    return text != nullptr && *text != 0 && std::strcmp(text, "0") != 0;
  }();
  return value;
}

std::string dims_text(const Dims& dims) { return text("(", dims[0], ", ", dims[1], ", ", dims[2], ")"); }

/// Whether the driver's error is about a kernel that ran before.
bool is_of_earlier_launch(std::string_view error) {
  for (const std::string_view name : {"ILLEGAL_", "MISALIGNED_ADDRESS", "LAUNCH_FAILED", "LAUNCH_TIMEOUT", "ASSERT",
                                      "IllegalAddress", "LaunchFailure", "LaunchTimeOut", "hipErrorAssert"}) {
    if (error.find(name) != error.npos) return true;
  }
  return false;
}

[[noreturn]] void rethrow(const RuntimeError& error, const Kernel& kernel, const DeviceFunction& function,
                          const Geometry& geometry, std::span<const uint8_t> arguments) {
  check_not_forked();
  std::string message = text("kernel '", kernel.name(), "' on ", function.place.text(), ": ", error.what(), "; grid ",
                             dims_text(geometry.grid), ", block ", dims_text(geometry.block), ", shared_memory ",
                             geometry.shared_memory, ", arguments ", arguments_text(kernel, arguments));
  if (!synchronous() && is_of_earlier_launch(error.what())) {
    message +=
        "; an earlier kernel may have failed: WAVE_RUNTIME_SYNC=1 tells which, and on CPU tensors the emulator says "
        "why";
  }
  throw RuntimeError(message);
}

/// The null stream takes no part in captures.
void pin_if_captured(const DeviceFunction& function, void* stream) {
  if (stream == nullptr || is_pinned(function)) return;
  if (function.place.driver().is_capturing(stream)) pin(function);
}

void run(const DeviceFunction& function, const Launch& launch) {
  pin_if_captured(function, launch.stream);
  function.function->launch(launch);
  // Everything else on tensors in the host's memory expects their contents to be there.
  if (!synchronous() && !function.place.in_host_memory()) return;
  Driver& driver = function.place.driver();
  if (!driver.is_capturing(launch.stream)) driver.synchronize(function.place.device, launch.stream);
}

}  // namespace

void launch(const Kernel& kernel, const DeviceFunction& function, const Geometry& geometry, void* stream,
            std::span<const uint8_t> arguments, HostLaunch* host) {
  const Launch launch{geometry.grid, geometry.block, geometry.shared_memory,
                      stream,        arguments,      geometry.attributes ? &*geometry.attributes : nullptr,
                      host};
  const bool hooked = has_hooks();
  std::optional<InsideLaunch> inside;
  if (hooked || host != nullptr) inside.emplace();
  if (hooked) call_enter_hooks({kernel, function.place, geometry, stream, arguments});
  try {
    run(function, launch);
  } catch (const KernelFault&) {
    throw;
  } catch (const RuntimeError& error) {
    rethrow(error, kernel, function, geometry, arguments);
  }
  if (hooked) call_exit_hooks({kernel, function.place, geometry, stream, arguments});
}

std::string arguments_text(const Kernel& kernel, std::span<const uint8_t> arguments) {
  std::string out;
  const auto& parameters = kernel.signature().parameters;
  for (size_t i = 0; i < parameters.size(); ++i) {
    const Parameter& parameter = parameters[i];
    append(out, out.empty() ? "" : ", ");
    append(out, parameter.name.empty() ? text("argument ", i) : parameter.name);
    append(out, text("=", value_text(parameter, arguments)));
  }
  return out.empty() ? "none" : out;
}

}  // namespace wave
