#include "python/address_launch.h"

#include <torch/csrc/Device.h>
#include <torch/csrc/autograd/python_variable.h>

#include "base/error.h"
#include "op/raw_launch.h"
#include "python/c_api.h"
#include "python/kernel_object.h"
#include "python/launch_arguments.h"
#include "python/launch_options.h"

namespace py = pybind11;

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

/// The arguments of a call, read.
class Arguments {
 public:
  Arguments(const Kernel& kernel, const py::args& arguments) : packer(kernel), tensors(kernel), kernel_(kernel) {
    check_count(kernel, static_cast<Py_ssize_t>(arguments.size()));
    for (size_t i = 0; i < arguments.size(); ++i) read(i, arguments[i].ptr());
    if (!tensors.items().empty()) tensors.check_together();
    tensors.check_inference();
  }

  c10::Device device() const {
    std::optional<c10::Device> device;
    size_t first = 0;
    if (!tensors.items().empty()) {
      device = tensors.device();
      first = tensors.items().front().index;
    }
    for (const Address& address : addresses_) {
      if (address.value == 0 || (!address.is_certain && device)) continue;
      const c10::Device found = device_of(address);
      if (!address.is_certain && found.is_cpu()) continue;  // a number rather than an address
      if (!device) first = address.index;
      if (found != device.value_or(found)) {
        throw ValueError(text("kernel '", kernel_.name(), "': arguments on different devices: ",
                              kernel_.parameter_text(first), " is on ", device->str(), ", the address ",
                              hex(address.value), " of ", kernel_.parameter_text(address.index), " on ", found.str()));
      }
      device = found;
    }
    return device ? *device : current_device(kernel_);
  }

  ArgumentPacker packer;
  TensorArguments tensors;

 private:
  void read(size_t index, PyObject* argument) {
    const Parameter& parameter = kernel_.signature().parameters[index];
    if (parameter.is_pointer && !THPVariable_Check(argument)) {
      const uint64_t address = argument == Py_None ? 0 : read_address(index, argument);
      packer.pointer(index, reinterpret_cast<const void*>(address));
      addresses_.push_back({index, address, true});
      return;
    }
    read_argument(kernel_, index, argument, packer, tensors);
    if (parameter.may_be_pointer && PyLong_Check(argument)) {
      addresses_.push_back({index, PyLong_AsUnsignedLongLongMask(argument), false});
    }
  }

  uint64_t read_address(size_t index, PyObject* argument) const {
    if (!PyIndex_Check(argument)) {
      throw TypeError(text(kernel_.argument_text(index), ": expected a tensor or an address (",
                           kernel_.signature().parameters[index].type_text(), "), given ", type_name(argument)));
    }
    const py::object number = py::reinterpret_steal<py::object>(PyNumber_Index(argument));
    if (!number) throw py::error_already_set();
    const uint64_t address = PyLong_AsUnsignedLongLong(number.ptr());
    if (PyErr_Occurred() == nullptr) return address;
    PyErr_Clear();
    throw ValueError(text(kernel_.argument_text(index), ": expected a tensor or an address (",
                          kernel_.signature().parameters[index].type_text(), "), given ", std::string(py::str(number)),
                          ", which is no address"));
  }

  const Kernel& kernel_;
  std::vector<Address> addresses_;
};

py::object device_of_arguments(const py::object& self, const py::args& arguments) {
  return py::reinterpret_steal<py::object>(THPDevice_New(Arguments(kernel_of(self), arguments).device()));
}

void launch_addresses(const py::object& self, const py::args& arguments, const py::kwargs& keywords) {
  const Kernel& kernel = kernel_of(self);
  Arguments call(kernel, arguments);
  const LaunchOptions options = read_options(kernel, keywords);
  const c10::Device device = call.device();
  const Place place = place_of(device);
  ensure_loaded(kernel, place);
  std::vector<std::string> warnings;
  {
    const FunctionUse function(kernel, place);
    const Geometry geometry = check_geometry(*function, options);
    call.tensors.tell_autograd();
    call.tensors.pack(call.packer);
    HostMemory memory{call.tensors.memory(), true};
    const LaunchSite site{kernel, *function, geometry, current_stream(device)};
    const GilRelease release;
    warnings = run(site, call.packer.packed(), std::move(memory));
  }
  warn(warnings);
}

}  // namespace

void bind_address_launch(const py::handle& kernel_type) {
  const auto add = [&](const char* name, auto function) {
    kernel_type.attr(name) = py::cpp_function(function, py::name(name), py::is_method(kernel_type));
  };
  add("_device_of", device_of_arguments);
  add("_launch_addresses", launch_addresses);
}

}  // namespace wave
