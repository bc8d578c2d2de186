// Arguments are laid out as upstream's callers expect, without padding: 8 bytes for each pointer, 4 for each scalar,
// then the dynamic dimensions and strides, each as two words of 4 bytes, the low one first.
#include <bit>
#include <cstring>

#include "base/error.h"
#include "op/raw_launch.h"
#include "python/bindings.h"
#include "python/define.h"
#include "python/devices.h"
#include "python/errors.h"
#include "python/read_call.h"
#include "python/torch_python.h"
#include "python/upstream_types.h"

namespace wave {

namespace {

constexpr size_t kPointerBytes = 8, kScalarBytes = 4, kDimBytes = 8;

/// Of all arguments: `words` are the dynamic dimensions and the strides.
constexpr size_t bytes_of(size_t pointers, size_t scalars, size_t words) {
  return kPointerBytes * pointers + kScalarBytes * scalars + kDimBytes * words;
}

/// Whether an int, with a sign or without, has as many bits as a scalar.
constexpr bool fits_scalar(int64_t value) {
  return value == static_cast<int32_t>(value) || value == static_cast<uint32_t>(value);
}

/// Whether reading an item as an argument runs no Python code, which could change the list that has it.
bool is_inert(PyObject* item) { return PyLong_CheckExact(item) || PyFloat_CheckExact(item) || is_exact_tensor(item); }

/// The items of a sequence that the caller holds. A list is read in place, until freeze() has to copy it. Other
/// sequences than lists and tuples make a tuple of themselves first, which may change lists: measure() comes after.
class Items {
 public:
  Items() = default;
  Items(const Kernel& kernel, const char* what, PyObject* sequence) : items_(sequence) {
    if (PyList_Check(sequence)) return;
    item_ = PyTuple_GetItem;
    if (!PyTuple_CheckExact(sequence)) hold(to_tuple(kernel, what, sequence));
  }

  void measure() { size_ = static_cast<size_t>(item_ == PyTuple_GetItem ? PyTuple_Size(items_) : PyList_Size(items_)); }

  size_t size() const { return size_; }
  PyObject* operator[](size_t index) const { return item_(items_, static_cast<Py_ssize_t>(index)); }

  /// Keeps the items as they are from now on.
  void freeze() {
    if (items_ == nullptr || item_ == PyTuple_GetItem) return;
    hold(py::steal(PyList_AsTuple(items_)));
    item_ = PyTuple_GetItem;
  }

 private:
  static py::object to_tuple(const Kernel& kernel, const char* what, PyObject* sequence) {
    if (!is_any_tensor(sequence) && !PyUnicode_Check(sequence)) {
      if (PyObject* const items = PySequence_Tuple(sequence); items != nullptr) return py::steal(items);
      PyErr_Clear();
    }
    throw TypeError(text(Where{&kernel, what}.text(), ": expected a list, given ", py::given_text(sequence)));
  }

  void hold(py::object tuple) {
    held_ = std::move(tuple);
    items_ = held_.ptr();
  }

  PyObject* items_ = nullptr;
  PyObject* (*item_)(PyObject*, Py_ssize_t) = PyList_GetItem;
  size_t size_ = 0;
  py::object held_;
};

/// A call by addresses on this thread's current GPU, for submit(): what most calls are. Of what Call has it needs
/// nothing that is for tensors or for the emulator.
class GpuCall {
 public:
  GpuCall(const Kernel& kernel, const LaunchInfo& info, const Place& place)
      : kernel(kernel), options(info.options), packer(kernel), info_(info), place_(place) {}

  const Kernel& kernel;
  const LaunchOptions& options;
  ArgumentPacker packer;

  void check() const {}
  Place place() const { return place_; }
  void* stream() const { return info_.has_stream ? info_.stream : current_stream(device()); }
  void tell_autograd() const {}
  void pack(ArgumentPacker&) const {}
  [[gnu::always_inline]] void enqueue(const LaunchSite& site, std::span<const uint8_t> arguments) const {
    if (is_profiled()) [[unlikely]]
      return enqueue_profiled(site, arguments, nullptr);
    wave::enqueue(site, arguments, nullptr, true);
  }

