// Random numbers for kernels. All of an emulated device's come from the CPU's generator: each launch that asks for
// numbers is given a key of Philox that was drawn from it.
#pragma once

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/Generator.h>
#include <ATen/cuda/PhiloxCudaState.h>

#include <memory>
#include <mutex>
#include <utility>

namespace at {

struct CUDAGeneratorImpl : public c10::GeneratorImpl {
  explicit CUDAGeneratorImpl(DeviceIndex = -1)
      : GeneratorImpl(Device(device_type(), 0), c10::DispatchKeySet(c10::DispatchKey::CPU)) {}

  // No generator of a program's is one of this kind: the CPU's, which it may have, is refused by that.
  static DeviceType device_type() { return DeviceType::HIP; }

  void set_current_seed(uint64_t seed) override { cpu()->set_current_seed(seed); }
  uint64_t current_seed() const override { return cpu()->current_seed(); }
  uint64_t seed() override { return cpu()->seed(); }
  void set_offset(uint64_t) override {}
  uint64_t get_offset() const override { return 0; }
  void set_state(const c10::TensorImpl& state) override { cpu()->set_state(state); }
  c10::intrusive_ptr<c10::TensorImpl> get_state() const override { return cpu()->get_state(); }
  std::shared_ptr<CUDAGeneratorImpl> clone() const { return std::make_shared<CUDAGeneratorImpl>(); }

  void set_philox_offset_per_thread(uint64_t) {}
  uint64_t philox_offset_per_thread() const { return 0; }
  std::pair<uint64_t, uint64_t> philox_engine_inputs(uint64_t) { return {cpu()->random64(), 0}; }
  PhiloxCudaState philox_cuda_state(uint64_t increment) {
    const auto [key, offset] = philox_engine_inputs(increment);
    return {key, offset};
  }

 private:
  CUDAGeneratorImpl* clone_impl() const override { return new CUDAGeneratorImpl(); }

  // The CPU's generator, which is locked as long as the expression that asks for it.
  struct Locked {
    CPUGeneratorImpl* generator = detail::getDefaultCPUGenerator().get<CPUGeneratorImpl>();
    std::lock_guard<std::mutex> lock{generator->mutex_};
    CPUGeneratorImpl* operator->() const { return generator; }
  };
  static Locked cpu() { return {}; }
};

namespace cuda::detail {

inline const Generator& getDefaultCUDAGenerator(DeviceIndex = -1) {
  static const Generator generator = make_generator<CUDAGeneratorImpl>();
  return generator;
}

inline Generator createCUDAGenerator(DeviceIndex = -1) { return make_generator<CUDAGeneratorImpl>(); }

}  // namespace cuda::detail
}  // namespace at
