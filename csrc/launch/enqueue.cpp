#include "launch/enqueue.h"

#include <cstring>
#include <optional>
#include <utility>

#include "base/environment.h"
#include "base/error.h"
#include "code_object/launch_dump.h"
#include "driver/fork.h"
#include "launch/arguments.h"
#include "launch/driver_errors.h"

namespace wave {

namespace {

const Variable& kSync = at_load("WAVE_RUNTIME_SYNC");

[[maybe_unused]] const bool told = [] {
  if (kSync.is_set() && kSync.text != "0") detail::watching.fetch_or(detail::kSynchronous);
  return true;
}();

}  // namespace

bool is_synchronous() { return may_be_synchronous() && kSync.flag(); }

namespace {

std::string dims_text(const Dims& dims) { return text("(", dims[0], ", ", dims[1], ", ", dims[2], ")"); }

void pin_if_captured(const DeviceFunction& function, void* stream) {
  if (stream == nullptr || is_pinned(function)) return;
  if (function.place.driver().is_capturing(stream)) pin(function);
}

void synchronize(const LaunchSite& site) {
  const Place& place = site.function.place;
  if (!place.driver().is_capturing(site.stream)) place.driver().synchronize(place.device, site.stream);
}

/// The memory that it was given is all that is known of what the kernel may touch.
LaunchRecord record_of(const LaunchSite& site, std::span<const uint8_t> arguments, const HostLaunch& host) {
  const Geometry& geometry = site.geometry;
  std::vector<AddressSpan> memory;
  for (const MemoryRange& range : host.memory.ranges) memory.push_back(range.bytes);
  return {.code = site.function.code->bytes().span(),
          .kernel = site.kernel.name(),
          .signature = site.kernel.signature(),
          .strict = site.kernel.strict(),
          .grid = geometry.grid,
          .block = geometry.block,
          .shared_memory = geometry.shared_memory,
          .cooperative = geometry.attributes && geometry.attributes->cooperative,
          .arguments = arguments,
          .memory = std::move(memory)};
}

/// The arguments that are null pointers.
std::vector<MemoryRange> nulls_of(const Kernel& kernel, std::span<const uint8_t> arguments) {
  std::vector<MemoryRange> nulls;
  const auto& parameters = kernel.signature().parameters;
  for (size_t i = 0; i < parameters.size(); ++i) {
    uint64_t address = 0;
    const uint64_t end = uint64_t{parameters[i].offset} + sizeof(address);
    if (!parameters[i].is_pointer || parameters[i].size != sizeof(address) || end > arguments.size()) continue;
    std::memcpy(&address, &arguments[parameters[i].offset], sizeof(address));
    if (address == 0)
      nulls.push_back({AddressSpan(0, 0), false, RangeName([&kernel, i] { return kernel.parameter_text(i); })});
  }
  return nulls;
}

void call_driver(const LaunchSite& site, std::span<const uint8_t> arguments, HostLaunch* host) {
  const Geometry& geometry = site.geometry;
  const Launch launch{geometry.grid, geometry.block, geometry.shared_memory,
                      site.stream,   arguments,      geometry.attributes ? &*geometry.attributes : nullptr,
                      host};
  if (host != nullptr) host->nulls = nulls_of(site.kernel, arguments);
  const bool synchronous = is_synchronous();
  std::optional<LaunchDump> dump;
  if (host != nullptr && !host->options.dump.empty()) dump.emplace(record_of(site, arguments, *host));
  try {
    pin_if_captured(site.function, site.stream);
    site.function.function->launch(launch);
    // Everything else on tensors in the host's memory expects their contents to be there.
    if (synchronous || site.function.in_host_memory) synchronize(site);
  } catch (const KernelFault& fault) {
    if (!dump) throw;
    throw dump->written(host->options.dump, fault);
  } catch (const RuntimeError& error) {
    rethrow_launch_error(error, site, arguments);
  }
}

}  // namespace

void rethrow_launch_error(const RuntimeError& error, const LaunchSite& site, std::span<const uint8_t> arguments) {
  check_not_forked();
  const Geometry& geometry = site.geometry;
  const std::string message =
      text(kernel_text(site.kernel.name()), " on ", site.function.place.text(), ": ", error.what(), "; grid ",
           dims_text(geometry.grid), ", block ", dims_text(geometry.block), ", shared_memory ", geometry.shared_memory,
           ", arguments ", arguments_text(site.kernel, arguments));
  rethrow_with_advice(error, message, During::Launch);
}

void enqueue_observed(const LaunchSite& site, std::span<const uint8_t> arguments, HostLaunch* host) {
  const bool hooked = has_hooks();
  if (!hooked && host == nullptr) return call_driver(site, arguments, nullptr);
  const InsideLaunch inside;
  if (hooked) call_enter_hooks({site, arguments});
  call_driver(site, arguments, host);
  if (hooked) call_exit_hooks({site, arguments});
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
