// Devices and launches of wave_runtime.h.

#include "launch/launch.h"

#include <cstring>
#include <set>

#include "base/fork_safe.h"
#include "base/host_threads.h"
#include "c_api/module.h"
#include "c_api/status.h"
#include "launch/arguments.h"

namespace wave::c_api {

namespace {

DriverKind kind_of(wave_driver driver) {
  switch (driver) {
    case WAVE_EMULATOR:
      return DriverKind::Emulator;
    case WAVE_HIP:
      return DriverKind::Hip;
    case WAVE_CUDA:
      return DriverKind::Cuda;
  }
  throw ValueError(text("no driver ", static_cast<int>(driver), ": there are WAVE_EMULATOR, WAVE_HIP and WAVE_CUDA"));
}

Place place_of(wave_device device) {
  const Place place{kind_of(device.driver), device.index};
  if (device.index >= 0 && device.index < Driver::kMaxDevices) return place;
  throw ValueError(text("device index ", device.index, ": expected 0 to ", Driver::kMaxDevices - 1));
}

struct Texts {
  Mutex mutex;
  std::set<std::string> all;
};
Texts& lasting_texts = *new Texts();

/// A target's text, for as long as the process.
const char* lasting(const std::string& text) {
  const std::lock_guard lock(lasting_texts.mutex);
  return lasting_texts.all.insert(text).first->c_str();
}

wave_device_info info_of(const Place& place) {
  const DeviceInfo& device = place.driver().device(place.device);
  wave_device_info info{};
  info.name = device.name.c_str();
  info.target = lasting(device.target.id());
  info.multiprocessors = device.multiprocessors;
  info.max_block_size = device.max_block_size;
  info.shared_memory = device.shared_memory;
  return info;
}

bool is_zero(const int64_t (&extents)[3]) { return extents[0] == 0 && extents[1] == 0 && extents[2] == 0; }

LaunchOptions launch_options(const wave_launch_options& given) {
  LaunchOptions options;
  options.grid = std::to_array(given.grid);
  if (!is_zero(given.block)) options.block = std::to_array(given.block);
  options.shared_memory = given.shared_memory;
  if (!is_zero(given.cluster)) options.cluster = std::to_array(given.cluster);
  options.cooperative = given.cooperative != 0;
  options.programmatic = given.programmatic != 0;
  if (given.priority != nullptr) options.priority = *given.priority;
  return options;
}

MemoryRange range_of(const void* begin, size_t bytes, bool is_writable, std::string name) {
  return {AddressSpan(reinterpret_cast<uint64_t>(begin), bytes), is_writable, std::move(name)};
}

/// One launch as the caller describes it.
class Request {
 public:
  Request(const wave_kernel* kernel, const wave_launch_options* options)
      : kernel_(required(kernel, "kernel").kernel), packer_(kernel_) {
    check_struct_size(required(options, "options").size, offsetof(wave_launch_options, block), "options");
    std::memcpy(&options_, options, std::min(options->size, sizeof options_));
    if (options_.memory_count != 0) required(options_.memory, "options->memory");
    for (size_t i = 0; i < options_.memory_count; ++i) {
      const wave_range& range = options_.memory[i];
      memory_.push_back(range_of(range.begin, range.bytes, true, text("memory[", i, "]")));
    }
  }

  void read(const wave_argument* arguments, size_t count) {
    const size_t expected = kernel_.signature().parameters.size();
    if (count != expected) {
      throw TypeError(text("kernel '", kernel_.name(), "' takes ", expected, " arguments (", kernel_.signature().text(),
                           "), given ", count));
    }
    if (count != 0) required(arguments, "arguments");
    for (size_t index = 0; index < count; ++index) read(index, arguments[index]);
  }

  void check() {
    run([](const LaunchSite&) {});
  }

  void launch() { launch(packer_.packed()); }

  void launch(std::span<const uint8_t> packed) {
    run([&](const LaunchSite& site) {
      if (options_.device.driver != WAVE_EMULATOR) return wave::launch(site, packed, nullptr);
      HostLaunch host{{std::move(memory_)}, host_threads(), false, nullptr, EmulatorOptions::from_environment(), {}};
      wave::launch(site, packed, &host);
    });
  }