 private:
  c10::Device device() const { return {c10::DeviceType::CUDA, static_cast<c10::DeviceIndex>(place_.device)}; }

  const LaunchInfo& info_;
  const Place place_;
};

/// Packs ints that fit and, among scalars, floats. Returns where to go on; nullptr where there is any other item.
[[gnu::noinline]] uint8_t* pack_usual(uint8_t* to, std::span<PyObject* const> items, bool are_scalars) {
  for (PyObject* const item : items) {
    int64_t value = 0;
    if (!read_exact_integer(item, value)) [[unlikely]] {
      if (!are_scalars || !PyFloat_CheckExact(item)) return nullptr;
      value = std::bit_cast<uint32_t>(static_cast<float>(PyFloat_AsDouble(item)));
    }
    if (are_scalars) {
      if (!fits_scalar(value)) return nullptr;
      std::memcpy(to, &value, kScalarBytes);
      to += kScalarBytes;
    } else {
      std::memcpy(to, &value, kPointerBytes);
      to += kPointerBytes;
    }
  }
  return to;
}

/// Reads a call's arguments as most callers pass them, in lists, and runs no Python code meanwhile. False for any other
/// call, wrong ones included: AnyCall is to read it.
[[gnu::always_inline]] inline bool read_usual(GpuCall& call, PyObject* const* arguments, Py_ssize_t count) {
  std::span<PyObject* const> strides;
  if (count == 5) {
    if (!launch_table.is_list(arguments[4])) return false;
    strides = items_of_list(arguments[4]);
  }
  for (int i = 1; i <= 3; ++i) {
    if (!launch_table.is_list(arguments[i])) return false;
  }
  const auto tensors = items_of_list(arguments[1]), dims = items_of_list(arguments[2]),
             scalars = items_of_list(arguments[3]);
  if (bytes_of(tensors.size(), scalars.size(), dims.size() + strides.size()) != call.kernel.arguments_end())
    return false;
  uint8_t* to = pack_usual(call.packer.begin(), tensors, false);
  if (to != nullptr && !scalars.empty()) to = pack_usual(to, scalars, true);
  if (to != nullptr && !dims.empty()) [[unlikely]]
    to = pack_usual(to, dims, false);
  if (to != nullptr && !strides.empty()) [[unlikely]]
    to = pack_usual(to, strides, false);
  return to != nullptr;
}

/// Reads any other call. Addresses of tensors come in submit(): the others lie as the caller laid them out.
class AnyCall {
 public:
  AnyCall(const LaunchInfo& info, const Kernel& kernel, PyObject* const* arguments, Py_ssize_t count)
      : kernel_(kernel),
        tensors_(kernel_, "tensors", arguments[1]),
        dims_(kernel_, "dynamic_dims", arguments[2]),
        scalars_(kernel_, "scalar_args", arguments[3]),
        strides_(count == 5 ? Items(kernel_, "strides", arguments[4]) : Items()),
        call(kernel_) {
    tensors_.measure();
    dims_.measure();
    scalars_.measure();
    if (count == 5) strides_.measure();
    if (bytes() != kernel_.arguments_end()) check_size();
    for (size_t i = 0; i < tensors_.size(); ++i) {
      if (pack_int(tensors_[i], kPointerBytes)) [[likely]] {
        call.has_addresses = true;
      } else {
        pack_pointer(i, settled(tensors_, i));
      }
    }
    for (size_t i = 0; i < scalars_.size(); ++i) {
      if (!pack_int(scalars_[i], kScalarBytes)) [[unlikely]]
        pack_scalar(i, settled(scalars_, i));
    }
    if (dims_.size() != 0) pack_dims(dims_, "dynamic_dims");
    if (strides_.size() != 0) pack_dims(strides_, "strides");
    complete_raw(call, info.options);
    if (info.has_stream) call.wanted_stream = info.stream;
  }

 private:
  Where where(const char* what, size_t index) const { return {&kernel_, what, static_cast<Py_ssize_t>(index)}; }
  uint64_t read_word(PyObject* object, int bits, const char* what, size_t index,
                     const char* expected = "an int") const {
    return read_integer(object, bits, where(what, index), expected).word;
  }

  size_t bytes() const { return bytes_of(tensors_.size(), scalars_.size(), dims_.size() + strides_.size()); }

