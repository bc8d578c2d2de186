#include <algorithm>

#include "base/error.h"
#include "op/raw_launch.h"
#include "python/kernel_object.h"
#include "python/read_call.h"

namespace wave {

namespace {

struct Address {
  size_t index;  ///< of the argument
  uint64_t value;
  bool is_certain;  ///< whether the signature says that it is one
};

/// The GPU that an address belongs to, or the CPU.
c10::Device device_of(const Address& address) {
  if (!current_gpu()) return c10::kCPU;
  const Place place{gpu_driver(), 0};
  const std::optional<int> index = place.driver().device_of(reinterpret_cast<const void*>(address.value));
  if (!index || *index < 0) return c10::kCPU;
  return {c10::DeviceType::CUDA, static_cast<c10::DeviceIndex>(*index)};
}

/// A call some of whose pointers are addresses.
class AddressCall {
 public:
  AddressCall(const Kernel& kernel, const py::tuple& arguments, bool raw = false) : call(kernel) {
    call.autograd_knows = call.overlaps_allowed = raw;
    check_count(kernel, static_cast<Py_ssize_t>(arguments.size()));
    for (size_t i = 0; i < arguments.size(); ++i) read(i, arguments[i].ptr());
    call.has_addresses = std::ranges::any_of(addresses_, [](const Address& address) { return address.value != 0; });
    if (call.has_tensors()) call.check();
    call.wanted_device = device();
  }

  Call call;

 private:
  c10::Device device() const {
    const Kernel& kernel = call.kernel;
    std::optional<c10::Device> device;
    size_t first = 0;
    if (call.has_tensors()) {
      device = call.device();
      first = call.parameter_of(0);
    }
    for (const Address& address : addresses_) {
      if (address.value == 0 || (!address.is_certain && device)) continue;
      const c10::Device found = device_of(address);
      if (!address.is_certain && found.is_cpu()) continue;  // a number rather than an address
      if (!device) first = address.index;
      if (found != device.value_or(found)) {
        throw ValueError(text(kernel_text(kernel.name()), ": arguments on different devices: ",
                              kernel.parameter_text(first), " is on ", device->str(), ", the address ",
                              hex(address.value), " of ", kernel.parameter_text(address.index), " on ", found.str()));
      }
      device = found;
    }
    return device ? *device : current_device(kernel);
  }

  void read(size_t index, PyObject* argument) {
    const Parameter& parameter = call.kernel.signature().parameters[index];
    if (parameter.is_pointer && !is_tensor(argument)) {
      const uint64_t address = argument == Py_None ? 0 : read_address(index, argument);
      call.packer.pointer(parameter.offset, reinterpret_cast<const void*>(address));
      addresses_.push_back({index, address, true});
      return;
    }
    Any::argument(call, index, argument);
    if (parameter.may_be_pointer && PyLong_Check(argument)) {
      addresses_.push_back({index, read_integer(argument, 64, where(index)).word, false});
    }
  }

  Where where(size_t index) const { return {&call.kernel, nullptr, static_cast<Py_ssize_t>(index)}; }

  uint64_t read_address(size_t index, PyObject* argument) const {
    const Integer address = read_integer(argument, 64, where(index), "a tensor or an address");
    if (!address.is_negative) return address.word;
    throw ValueError(text(where(index).text(), ": expected a tensor or an address, given ",
                          static_cast<int64_t>(address.word), ", which is no address"));
  }

  std::vector<Address> addresses_;
};

}  // namespace

c10::Device device_of_arguments(const Kernel& kernel, const py::tuple& arguments) {
  return *AddressCall(kernel, arguments).call.wanted_device;
}

void launch_addresses(const Kernel& kernel, const py::tuple& arguments, bool process_memory, bool raw,
                      const py::dict& keywords) {
  AddressCall read(kernel, arguments, raw);
  read.call.has_addresses |= process_memory;
  read_options(read.call, keywords);
  submit_unlocked(read.call);
}

}  // namespace wave
