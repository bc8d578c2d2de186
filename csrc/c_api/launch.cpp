// Devices and launches of wave_runtime.h.

#include <cstring>
#include <set>

#include "base/fork_safe.h"
#include "base/host_threads.h"
#include "c_api/module.h"
#include "c_api/status.h"
#include "launch/submit.h"

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

/// Throws ValueError for bytes at NULL, which `what` names.
template <class Text>
void check_bytes(const void* begin, size_t bytes, const Text& what) {
  if (begin != nullptr || bytes == 0) return;
  throw ValueError(text(what(), ": ", bytes, " bytes at NULL: a null pointer has 0 bytes"));
}

MemoryRange range_of(const void* begin, size_t bytes, bool is_writable, std::string name) {
  return {AddressSpan(reinterpret_cast<uint64_t>(begin), bytes), is_writable, std::move(name)};
}

/// One launch as the caller describes it, for submit().
class DescribedLaunch {
 public:
  DescribedLaunch(const wave_kernel* given, const wave_launch_options* options)
      : kernel(required(given, "kernel").kernel), packer(kernel) {
    check_struct_size(required(options, "options").size, offsetof(wave_launch_options, block), "options");
    std::memcpy(&given_, options, std::min(options->size, sizeof given_));
    if (given_.device.driver == WAVE_EMULATOR) options_of_emulator_ = EmulatorOptions::from_environment();
    this->options = launch_options(given_);
    if (given_.memory_count != 0) required(given_.memory, "options->memory");
    for (size_t i = 0; i < given_.memory_count; ++i) {
      const wave_range& range = given_.memory[i];
      check_bytes(range.begin, range.bytes,
                  [&] { return text(kernel_text(kernel.name()), ": options->memory[", i, "]"); });
      allow(range_of(range.begin, range.bytes, true, text("memory[", i, "]")));
    }
  }

  const Kernel& kernel;
  LaunchOptions options;
  ArgumentPacker packer;

  void read(const wave_argument* arguments, size_t count) {
    if (count != kernel.signature().parameters.size()) {
      refuse_parameter_count(kernel, static_cast<int64_t>(count));
    }
    if (count != 0) required(arguments, "arguments");
    for (size_t index = 0; index < count; ++index) read(index, arguments[index]);
  }

  void read(const void* packed, size_t bytes) {
    check_argument_bytes(kernel, bytes);
    if (bytes != 0) packer.raw(0, &required(static_cast<const uint8_t*>(packed), "arguments"), bytes);
  }

  // What submit() asks for. Addresses come packed, and nobody differentiates.
  void check() const {}
  Place place() const { return place_of(given_.device); }
  void* stream() const { return given_.stream; }
  void tell_autograd() const {}
  void pack(ArgumentPacker&) const {}
  void enqueue(const LaunchSite& site, std::span<const uint8_t> arguments) {
    if (given_.device.driver != WAVE_EMULATOR) return wave::enqueue(site, arguments, nullptr);
    LaunchReport report;
    HostLaunch host{{std::move(memory_), {}}, host_threads(), false, nullptr, options_of_emulator_, report};
    wave::enqueue(site, arguments, &host);
  }

 private:
  void read(size_t index, const wave_argument& argument) {
    const Parameter& parameter = kernel.signature().parameters[index];
    if (argument.kind == WAVE_ARGUMENT_POINTER || argument.kind == WAVE_ARGUMENT_BYTES) {
      check_bytes(argument.value.pointer, argument.bytes, [&] { return kernel.argument_text(index); });
    }
    switch (argument.kind) {
      case WAVE_ARGUMENT_POINTER:
        return read_pointer(index, parameter, argument);
      case WAVE_ARGUMENT_INTEGER:
        if (parameter.is_float()) return packer.floating(index, static_cast<double>(argument.value.integer));
        return packer.integer(index, argument.value.integer);
      case WAVE_ARGUMENT_UNSIGNED:
        if (parameter.is_float()) return packer.floating(index, static_cast<double>(argument.value.unsigned_integer));
        return packer.large_integer(index, argument.value.unsigned_integer);
      case WAVE_ARGUMENT_FLOAT:
        return packer.floating(index, argument.value.number);
      case WAVE_ARGUMENT_BYTES:
        return packer.bytes(index, {static_cast<const uint8_t*>(argument.value.pointer), argument.bytes});
    }
    throw ValueError(text(kernel.argument_text(index), ": no kind of argument: ", static_cast<int>(argument.kind)));
  }

  void read_pointer(size_t index, const Parameter& parameter, const wave_argument& argument) {
    if (!parameter.is_pointer && !parameter.may_be_pointer) {
      throw TypeError(text(kernel.argument_text(index), ": expected ", parameter.type_text(), ", given a pointer"));
    }
    packer.pointer(parameter.offset, argument.value.pointer);
    if (argument.bytes == 0) return;
    allow(range_of(argument.value.pointer, argument.bytes, !parameter.is_const, kernel.parameter_text(index)));
  }

  /// Lets the kernel touch memory on the emulator. Throws ValueError where it ends past the last address.
  void allow(MemoryRange range) {
    if (given_.device.driver == WAVE_EMULATOR && !range.bytes.is_addressable()) {
      throw ValueError(text(kernel_text(kernel.name()), ", ", range.name.text(), ": ", range.bytes.size(), " bytes at ",
                            hex(range.bytes.begin()), " end past the last address"));
    }
    memory_.push_back(std::move(range));
  }

  wave_launch_options given_{};
  EmulatorOptions options_of_emulator_;
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
    DescribedLaunch call(kernel, options);
    call.read(arguments, count);
    wave::submit(call);
  });
}

wave_status wave_check(const wave_kernel* kernel, const wave_launch_options* options, const wave_argument* arguments,
                       size_t count) {
  return guarded([&] {
    DescribedLaunch call(kernel, options);
    call.read(arguments, count);
    wave::prepare(call);
  });
}

wave_status wave_launch_packed(const wave_kernel* kernel, const wave_launch_options* options, const void* arguments,
                               size_t bytes) {
  return guarded([&] {
    DescribedLaunch call(kernel, options);
    call.read(arguments, bytes);
    wave::submit(call);
  });
}

wave_status wave_kernel_preload(const wave_kernel* kernel, wave_device device) {
  return guarded([&] { const wave::FunctionUse load(required(kernel, "kernel").kernel, place_of(device)); });
}
