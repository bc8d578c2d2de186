#include "launch/place.h"

#include <atomic>

#include "base/dynamic_library.h"
#include "base/environment.h"
#include "base/error.h"

namespace wave {

namespace {

DriverKind gpu_driver_of(DriverKind kind) {
  if (kind == DriverKind::Emulator) throw ValueError("the emulator is no driver for GPU tensors: choose hip or cuda");
  return kind;
}

const Variable& kGpuDriver = at_load("WAVE_RUNTIME_DRIVER");
const Variable& kHostDriver = at_load("WAVE_RUNTIME_CPU_DRIVER");

DriverKind initial_gpu_driver() {
  const size_t of_torch = DynamicLibrary::loaded("libc10_hip.so").empty() ? 1 : 0;
  const size_t wanted = kGpuDriver.choice({"hip", "cuda"}, of_torch);
  return wanted == 0 ? DriverKind::Hip : DriverKind::Cuda;
}

DriverKind initial_host_driver() {
  const size_t wanted = kHostDriver.choice({"emulator", "hip"}, 0);
  return wanted == 0 ? DriverKind::Emulator : DriverKind::Hip;
}

/// A driver that was chosen, or else what the environment says at the first question.
class Choice {
 public:
  using Initial = DriverKind (*)();
  explicit constexpr Choice(Initial initial) : initial_(initial) {}

  DriverKind get() {
    const int kind = kind_.load(std::memory_order_relaxed);
    return kind != kNone ? static_cast<DriverKind>(kind) : choose();
  }
  void set(DriverKind kind) { kind_.store(static_cast<int>(kind)); }

 private:
  static constexpr int kNone = -1;

  DriverKind choose() {
    int kind = kNone;
    const int wanted = static_cast<int>(initial_());
    return static_cast<DriverKind>(kind_.compare_exchange_strong(kind, wanted) ? wanted : kind);
  }

  const Initial initial_;
  std::atomic<int> kind_{kNone};
};

constinit Choice gpu(initial_gpu_driver), host(initial_host_driver);

/// What current_gpu_place() asks; nullptr: nothing.
struct Asked {
  std::atomic<const Driver*> driver{nullptr};
  std::atomic<DriverKind> kind{};
};
constinit Asked asked;

}  // namespace

Driver& Place::driver() const {
  switch (kind) {
    case DriverKind::Hip:
      return hip_driver();
    case DriverKind::Cuda:
      return cuda_driver();
    default:
      return emulator_driver();
  }
}

bool Place::in_host_memory() const { return kind == host_driver(); }

std::string Place::text() const {
  return kind == DriverKind::Emulator ? "cpu" : in_host_memory() ? "cpu (hip)" : wave::text("cuda:", device);
}

DriverKind gpu_driver() { return gpu.get(); }
DriverKind host_driver() { return host.get(); }
void set_gpu_driver(DriverKind kind) {
  gpu.set(gpu_driver_of(kind));
  asked.driver.store(nullptr);
}
void set_host_driver(DriverKind kind) { host.set(kind); }

[[gnu::aligned(64)]] std::optional<Place> current_gpu_place() {
  const Driver* const driver = asked.driver.load(std::memory_order_acquire);
  if (driver == nullptr) return std::nullopt;
  const int device = driver->current_device();
  if (device < 0) return std::nullopt;
  return Place{asked.kind.load(std::memory_order_relaxed), device};
}

void expect_current_gpu() {
  const DriverKind kind = gpu_driver();
  const Driver& driver = Place{kind, 0}.driver();
  if (asked.driver.load(std::memory_order_relaxed) == &driver) return;
  asked.kind.store(kind, std::memory_order_relaxed);
  asked.driver.store(&driver, std::memory_order_release);
}

DriverKind parse_driver(std::string_view name) {
  if (name == "emulator") return DriverKind::Emulator;
  if (name == "hip") return DriverKind::Hip;
  if (name == "cuda") return DriverKind::Cuda;
  throw ValueError(text("no driver '", name, "': there are emulator, hip and cuda"));
}

}  // namespace wave
