#include "python/devices.h"

#include <ATen/ops/from_blob.h>
#include <torch/csrc/Device.h>

#include <algorithm>

#include "base/error.h"
#include "launch/variable.h"
#include "op/device.h"
#include "python/bindings.h"
#include "python/define.h"
#include "python/gil.h"
#include "python/torch_python.h"

namespace wave {

WAVE_AS_DICT(DeviceInfo, WAVE_MEMBERS(value, name, target, multiprocessors, shared_memory, max_block_size))

namespace {

py::object torch() { return py::import("torch"); }

/// The driver's library and devices, or why it cannot be used.
py::dict describe_driver(const std::string& name) {
  const Place first{parse_driver(name), 0};
  Driver& driver = first.driver();
  py::dict result;
  py::list devices;
  try {
    result.set("library", py::text(driver.describe()));
    for (int i = 0; i < driver.device_count(); ++i) devices.append(driver.device(i));
    result.set("error", py::none());
  } catch (const RuntimeError& error) {
    result.set("error", py::text(error.what()));
  }
  result.set("devices", devices);
  return result;
}

const char* name_of(DriverKind kind) { return Place{kind, 0}.driver().name(); }

py::tuple drivers() { return py::make_tuple(name_of(host_driver()), name_of(gpu_driver())); }
void choose_host_driver(const std::string& name) { set_host_driver(parse_driver(name)); }
void choose_gpu_driver(const std::string& name) { set_gpu_driver(parse_driver(name)); }

py::list list_loaded() {
  return py::list_of(loaded_modules(), [](const LoadedInfo& info) {
    return py::make_dict({{"device", info.place.text()},
                          {"driver", name_of(info.place.kind)},
                          WAVE_MEMBERS(info, target, sha256),
                          {"kernels", py::tuple_of(info.kernels)},
                          WAVE_MEMBERS(info, pinned)});
  });
}

size_t unload_codes(const std::vector<ParsedCode>& codes) {
  const GilRelease release;
  size_t count = 0;
  for (const ParsedCode& parsed : codes) count += unload(*parsed.code);
  return count;
}

/// A variable as a tensor of its bytes, which keeps the module loaded.
py::object symbol(const std::vector<ParsedCode>& parsed_codes, const std::string& name,
                  const std::optional<c10::Device>& wanted) {
  const CodeObjects codes = codes_of(parsed_codes);
  const c10::Device device = wanted ? *wanted : default_device(codes);
  const FoundVariable found = [&] {
    const GilRelease release;
    return find_variable(codes, name, place_of(device));
  }();
  for (const ParsedCode& parsed : parsed_codes) {
    if (parsed.code == found.code) *parsed.held = found.held;
  }
  const auto options = at::TensorOptions().dtype(c10::kByte).device(device);
  const at::Tensor tensor = at::from_blob(
      found.view.global.address, {static_cast<int64_t>(found.view.global.size)}, [found](void*) {}, options, device);
  return wrapped(tensor);
}

}  // namespace

CodeObjects codes_of(const std::vector<ParsedCode>& parsed) {
  CodeObjects codes;
  for (const ParsedCode& one : parsed) codes.push_back(one.code);
  return codes;
}

std::optional<c10::Device> optional_device(const py::object& device) {
  if (device.is_none()) return std::nullopt;
  const py::object parsed = THPDevice_Check(device.ptr()) ? device : torch().attr("device")(device);
  const c10::Device result = reinterpret_cast<THPDevice*>(parsed.ptr())->device;
  if (!result.is_cuda()) return result;
  // A GPU has an index here, and may be an emulated one.
  const py::object found = py::import("wave_runtime._device").attr("resolve")(parsed);
  return reinterpret_cast<THPDevice*>(found.ptr())->device;
}

c10::Device default_device(const CodeObjects& codes) {
  const auto is_others = [](const auto& code) { return code->format() != Format::AmdGpu; };
  const bool is_gpu_code = gpu_driver() == DriverKind::Hip || std::ranges::any_of(codes, is_others);
  const bool has_gpu = py::import("wave_runtime._device").attr("has_gpu")().ptr() == Py_True;
  return is_gpu_code && has_gpu ? *optional_device(py::text("cuda")) : c10::Device(c10::kCPU);
}

py::object py::Converter<c10::Device>::to(c10::Device device) { return steal(THPDevice_New(device)); }

void bind_devices(py::handle module) {
  py::add_functions(
      module, {py::function<describe_driver>("describe_driver", "name"), py::function<drivers>("drivers", ""),
               py::function<choose_host_driver>("set_host_driver", "name"),
               py::function<choose_gpu_driver>("set_gpu_driver", "name"), py::function<list_loaded>("loaded", ""),
               py::function<unload_codes>("unload", "codes"), py::function<symbol>("symbol", "codes, name, device")});
}

}  // namespace wave
