#include "op/device.h"

#include <c10/core/Stream.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <array>
#include <atomic>

#include "base/dynamic_library.h"
#include "base/error.h"

namespace wave {

namespace {

using c10::impl::DeviceGuardImplInterface;

constexpr c10::StreamId kDefaultStream = 0;  // of every backend (c10/core/Stream.h), the legacy stream of CUDA and HIP

template <class Interface>
concept GivesHandles = requires(const Interface& guard, c10::Stream stream) { guard.getStreamNativeHandle(stream); };

/// Torch 2.10 has no call for this in c10; its libraries for GPUs have one for compiled code.
void* handle_from_torch_cuda(c10::Device device) {
  using Get = int32_t(int32_t, void**);
  static Get* const get = [] {
    const std::string names[] = {"libtorch_cuda.so", "libtorch_hip.so"};
    static const DynamicLibrary library = DynamicLibrary::open(names);
    return library.function<Get>("aoti_torch_get_current_cuda_stream");
  }();
  void* stream = nullptr;
  if (get(device.index(), &stream) != 0) throw RuntimeError(text("torch has no current stream for ", device.str()));
  return stream;
}

template <class Interface>
void* handle_of_current_stream(const Interface& guard, c10::Device device) {
  if constexpr (GivesHandles<Interface>) {
    const c10::Stream stream = guard.getStream(device);
    return stream.id() == kDefaultStream ? nullptr : guard.getStreamNativeHandle(stream);
  } else {
    return handle_from_torch_cuda(device);
  }
}

bool has_device(DriverKind kind) {
  enum Answer : uint8_t { Unknown, No, Yes };
  static std::array<std::atomic<Answer>, kDriverKinds> known{};
  std::atomic<Answer>& answer = known[static_cast<size_t>(kind)];
  if (answer == Unknown) {
    try {
      answer = Place{kind, 0}.driver().device_count() > 0 ? Yes : No;
    } catch (const RuntimeError&) {
      answer = No;
    }
  }
  return answer == Yes;
}

}  // namespace

std::optional<c10::Device> current_gpu() {
  using namespace c10::impl;
  if (!hasDeviceGuardImpl(c10::DeviceType::CUDA)) return std::nullopt;
  const DeviceGuardImplInterface* const guard = getDeviceGuardImpl(c10::DeviceType::CUDA);
  static std::atomic<const DeviceGuardImplInterface*> known_to_have{nullptr};  // devices, which do not go
  if (known_to_have.load(std::memory_order_relaxed) != guard) {
    if (guard->deviceCount() == 0) return std::nullopt;
    known_to_have.store(guard, std::memory_order_relaxed);
  }
  if (!has_device(gpu_driver())) return std::nullopt;
  expect_current_gpu();
  return guard->getDevice();
}

Place place_of(c10::Device device) {
  if (device.is_cuda()) {
    if (device.index() < Driver::kMaxDevices) return {gpu_driver(), device.index()};
    throw ValueError(text(device.str(), ": kernels run on the first ", Driver::kMaxDevices, " GPUs of a process"));
  }
  if (device.is_cpu()) return {host_driver(), 0};
  throw ValueError(text("kernels run on CPU and CUDA (ROCm) tensors, not on ", device.str()));
}

void* current_stream(c10::Device device) {
  if (!device.is_cuda()) return nullptr;
  static const DeviceGuardImplInterface* const guard = c10::impl::getDeviceGuardImpl(c10::DeviceType::CUDA);
  return handle_of_current_stream(*guard, device);
}

}  // namespace wave
