// HIP as a driver: its devices.
#include <algorithm>
#include <atomic>
#include <cstring>

#include "base/fork_safe.h"
#include "driver/driver.h"
#include "driver/fork.h"
#include "driver/hip/hip_api.h"
#include "driver/hip/hip_device.h"
#include "driver/hip/hip_module.h"

namespace wave::hip {

namespace {

constexpr uint32_t kMaxClusterSize = 16;

/// Processors with clusters: gfx1250, and NVIDIA's behind a HIP library over CUDA.
bool has_clusters(const Target& target) {
  return target.processor.starts_with("gfx125") || target.processor.starts_with("sm_9") ||
         target.processor.starts_with("sm_1");
}

class HipDriver : public Driver {
 public:
  const char* name() const override { return "hip"; }

  std::string describe() override {
    int version = 0;
    api().check(api().hipRuntimeGetVersion(&version), "hipRuntimeGetVersion");
    return text(api().library.path(), ", HIP ", version / 10'000'000, ".", version / 100'000 % 100, ".",
                version % 100'000);
  }

  int device_count() override {
    check_not_forked();
    int count = 0;
    api().check(api().hipGetDeviceCount(&count), "hipGetDeviceCount");
    return std::min(count, kMaxDevices);
  }

  const DeviceInfo& device(int index) override {
    if (index < 0 || index >= device_count()) {
      throw RuntimeError(text("there is no HIP device ", index, ": the runtime has ", device_count()));
    }
    std::lock_guard lock(mutex_);
    std::unique_ptr<const DeviceInfo>& known = devices_[index];
    if (known == nullptr) {
      known = std::make_unique<const DeviceInfo>(look_at(index));
      get_device_.store(api().hipGetDevice, std::memory_order_release);
    }
    return *known;
  }

  int current_device() const override {
    Device device = 0;
    const auto get_device = get_device_.load(std::memory_order_acquire);
    if (get_device == nullptr || get_device(&device) != kSuccess || device >= kMaxDevices) return -1;
    return device;
  }

  std::unique_ptr<LoadedModule> load(std::shared_ptr<const CodeObject> code, int device) override {
    return std::make_unique<HipModule>(api(), device, std::move(code));
  }

  bool is_capturing(void* stream) override {
    CaptureStatus status = kCaptureNone;
    api().check(api().hipStreamIsCapturing(static_cast<Stream>(stream), &status), "hipStreamIsCapturing");
    return status != kCaptureNone;
  }

  std::optional<int> device_of(const void* address) override {
    int device = 0;
    const Error error =
        api().hipPointerGetAttribute(&device, kPointerDeviceOrdinal, const_cast<DevicePointer>(address));
    if (error == kErrorInvalidValue) return std::nullopt;
    api().check(error, "hipPointerGetAttribute");
    return device;
  }

  void synchronize(int device, void* stream) override {
    const DeviceGuard guard(api(), device);
    const bool can_interrupt = api().waveStreamWait != nullptr && api().waveDeviceInterrupt != nullptr;
    const Error error = can_interrupt ? wait(device, static_cast<Stream>(stream))
                                      : api().hipStreamSynchronize(static_cast<Stream>(stream));
    api().check(error, "hipStreamSynchronize");
  }

 private:
  /// Who is interrupted takes back the memory that the kernels write, so they stop.
  static Error wait(int device, Stream stream) {
    constexpr unsigned kMilliseconds = 50;
    for (;;) {
      const Error error = api().waveStreamWait(stream, kMilliseconds);
      if (error != kErrorNotReady) return error;
      try {
        check_interrupt();
      } catch (...) {
        api().waveDeviceInterrupt(device);
        throw;
      }
    }
  }

  static DeviceInfo look_at(int index) {
    watch_forks();
    DeviceInfo info{};
    DeviceProperties properties{};
    size_t arch_offset = DeviceProperties::kArchOffset;
    if (api().hipGetDevicePropertiesR0600 != nullptr) {
      api().check(api().hipGetDevicePropertiesR0600(&properties, index), "hipGetDevicePropertiesR0600");
    } else {
      if (api().hipGetDeviceProperties == nullptr) {
        throw RuntimeError(
            text(api().library.path(), " has neither hipGetDevicePropertiesR0600 nor hipGetDeviceProperties"));
      }
      arch_offset = DeviceProperties::kOldArchOffset;
      api().check(api().hipGetDeviceProperties(&properties, index), "hipGetDeviceProperties");
    }
    const auto string_at = [&](size_t offset) {
      return std::string(properties.bytes + offset, strnlen(properties.bytes + offset, DeviceProperties::kNameSize));
    };
    info.name = string_at(0);
    info.target = Target::parse(string_at(arch_offset));
    const auto attribute = [&](DeviceAttribute attribute) {
      int value = 0;
      api().check(api().hipDeviceGetAttribute(&value, attribute, index), "hipDeviceGetAttribute");
      return static_cast<uint32_t>(value);
    };
    const bool has_attributes = api().hipDrvLaunchKernelEx != nullptr;
    info.max_grid = {attribute(kMaxGridDimX), attribute(kMaxGridDimY), attribute(kMaxGridDimZ)};
    info.max_block = {attribute(kMaxBlockDimX), attribute(kMaxBlockDimY), attribute(kMaxBlockDimZ)};
    info.max_block_size = attribute(kMaxThreadsPerBlock);
    info.shared_memory = attribute(kMaxSharedMemoryPerBlock);
    info.multiprocessors = attribute(kMultiprocessorCount);
    info.cooperative = attribute(kCooperativeLaunch) != 0;
    info.max_cluster = has_attributes && has_clusters(info.target) ? kMaxClusterSize : 1;
    info.programmatic = false;
    info.priority = has_attributes;
    return info;
  }

  std::atomic<decltype(Api::hipGetDevice)> get_device_{nullptr};
  Mutex mutex_;
  std::unique_ptr<const DeviceInfo> devices_[kMaxDevices];
};

}  // namespace

}  // namespace wave::hip

namespace wave {

namespace {
// Never destroyed: launches may come from static destructors.
hip::HipDriver& hip_instance = *new hip::HipDriver();
}  // namespace

Driver& hip_driver() { return hip_instance; }

}  // namespace wave