  const Kernel& kernel() const { return kernel_; }

 private:
  void read(size_t index, const wave_argument& argument) {
    const Parameter& parameter = kernel_.signature().parameters[index];
    switch (argument.kind) {
      case WAVE_ARGUMENT_POINTER:
        return read_pointer(index, parameter, argument);
      case WAVE_ARGUMENT_INTEGER:
        if (parameter.is_float()) return packer_.floating(index, static_cast<double>(argument.value.integer));
        return packer_.integer(index, argument.value.integer);
      case WAVE_ARGUMENT_UNSIGNED:
        if (parameter.is_float()) return packer_.floating(index, static_cast<double>(argument.value.unsigned_integer));
        return packer_.large_integer(index, argument.value.unsigned_integer);
      case WAVE_ARGUMENT_FLOAT:
        return packer_.floating(index, argument.value.number);
      case WAVE_ARGUMENT_BYTES:
        return packer_.bytes(index, {static_cast<const uint8_t*>(argument.value.pointer), argument.bytes});
    }
    throw ValueError(text(kernel_.argument_text(index), ": no kind of argument: ", static_cast<int>(argument.kind)));
  }

  void read_pointer(size_t index, const Parameter& parameter, const wave_argument& argument) {
    if (!parameter.is_pointer && !parameter.may_be_pointer) {
      throw TypeError(text(kernel_.argument_text(index), ": expected ", parameter.type_text(), ", given a pointer"));
    }
    packer_.pointer(index, argument.value.pointer);
    if (argument.bytes == 0) return;
    memory_.push_back(
        range_of(argument.value.pointer, argument.bytes, !parameter.is_const, kernel_.parameter_text(index)));
  }

  template <class Use>
  void run(Use use) {
    const FunctionUse function(kernel_, place_of(options_.device));
    const Geometry geometry = check_geometry(*function, launch_options(options_));
    use(LaunchSite{kernel_, *function, geometry, options_.stream});
  }

  const Kernel& kernel_;
  wave_launch_options options_{};
  ArgumentPacker packer_;
  std::vector<MemoryRange> memory_;
};

}  // namespace

}  // namespace wave::c_api

using namespace wave::c_api;

wave_status wave_device_count(wave_driver driver, int32_t* count) {
  return guarded([&] { required(count, "count") = wave::Place{kind_of(driver), 0}.driver().device_count(); });
}

wave_status wave_device_get_info(wave_device device, wave_device_info* info) {
  return guarded([&] { fill(info, info_of(place_of(device)), "info"); });
}

wave_status wave_launch(const wave_kernel* kernel, const wave_launch_options* options, const wave_argument* arguments,
                        size_t count) {
  return guarded([&] {
    Request request(kernel, options);
    request.read(arguments, count);
    request.launch();
  });
}

wave_status wave_check(const wave_kernel* kernel, const wave_launch_options* options, const wave_argument* arguments,
                       size_t count) {
  return guarded([&] {
    Request request(kernel, options);
    request.read(arguments, count);
    request.check();
  });
}

wave_status wave_launch_packed(const wave_kernel* kernel, const wave_launch_options* options, const void* arguments,
                               size_t bytes) {
  return guarded([&] {
    Request request(kernel, options);
    const size_t expected = request.kernel().argument_bytes();
    if (bytes > expected) {
      throw wave::ValueError(
          wave::text("kernel '", request.kernel().name(), "' takes ", expected, " bytes of arguments, given ", bytes));
    }
    if (bytes != 0) required(static_cast<const uint8_t*>(arguments), "arguments");
    std::vector<uint8_t> packed(expected);
    if (bytes != 0) std::memcpy(packed.data(), arguments, bytes);
    request.launch(packed);
  });
}

wave_status wave_kernel_preload(const wave_kernel* kernel, wave_device device) {
  return guarded([&] { const wave::FunctionUse load(required(kernel, "kernel").kernel, place_of(device)); });
}
