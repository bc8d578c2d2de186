// Torch's functions for GPUs in C++, which libtorch_cpu refuses.
#pragma once

#include <ATen/CPUGeneratorImpl.h>
#include <c10/core/Device.h>

#include <cstdint>
#include <mutex>

namespace wave_torch_hip {

c10::DeviceIndex device_count();
void synchronize();

}  // namespace wave_torch_hip

namespace torch::cuda {

inline c10::DeviceIndex device_count() { return wave_torch_hip::device_count(); }
inline bool is_available() { return device_count() > 0; }
inline bool cudnn_is_available() { return false; }
inline void manual_seed(uint64_t seed) {
  at::Generator generator = at::detail::getDefaultCPUGenerator();
  const std::lock_guard<std::mutex> lock(generator.mutex());
  generator.set_current_seed(seed);
}
inline void manual_seed_all(uint64_t seed) { manual_seed(seed); }
inline void synchronize(int64_t = -1) { wave_torch_hip::synchronize(); }

}  // namespace torch::cuda
