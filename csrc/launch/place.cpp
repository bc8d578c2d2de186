#include "launch/place.h"

#include <atomic>
#include <cstdlib>

#include "base/dynamic_library.h"
#include "base/error.h"

namespace wave {

namespace {

DriverKind gpu_driver_of(DriverKind kind) {
  if (kind == DriverKind::Emulator) throw ValueError("the emulator is no driver for GPU tensors: choose hip or cuda");
  return kind;
}

DriverKind initial_gpu_driver() {
  if (const char* name = std::getenv("WAVE_RUNTIME_DRIVER")) return gpu_driver_of(parse_driver(name));
  return DynamicLibrary::loaded("libc10_hip.so").empty() ? DriverKind::Cuda : DriverKind::Hip;
}

DriverKind initial_host_driver() {
  const char* name = std::getenv("WAVE_RUNTIME_CPU_DRIVER");
  return name == nullptr ? DriverKind::Emulator : parse_driver(name);
}

std::atomic<DriverKind>& gpu() {
  static std::atomic<DriverKind> kind{initial_gpu_driver()};
  return kind;
}

std::atomic<DriverKind>& host() {
  static std::atomic<DriverKind> kind{initial_host_driver()};
  return kind;
}

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

DriverKind gpu_driver() { return gpu().load(std::memory_order_relaxed); }
DriverKind host_driver() { return host().load(std::memory_order_relaxed); }
void set_gpu_driver(DriverKind kind) { gpu().store(gpu_driver_of(kind)); }
void set_host_driver(DriverKind kind) { host().store(kind); }

DriverKind parse_driver(std::string_view name) {
  if (name == "emulator") return DriverKind::Emulator;
  if (name == "hip") return DriverKind::Hip;
  if (name == "cuda") return DriverKind::Cuda;
  throw ValueError(text("no driver '", name, "': there are emulator, hip and cuda"));
}

}  // namespace wave