  /// Callers pass strides to kernels that do not take them, too.
  [[gnu::noinline]] void check_size() const {
    const size_t expected = kernel_.arguments_end();
    const size_t given = bytes();
    if (given > expected && given - kDimBytes * strides_.size() <= expected) return;
    throw ValueError(text(kernel_text(kernel_.name()), " takes ", expected, " bytes of arguments (",
                          kernel_.signature().text(), "), given ", given, ": ", tensors_.size(),
                          " tensors of 8 bytes, ", scalars_.size(), " scalars of 4, ", dims_.size(),
                          " dynamic dimensions and ", strides_.size(), " strides of 8"));
  }

  void pack(uint64_t word, size_t size) {
    call.packer.raw(offset_, &word, size);
    offset_ += size;
  }

  /// What most items are: an int that fits. False for any other, with nothing done.
  bool pack_int(PyObject* item, size_t size) {
    int64_t value = 0;
    if (!read_exact_integer(item, value)) return false;
    if (size == kScalarBytes && !fits_scalar(value)) return false;
    pack(static_cast<uint64_t>(value), size);
    return true;
  }

  /// An item, of lists that stay as they are while it is read.
  PyObject* settled(const Items& items, size_t index) {
    if (!is_inert(items[index])) {
      for (Items* const each : {&tensors_, &dims_, &scalars_, &strides_}) each->freeze();
    }
    return items[index];
  }

  void pack_dims(const Items& dims, const char* what) {
    for (size_t i = 0; i < dims.size(); ++i) {
      if (!pack_int(dims[i], kDimBytes)) pack(read_word(settled(dims, i), 64, what, i), kDimBytes);
    }
  }

  [[gnu::noinline]] void pack_pointer(size_t index, PyObject* item) {
    if (!is_tensor(item)) {
      call.has_addresses = true;
      return pack(read_word(item, 64, "tensors", index, "a tensor or an address"), kPointerBytes);
    }
    const at::Tensor& tensor = tensor_of(item);
    if (is_for_operator(item)) {
      throw TypeError(text(where("tensors", index).text(), ": expected a plain tensor on the CPU or a GPU, given a ",
                           py::type_name(item), " on ", tensor.device().str()));
    }
    const auto& parameters = kernel_.signature().parameters;
    if (index >= parameters.size() || parameters[index].offset != kPointerBytes * index ||
        (!parameters[index].is_pointer && !parameters[index].may_be_pointer)) {
      throw TypeError(text(where("tensors", index).text(), ": given a tensor, but the kernel (",
                           kernel_.signature().text(), ") has no pointer there"));
    }
    call.add(index, tensor);
    if (strides_.size() == 0 && !tensor.is_contiguous()) {
      throw ValueError(
          text(where("tensors", index).text(), ": expected a contiguous tensor, given shape ",
               list_text(tensor.sizes()), " with strides ", list_text(tensor.strides()),
               ": pass a contiguous one, and copy back what the kernel writes, or pass strides to a kernel "
               "that takes them"));
    }
    offset_ += kPointerBytes;
  }

  /// An int (a bool counts as one) or a float, of Python, or of numpy or torch, which have item().
  [[gnu::noinline]] void pack_scalar(size_t index, PyObject* value) {
    if (PyFloat_Check(value)) {
      return pack(std::bit_cast<uint32_t>(static_cast<float>(PyFloat_AsDouble(value))), kScalarBytes);
    }
    if (!PyLong_Check(value) && PyObject_HasAttrString(value, "item") == 1) {
      const py::object item = py::handle(value).attr("item")();
      if (PyLong_Check(item.ptr()) || PyFloat_Check(item.ptr())) return pack_scalar(index, item.ptr());
    }
    pack(read_word(value, 32, "scalar_args", index, "an int or a float"), kScalarBytes);
  }

  const Kernel& kernel_;
  Items tensors_, dims_, scalars_, strides_;
  size_t offset_ = 0;

