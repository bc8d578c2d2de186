// Where launches run: a driver and one of its devices.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "driver/driver.h"

namespace wave {

enum class DriverKind : uint8_t { Emulator, Hip, Cuda };
inline constexpr int kDriverKinds = 3;

struct Place {
  DriverKind kind;
  int device;  ///< counts the driver's devices from 0

  bool operator==(const Place&) const = default;
  Driver& driver() const;
  /// Whether it is where kernels on tensors in the host's memory run.
  bool in_host_memory() const;
  /// "cuda:0" as torch names it, "cpu" for the emulator.
  std::string text() const;
};

/// The driver for tensors on GPUs: WAVE_RUNTIME_DRIVER ("hip" or "cuda"), else hip in a process whose torch is built
/// for ROCm, else cuda.
DriverKind gpu_driver();

/// The driver for tensors in the host's memory: the emulator. WAVE_RUNTIME_CPU_DRIVER=hip sends them to a HIP library
/// whose devices can access host memory, as libwave_hip_emulator.so does.
DriverKind host_driver();

/// The GPU that is current on the calling thread, as its driver says, which takes a fraction of what torch takes for
/// the same answer. Nothing where it does not say, or expect_current_gpu() was not called.
std::optional<Place> current_gpu_place();
/// Has current_gpu_place() ask the driver for GPUs: for who has found that launches go to GPUs.
void expect_current_gpu();

/// Overrides either of them, for tests that go through several drivers in one process. Throws ValueError for the
/// emulator on GPUs.
void set_gpu_driver(DriverKind kind);
void set_host_driver(DriverKind kind);

/// "emulator", "hip" or "cuda". Throws ValueError.
DriverKind parse_driver(std::string_view name);

}  // namespace wave
