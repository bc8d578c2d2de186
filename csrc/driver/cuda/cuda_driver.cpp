// CUDA as a driver: its devices and their primary contexts, which torch uses too.
#include <algorithm>
#include <atomic>

#include "base/fork_safe.h"
#include "driver/cuda/cuda_api.h"
#include "driver/cuda/cuda_context.h"
#include "driver/cuda/cuda_module.h"
#include "driver/driver.h"
#include "driver/fork.h"

namespace wave::cuda {

namespace {

constexpr uint32_t kMaxClusterSize = 16;

class alignas(64) CudaDriver : public Driver {
 public:
  const char* name() const override { return "cuda"; }

  std::string describe() override {
    int version = 0;
    api().check(api().cuDriverGetVersion(&version), "cuDriverGetVersion");
    return text(api().library.path(), ", CUDA ", version / 1000, ".", version % 1000 / 10);
  }

  int device_count() override {
    check_not_forked();
    int count = 0;
    api().check(api().cuDeviceGetCount(&count), "cuDeviceGetCount");
    return std::min(count, kMaxDevices);
  }

  const DeviceInfo& device(int index) override { return known(index).info; }

  [[gnu::aligned(64)]] int current_device() const override {
    Context current = nullptr;
    const auto get_current = get_current_.load(std::memory_order_acquire);
    if (get_current == nullptr || get_current(&current) != kSuccess || current == nullptr) return -1;
    for (int device = 0; device < kMaxDevices; ++device) {
      if (contexts_[device].load(std::memory_order_relaxed) == current) return device;
    }
    return -1;
  }

  std::unique_ptr<LoadedModule> load(std::shared_ptr<const CodeObject> code, int device) override {
    return std::make_unique<CudaModule>(api(), known(device).context, *code);
  }

  bool is_capturing(void* stream) override {
    CaptureStatus status = kCaptureNone;
    api().check(api().cuStreamIsCapturing(static_cast<Stream>(stream), &status), "cuStreamIsCapturing");
    return status != kCaptureNone;
  }

  std::optional<int> device_of(const void* address) override {
    int device = 0;
    const auto ask = [&] {
      return api().cuPointerGetAttribute(&device, kPointerDeviceOrdinal, reinterpret_cast<DevicePointer>(address));
    };
    Error error = ask();
    if (error == kErrorInvalidContext) {  // a new thread
      const ContextGuard guard(api(), known(0).context);
      error = ask();
    }
    if (error == kErrorInvalidValue) return std::nullopt;
    api().check(error, "cuPointerGetAttribute");
    return device;
  }

  void synchronize(int device, void* stream) override {
    const ContextGuard guard(api(), known(device).context);
    api().check(api().cuStreamSynchronize(static_cast<Stream>(stream)), "cuStreamSynchronize");
  }

 private:
  struct Known {
    DeviceInfo info;
    Context context;
  };

  const Known& known(int index) {
    if (index < 0 || index >= device_count()) {
      throw RuntimeError(text("there is no CUDA device ", index, ": the driver has ", device_count()));
    }
    std::lock_guard lock(mutex_);
    std::unique_ptr<const Known>& known = devices_[index];
    if (known == nullptr) {
      known = std::make_unique<const Known>(look_at(index));
      contexts_[index].store(known->context, std::memory_order_relaxed);
      get_current_.store(api().cuCtxGetCurrent, std::memory_order_release);
    }
    return *known;
  }

  static Known look_at(int index) {
    watch_forks();
    Device device = 0;
    Known known{};
    char name[256] = "";
    api().check(api().cuDeviceGet(&device, index), "cuDeviceGet");
    api().check(api().cuDeviceGetName(name, sizeof name, device), "cuDeviceGetName");
    // Held until the process ends, as torch holds it.
    api().check(api().cuDevicePrimaryCtxRetain(&known.context, device), "cuDevicePrimaryCtxRetain");
    const auto attribute = [&](DeviceAttribute attribute) {
      int value = 0;
      api().check(api().cuDeviceGetAttribute(&value, attribute, device), "cuDeviceGetAttribute");
      return static_cast<uint32_t>(value);
    };
    const bool has_attributes = api().cuLaunchKernelEx != nullptr;
    const uint32_t major = attribute(kComputeCapabilityMajor);
    DeviceInfo& info = known.info;
    info.name = name;
    info.target.processor = text("sm_", major, attribute(kComputeCapabilityMinor));
    info.max_grid = {attribute(kMaxGridDimX), attribute(kMaxGridDimY), attribute(kMaxGridDimZ)};
    info.max_block = {attribute(kMaxBlockDimX), attribute(kMaxBlockDimY), attribute(kMaxBlockDimZ)};
    info.max_block_size = attribute(kMaxThreadsPerBlock);
    info.shared_memory = attribute(kMaxSharedMemoryPerBlockOptin);
    info.multiprocessors = attribute(kMultiprocessorCount);
    info.cooperative = has_attributes && attribute(kCooperativeLaunch) != 0;
    info.max_cluster = has_attributes && major >= 9 && attribute(kClusterLaunch) != 0 ? kMaxClusterSize : 1;
    info.programmatic = has_attributes && major >= 9;
    info.priority = has_attributes;
    return known;
  }

  std::atomic<decltype(Api::cuCtxGetCurrent)> get_current_{nullptr};
  std::atomic<Context> contexts_[kMaxDevices] = {};  ///< of the devices that are known
  Mutex mutex_;
  std::unique_ptr<const Known> devices_[kMaxDevices];
};

}  // namespace

}  // namespace wave::cuda

namespace wave {

namespace {
// Never destroyed: launches may come from static destructors.
cuda::CudaDriver& cuda_instance = *new cuda::CudaDriver();
}  // namespace

Driver& cuda_driver() { return cuda_instance; }

}  // namespace wave
