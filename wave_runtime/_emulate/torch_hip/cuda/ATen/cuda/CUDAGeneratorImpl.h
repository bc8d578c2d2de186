// Random numbers for kernels. All of an emulated device's come from the CPU's generator: each launch that asks for
// numbers is given a key of Philox that was drawn from it, or from the one that the program hands over.
#pragma once

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/Generator.h>
#include <ATen/cuda/PhiloxCudaState.h>

#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

namespace at {

struct CUDAGeneratorImpl : public c10::GeneratorImpl {
  using Source = c10::weak_intrusive_ptr<c10::GeneratorImpl>;

  // It draws from the CPU's own one, or from another of the CPU's.
  explicit CUDAGeneratorImpl(DeviceIndex = -1, std::optional<Source> source = std::nullopt)
      : GeneratorImpl(Device(device_type(), 0), c10::DispatchKeySet(c10::DispatchKey::CPU)),
        source_(std::move(source)) {}

  // No generator of a program's is one of this kind: that tells them apart.
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
    c10::intrusive_ptr<c10::GeneratorImpl> held;
    CPUGeneratorImpl* generator = static_cast<CPUGeneratorImpl*>(held.get());
    std::lock_guard<std::mutex> lock{generator->mutex_};
    CPUGeneratorImpl* operator->() const { return generator; }
  };
  Locked cpu() const {
    return {source_.has_value() ? source_->lock() : at::detail::getDefaultCPUGenerator().getIntrusivePtr()};
  }

  std::optional<Source> source_;
};

namespace cuda::detail {

inline const Generator& getDefaultCUDAGenerator(DeviceIndex = -1) {
  static const Generator generator = make_generator<CUDAGeneratorImpl>();
  return generator;
}

// What draws from a generator of the program's, as long as that is there.
inline CUDAGeneratorImpl* generator_over(const Generator& source) {
  static std::mutex mutex;
  static auto& known = *new std::map<c10::GeneratorImpl*, std::pair<CUDAGeneratorImpl::Source, Generator>>;
  const std::lock_guard<std::mutex> lock(mutex);
  for (auto each = known.begin(); each != known.end();) {
    each = each->second.first.expired() ? known.erase(each) : std::next(each);
  }
  const CUDAGeneratorImpl::Source weak(source.getIntrusivePtr());
  const auto [found, is_new] = known.try_emplace(source.unsafeGetGeneratorImpl(), weak, Generator());
  if (is_new) found->second.second = make_generator<CUDAGeneratorImpl>(DeviceIndex(-1), weak);
  return found->second.second.get<CUDAGeneratorImpl>();
}

inline Generator createCUDAGenerator(DeviceIndex = -1) { return make_generator<CUDAGeneratorImpl>(); }

}  // namespace cuda::detail

template <>
inline CUDAGeneratorImpl* check_generator<CUDAGeneratorImpl>(std::optional<Generator> generator) {
  TORCH_CHECK(generator.has_value() && generator->defined(),
              "a generator was expected, and none, or an undefined one, given");
  const bool is_ours = generator->device().type() == CUDAGeneratorImpl::device_type();
  return is_ours ? generator->get<CUDAGeneratorImpl>() : cuda::detail::generator_over(*generator);
}

}  // namespace at
