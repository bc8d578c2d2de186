#include "python/fast_call.h"

#include <torch/csrc/autograd/python_variable.h>

#include <bit>
#include <cstring>

#include "op/call.h"
#include "python/launch_arguments.h"
#include "python/launch_options.h"

namespace wave {

namespace {

constexpr size_t kMaxBytes = 512, kFewBytes = 64;
constexpr size_t kMaxTensors = 32;

/// The arguments as they are read. Borrows the tensors.
class FastCall {
 public:
  explicit FastCall(const Kernel& kernel) : kernel_(kernel), bytes_(kernel.argument_bytes()) {}

  bool read_arguments(PyObject* const* arguments) {
    if (bytes_ > kMaxBytes || !kernel_.signature().mutability_known) return false;
    std::memset(packed_, 0, kFewBytes);  // inline
    if (bytes_ > kFewBytes) std::memset(packed_ + kFewBytes, 0, bytes_ - kFewBytes);
    for (const CompactParameter& parameter : kernel_.compact_parameters()) {
      PyObject* argument = *arguments++;
      if (!(parameter.is_pointer ? read_tensor(parameter, argument) : read_number(parameter, argument))) return false;
    }
    return count_ != 0 && !written_share_storage();
  }

  bool read_keywords(PyObject* const* values, PyObject* names) {
    const Py_ssize_t count = names == nullptr ? 0 : PyTuple_GET_SIZE(names);
    bool has_grid = false, has_block = false;
    for (Py_ssize_t i = 0; i < count; ++i) {
      PyObject* name = PyTuple_GET_ITEM(names, i);
      if (name == kGridName) {
        has_grid = read_extents(values[i], grid_);
        if (!has_grid) return false;
      } else if (name == kBlockName) {
        has_block = read_extents(values[i], block_);
        if (!has_block) return false;
      } else if (name != kSharedMemoryName || !read_integer(values[i], shared_memory_)) {
        return false;
      }
    }
    if (!has_block && kernel_.block()) {
      for (int axis = 0; axis < 3; ++axis) block_[axis] = (*kernel_.block())[axis];
      has_block = true;
    }
    return has_grid && has_block;
  }

  bool launch() {
    const c10::Device device = tensors_[0]->device();
    const Place place{gpu_driver(), device.index()};
    if (place.device >= Driver::kMaxDevices || !is_loaded(kernel_, place)) return false;
    const FunctionUse function(kernel_, place);
    if (!fits(function->limits, grid_, block_, shared_memory_)) return false;
    tell_autograd();
    const Geometry geometry{narrowed(grid_), narrowed(block_), static_cast<uint32_t>(shared_memory_), {}};
    const LaunchSite site{kernel_, *function, geometry, current_stream(device)};
    const GilRelease release;
    enqueue(site, {packed_, bytes_}, nullptr);
    return true;
  }

 private:
  bool read_tensor(const CompactParameter& parameter, PyObject* argument) {
    if (!THPVariable_CheckExact(argument) || count_ == kMaxTensors) return false;
    const at::Tensor& tensor = THPVariable_Unpack(argument);
    c10::TensorImpl* impl = tensor.unsafeGetTensorImpl();
    if (!has_plain_gpu_keys(impl) || !takes(parameter.type, tensor.scalar_type())) return false;
    if (kernel_.strides() == StridePolicy::Contiguous && !impl->is_contiguous()) return false;
    if (count_ != 0 && impl->device() != tensors_[0]->device()) return false;
    written_ |= uint32_t{parameter.is_written} << count_;
    tensors_[count_++] = impl;
    const void* const data = data_of(impl, parameter.is_written);
    std::memcpy(packed_ + parameter.offset, &data, sizeof data);
    return true;
  }

  bool read_number(const CompactParameter& parameter, PyObject* argument) {
    if (PyFloat_CheckExact(argument)) {
      const double value = PyFloat_AS_DOUBLE(argument);
      if (parameter.type == Type::F32) return store(parameter, std::bit_cast<uint32_t>(static_cast<float>(value)));
      return parameter.type == Type::F64 && store(parameter, std::bit_cast<uint64_t>(value));
    }
    int64_t value = 0;
    if (parameter.type > Type::U64 || !read_integer(argument, value)) return false;
    // What is cut off must be copies of the sign, or zeros where there is none. (u64 beyond 2^63 was refused above.)
    const bool is_signed = parameter.type <= Type::I64;
    const int bits = 8 * parameter.size;
    const int64_t rest = bits == 64 ? value >> 63 : value >> (is_signed ? bits - 1 : bits);
    return (rest == 0 || (is_signed && rest == -1)) && store(parameter, static_cast<uint64_t>(value));
  }

  bool store(const CompactParameter& parameter, uint64_t value) {
    std::memcpy(packed_ + parameter.offset, &value, parameter.size);
    return true;
  }

  static bool read_integer(PyObject* object, int64_t& value) {
    if (!PyLong_CheckExact(object)) return false;
    int overflow = 0;
    value = PyLong_AsLongLongAndOverflow(object, &overflow);
    return overflow == 0;
  }

  static bool read_extents(PyObject* object, Extents& extents) {
    if (!PyTuple_CheckExact(object)) return read_integer(object, extents[0]);
    const Py_ssize_t count = PyTuple_GET_SIZE(object);
    bool read = count >= 1 && count <= 3;
    for (Py_ssize_t i = 0; read && i < count; ++i) {
      read = read_integer(PyTuple_GET_ITEM(object, i), extents[static_cast<size_t>(i)]);
    }
    return read;
  }

  bool written_share_storage() const {
    for (uint32_t left = written_; left != 0; left &= left - 1) {
      const int written = std::countr_zero(left);
      const c10::StorageImpl* storage = tensors_[written]->unsafe_storage().unsafeGetStorageImpl();
      for (int i = 0; i < count_; ++i) {
        if (i != written && tensors_[i]->unsafe_storage().unsafeGetStorageImpl() == storage) return true;
      }
    }
    return false;
  }

  void tell_autograd() const {
    for (int i = 0; i < count_; ++i) {
      if (tensors_[i]->autograd_meta() != nullptr) {
        check_differentiable(kernel_, at::Tensor(c10::intrusive_ptr<c10::TensorImpl>::reclaim_copy(tensors_[i])));
      }
    }
    for (uint32_t left = written_; left != 0; left &= left - 1) tensors_[std::countr_zero(left)]->bump_version();
  }

  const Kernel& kernel_;
  const size_t bytes_;
  int count_ = 0;
  uint32_t written_ = 0;  ///< a bit for each of `tensors_`
  Extents grid_{1, 1, 1}, block_{1, 1, 1};
  int64_t shared_memory_ = 0;
  c10::TensorImpl* tensors_[kMaxTensors];
  alignas(16) uint8_t packed_[kMaxBytes];
};

}  // namespace

bool launch_fast(const Kernel& kernel, PyObject* const* arguments, PyObject* const* keywords, PyObject* keyword_names) {
  FastCall call(kernel);
  return call.read_arguments(arguments) && call.read_keywords(keywords, keyword_names) && call.launch();
}

}  // namespace wave