 public:
  Call call;
};

/// Runs `body`, whose errors of a driver become worded as upstream words them.
template <class Body>
[[gnu::always_inline]] inline auto with_upstream_errors(Body body) {
  try {
    return body();
  } catch (const DriverError& error) {
    throw RuntimeError(text("Error ", error.code.number, "(", error.code.name, ") ", __FILE__, ":", __LINE__, ": \n",
                            error.code.call, "\n", error.code.description, "\n", error.what(), "\n"));
  }
}

[[noreturn, gnu::cold, gnu::noinline]] void refuse_argument_count(Py_ssize_t given) {
  throw TypeError(
      text("launch takes a KernelLaunchInfo, tensors, dynamic_dims, scalar_args and, where the kernel takes them, "
           "strides; given ",
           given, " arguments"));
}

[[gnu::cold, gnu::noinline]] void launch_any(const LaunchInfo& info, const Kernel& kernel, PyObject* const* arguments,
                                             Py_ssize_t count) {
  AnyCall read(info, kernel, arguments, count);
  const bool is_waited_for = read.call.is_for_host() || launch_table.may_be_synchronous;
  with_upstream_errors([&] { is_waited_for ? submit_unlocked(read.call) : submit(read.call); });
}

/// Launches what most calls are. False, with nothing done, for any other.
[[gnu::always_inline]] inline bool launch_usual(const LaunchInfo& info, const Kernel& kernel,
                                                PyObject* const* arguments, Py_ssize_t count) {
  const std::optional<Place> place = current_gpu_place();
  if (!place || launch_table.may_be_synchronous || (kernel.is_for_amd() && place->kind != DriverKind::Hip))
    return false;
  GpuCall call(kernel, info, *place);
  if (!read_usual(call, arguments, count)) return false;
  with_upstream_errors([&]() __attribute__((always_inline)) { submit(call); });
  return true;
}

/// Launches with the interpreter's lock, as upstream does: letting go of it and taking it again is half of what a
/// launch costs above the driver's, and several threads that do so wait for each other. A launch that is waited for
/// lets go.
[[gnu::aligned(64)]] PyObject* launch(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  return with_python_errors([&]() __attribute__((always_inline)) -> PyObject* {
    if (count != 4 && count != 5) [[unlikely]]
      refuse_argument_count(count);
    LaunchInfo& info = launch_info_of(arguments[0]);
    const Kernel& kernel = kernel_of(info);
    if (!launch_usual(info, kernel, arguments, count)) [[unlikely]]
      launch_any(info, kernel, arguments, count);
    Py_INCREF(launch_table.none);
    return launch_table.none;
  });
}

using Held = std::vector<std::shared_ptr<const void>>;

/// Keeps code loaded where it is.
py::object hold(const CodeObjects& codes) {
  constexpr const char* kName = "wave_runtime.module";
  auto held = std::make_unique<Held>();
  for (const auto& code : codes) held->push_back(hold_loaded(code));
  py::object capsule = py::steal(PyCapsule_New(held.get(), kName, [](PyObject* object) {
    const GilRelease release;  // the last holder unloads the modules, which may wait for a launch that needs the lock
    delete static_cast<Held*>(PyCapsule_GetPointer(object, kName));
  }));
  held.release();
  return capsule;
}

/// A kernel for launch(): what keeps it loaded, and its handle. Loads it on the current GPU, where there is one.
py::tuple load_raw(const std::vector<ParsedCode>& variants, const std::string& name) {
  const CodeObjects codes = codes_of(variants);
  const Kernel* const kernel = &raw_kernel(codes, name);
  const py::object capsule = hold(codes);
  const c10::Device device = current_device(*kernel);
  if (device.is_cuda()) {
    const GilRelease release;
    with_upstream_errors([&] { preload(*kernel, device); });
  }
  return py::make_tuple(capsule, raw_handle(*kernel));
}

/// The code of a kernel that load_binary() has returned.
const CodeObjects& raw_codes(uint64_t function) { return find_raw(function).variants(); }

}  // namespace

void bind_upstream(py::handle module) {
  bind_upstream_types(module);
  py::add_functions(module, {{"launch", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(launch)), METH_FASTCALL,
                              "launch(info, tensors, dynamic_dims, scalar_args, strides=[], /)\n--\n\n"},
                             py::function<raw_codes>("raw_codes", "function"),
                             py::function<load_raw>("load_raw", "variants, name")});
}

}  // namespace wave
