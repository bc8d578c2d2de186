// The C interface (wave_runtime.h, which says what everything means) for C++17: owners, exceptions, and arguments that
// are what they are.
//
//   wave_runtime::Module module("kernels.hsaco");
//   wave_runtime::Kernel add = module.kernel("vector_add", "*f32 const, *f32 const, *f32, i32");
//   add.launch({.device = wave_runtime::emulator(), .grid = {4, 1, 1}, .block = {256, 1, 1}},  // as of C++20
//              wave_runtime::memory(a), wave_runtime::memory(b), wave_runtime::memory(c), n);
#pragma once

#include <wave_runtime.h>

#include <array>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace wave_runtime {

/// What every function here throws.
class Error : public std::runtime_error {
 public:
  Error(wave_status status, const std::string& message) : std::runtime_error(message), status_(status) {}
  wave_status status() const { return status_; }

 private:
  wave_status status_;
};

inline void check(wave_status status) {
  if (status != WAVE_OK) throw Error(status, wave_error_message());
}

using Device = wave_device;

inline Device emulator() { return {WAVE_EMULATOR, 0}; }
inline Device hip(int index = 0) { return {WAVE_HIP, index}; }
inline Device cuda(int index = 0) { return {WAVE_CUDA, index}; }

inline int device_count(wave_driver driver) {
  int32_t count = 0;
  check(wave_device_count(driver, &count));
  return count;
}

inline wave_device_info device_info(Device device) {
  wave_device_info info{};
  info.size = sizeof info;
  check(wave_device_get_info(device, &info));
  return info;
}

/// `count` elements that the kernel may touch.
template <class T>
wave_argument memory(T* data, size_t count) {
  return wave_memory(data, count * sizeof(T));
}

/// The elements of a vector, an array, a span: anything with data() and size().
template <class Container>
auto memory(Container& container) -> decltype(memory(container.data(), container.size())) {
  return memory(container.data(), container.size());
}

/// Numbers as they are, structs as their bytes, and pointers to device memory, of which the emulator would have to know
/// the size: see memory(). Borrows structs.
template <class T>
wave_argument argument(const T& value) {
  if constexpr (std::is_same_v<T, wave_argument>) {
    return value;
  } else if constexpr (std::is_pointer_v<T>) {
    return wave_memory(value, 0);
  } else if constexpr (std::is_floating_point_v<T>) {
    return wave_float(value);
  } else if constexpr (std::is_unsigned_v<T>) {
    return wave_unsigned(value);
  } else if constexpr (std::is_integral_v<T>) {
    return wave_integer(value);
  } else {
    static_assert(std::is_trivially_copyable_v<T>, "not an argument of a kernel");
    return wave_bytes(&value, sizeof value);
  }
}

using Extents = std::array<int64_t, 3>;

/// wave_launch_options with defaults.
struct Options {
  Device device = emulator();
  void* stream = nullptr;     ///< a hipStream_t or CUstream; nullptr: the default stream
  Extents grid{1, 1, 1};      ///< workgroups
  Extents block{0, 0, 0};     ///< work-items; zeros: what the binary requires
  int64_t shared_memory = 0;  ///< bytes, dynamic
  Extents cluster{0, 0, 0};   ///< workgroups; zeros: none
  bool cooperative = false;
  bool programmatic = false;
  const int32_t* priority = nullptr;
  std::vector<wave_range> memory{};  ///< on the emulator: what the kernel may touch besides its arguments

  /// Borrows from this.
  wave_launch_options c_options() const {
    wave_launch_options options{};
    options.size = sizeof options;
    options.device = device;
    options.stream = stream;
    for (int axis = 0; axis < 3; ++axis) {
      options.grid[axis] = grid[axis];
      options.block[axis] = block[axis];
      options.cluster[axis] = cluster[axis];
    }
    options.shared_memory = shared_memory;
    options.cooperative = cooperative;
    options.programmatic = programmatic;
    options.priority = priority;
    options.memory = memory.data();
    options.memory_count = memory.size();
    return options;
  }
};

/// A kernel of a module. Stays valid until the process ends; cheap to copy.
class Kernel {
 public:
  explicit Kernel(const wave_kernel* kernel) : kernel_(kernel) {}

  wave_kernel_info info() const {
    wave_kernel_info info{};
    info.size = sizeof info;
    check(wave_kernel_get_info(kernel_, &info));
    return info;
  }

  wave_parameter parameter(size_t index) const {
    wave_parameter parameter{};
    parameter.size = sizeof parameter;
    check(wave_kernel_get_parameter(kernel_, index, &parameter));
    return parameter;
  }

  /// Launches. An argument is a number, a struct, memory(...), or a pointer to device memory.
  template <class... Arguments>
  void launch(const Options& options, const Arguments&... arguments) const {
    call(wave_launch, options, arguments...);
  }

  /// All checks of a launch, and nothing else.
  template <class... Arguments>
  void check_launch(const Options& options, const Arguments&... arguments) const {
    call(wave_check, options, arguments...);
  }

  /// Launches with arguments that the caller has packed.
  void launch_packed(const Options& options, const void* arguments, size_t bytes) const {
    const wave_launch_options c_options = options.c_options();
    check(wave_launch_packed(kernel_, &c_options, arguments, bytes));
  }

  void preload(Device device) const { check(wave_kernel_preload(kernel_, device)); }

  const wave_kernel* get() const { return kernel_; }

 private:
  template <class Function, class... Arguments>
  void call(Function function, const Options& options, const Arguments&... arguments) const {
    const wave_launch_options c_options = options.c_options();
    const std::array<wave_argument, sizeof...(arguments)> list{argument(arguments)...};
    check(function(kernel_, &c_options, list.data(), list.size()));
  }

  const wave_kernel* kernel_;
};

/// A file with kernels.
class Module {
 public:
  /// Parses a file. `target`: of several builds that for this target; "": all.
  explicit Module(const std::string& path, const std::string& target = "") {
    wave_module* module = nullptr;
    check(wave_module_load_file(path.c_str(), target.empty() ? nullptr : target.c_str(), &module));
    module_.reset(module);
  }

  /// Parses a file's contents, which are copied.
  Module(const void* data, size_t size, const std::string& target = "") {
    wave_module* module = nullptr;
    check(wave_module_load(data, size, target.empty() ? nullptr : target.c_str(), &module));
    module_.reset(module);
  }

  std::vector<std::string> kernels() const {
    std::vector<std::string> names(wave_module_kernel_count(module_.get()));
    for (size_t i = 0; i < names.size(); ++i) names[i] = wave_module_kernel_name(module_.get(), i);
    return names;
  }

  /// `signature`: "" where the binary says enough.
  Kernel kernel(const std::string& name, const std::string& signature = "") const {
    const wave_kernel* kernel = nullptr;
    check(
        wave_module_get_kernel(module_.get(), name.c_str(), signature.empty() ? nullptr : signature.c_str(), &kernel));
    return Kernel(kernel);
  }

  /// Unloads the code from all devices, and returns from how many.
  size_t unload() {
    size_t devices = 0;
    check(wave_module_unload(module_.get(), &devices));
    return devices;
  }

 private:
  struct Free {
    void operator()(wave_module* module) const { wave_module_free(module); }
  };
  std::unique_ptr<wave_module, Free> module_;
};

}  // namespace wave_runtime
