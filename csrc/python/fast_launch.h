// A launch at the least cost: arguments are taken one after the other, in place.
//
// What costs here is not instructions but cache lines, of code and of data: the driver's launch goes over more than the
// first-level caches hold. So everything is inline, over Kernel::compact_parameters and one buffer on the stack.
#pragma once

#include <torch/csrc/autograd/python_variable.h>

#include <bit>
#include <cstring>

#include "op/call.h"
#include "python/launch_arguments.h"

namespace wave {

/// An int in the range of 64 bits, and nothing that only behaves like one.
inline bool read_exact_integer(PyObject* object, int64_t& value) {
  if (!PyLong_CheckExact(object)) return false;
  int overflow = 0;
  value = PyLong_AsLongLongAndOverflow(object, &overflow);
  return overflow == 0;
}

/// Takes what is as usual: a kernel that is loaded and whose writes are known, dense contiguous GPU tensors, exact
/// Python ints and floats in range, a geometry within the limits. Every function returns false for anything else, wrong
/// arguments included, and then the object must not be used again: a general call takes it or words the error. Borrows
/// the tensors. The thread must be plain (launch_arguments.h).
class FastLaunch {
 public:
  explicit FastLaunch(const Kernel& kernel) : kernel_(kernel), bytes_(kernel.argument_bytes()) {}

  Extents grid{1, 1, 1}, block{1, 1, 1};
  int64_t shared_memory = 0;

  bool begin() {
    if (bytes_ > kMaxBytes || !kernel_.signature().mutability_known) return false;
    std::memset(packed_, 0, kFewBytes);  // inline
    if (bytes_ > kFewBytes) std::memset(packed_ + kFewBytes, 0, bytes_ - kFewBytes);
    return true;
  }

  bool add(const CompactParameter& parameter, PyObject* argument) {
    return parameter.is_pointer ? add_tensor(parameter, argument) : add_number(parameter, argument);
  }

  bool add_tensor(const CompactParameter& parameter, PyObject* argument) {
    return THPVariable_CheckExact(argument) && add_tensor(parameter, THPVariable_Unpack(argument));
  }

  bool add_tensor(const CompactParameter& parameter, const at::Tensor& tensor) {
    if (count_ == kMaxTensors) return false;
    c10::TensorImpl* impl = tensor.unsafeGetTensorImpl();
    if (!has_plain_gpu_keys(impl) && !has_host_driver_keys(impl)) return false;
    if (!takes(parameter.type, tensor.scalar_type())) return false;
    if (kernel_.strides() == StridePolicy::Contiguous && !impl->is_contiguous()) return false;
    if (count_ != 0 && impl->device() != tensors_[0]->device()) return false;
    written_ |= uint32_t{parameter.is_written} << count_;
    tensors_[count_++] = impl;
    point_to(parameter, impl);
    return true;
  }

  /// A tensor that nobody else has, of a dtype that fits: autograd need not hear of it.
  void add_result(const CompactParameter& parameter, const at::Tensor& tensor) {
    point_to(parameter, tensor.unsafeGetTensorImpl());
  }

  bool add_number(const CompactParameter& parameter, PyObject* argument) {
    if (PyFloat_CheckExact(argument)) return add_real(parameter, PyFloat_AS_DOUBLE(argument));
    int64_t value = 0;
    return read_exact_integer(argument, value) && add_integer(parameter, value);
  }

  bool add_real(const CompactParameter& parameter, double value) {
    if (parameter.type == Type::F32) return store(parameter, std::bit_cast<uint32_t>(static_cast<float>(value)));
    return parameter.type == Type::F64 && store(parameter, std::bit_cast<uint64_t>(value));
  }

  bool add_integer(const CompactParameter& parameter, int64_t value) {
    if (parameter.type > Type::U64) return false;
    // What is cut off must be copies of the sign, or zeros where there is none. (u64 beyond 2^63 does not come here.)
    const bool is_signed = parameter.type <= Type::I64;
    const int bits = 8 * parameter.size;
    const int64_t rest = bits == 64 ? value >> 63 : value >> (is_signed ? bits - 1 : bits);
    return (rest == 0 || (is_signed && rest == -1)) && store(parameter, static_cast<uint64_t>(value));
  }

  bool has_tensors() const { return count_ != 0; }
  c10::Device device() const { return tensors_[0]->device(); }

  bool written_share_storage() const {
    for (uint32_t left = written_; left != 0; left &= left - 1) {
      const int written = std::countr_zero(left);
      const AddressSpan bytes = storage_bytes(tensors_[written]);
      for (int i = 0; i < count_; ++i) {
        if (i != written && storage_bytes(tensors_[i]).overlaps(bytes)) return true;
      }
    }
    return false;
  }

  /// Throws where the launch fails.
  bool launch() {
    const c10::Device device = this->device();
    const Place place = device.is_cuda() ? Place{gpu_driver(), device.index()} : Place{host_driver(), 0};
    if (place.device >= Driver::kMaxDevices || !is_loaded(kernel_, place)) return false;
    const FunctionUse function(kernel_, place);
    if (!fits(function->limits, grid, block, shared_memory)) return false;
    tell_autograd();
    const Geometry geometry{narrowed(grid), narrowed(block), static_cast<uint32_t>(shared_memory), {}};
    const LaunchSite site{kernel_, *function, geometry, current_stream(device)};
    const GilRelease release;
    enqueue(site, {packed_, bytes_}, nullptr);
    return true;
  }

 private:
  /// CPU tensors of a driver that is not the emulator, which wants to know what a kernel may touch.
  [[gnu::noinline, gnu::cold]] static bool has_host_driver_keys(const c10::TensorImpl* impl) {
    return host_driver() != DriverKind::Emulator && has_plain_cpu_keys(impl);
  }

  void point_to(const CompactParameter& parameter, const c10::TensorImpl* impl) {
    const void* const data = data_of(impl, parameter.is_written);
    std::memcpy(packed_ + parameter.offset, &data, sizeof data);
  }

  bool store(const CompactParameter& parameter, uint64_t value) {
    std::memcpy(packed_ + parameter.offset, &value, parameter.size);
    return true;
  }

  void tell_autograd() const {
    for (int i = 0; i < count_; ++i) {
      if (tensors_[i]->autograd_meta() != nullptr) {
        check_differentiable(kernel_, at::Tensor(c10::intrusive_ptr<c10::TensorImpl>::reclaim_copy(tensors_[i])));
      }
    }
    for (uint32_t left = written_; left != 0; left &= left - 1) tensors_[std::countr_zero(left)]->bump_version();
  }

  static constexpr size_t kMaxBytes = 512, kFewBytes = 64;
  static constexpr int kMaxTensors = 32;

  const Kernel& kernel_;
  const size_t bytes_;
  int count_ = 0;
  uint32_t written_ = 0;  ///< a bit for each of `tensors_`
  c10::TensorImpl* tensors_[kMaxTensors];
  alignas(16) uint8_t packed_[kMaxBytes];
};

}  // namespace wave
