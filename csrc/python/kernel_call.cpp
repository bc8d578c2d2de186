// kernel(*args, grid=, ...) on plain tensors goes straight to the launch, on a GPU mostly by fast_call.h. Anything that
// a mode, a tracer or a tensor subclass must see goes through Python (wave_runtime._kernel.call_operator) to the
// operator.
#include <torch/csrc/autograd/python_variable.h>

#include "base/error.h"
#include "python/c_api.h"
#include "python/fast_call.h"
#include "python/kernel_object.h"
#include "python/launch_arguments.h"
#include "python/launch_options.h"

namespace py = pybind11;

namespace wave {

namespace {

PyObject* call_operator(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* keyword_names) {
  static const py::handle function =
      py::object(py::module_::import("wave_runtime._kernel").attr("call_operator")).release();
  // self, then the arguments as they came: vectorcall wants them in one array.
  const Py_ssize_t keywords = keyword_names == nullptr ? 0 : PyTuple_GET_SIZE(keyword_names);
  std::vector<PyObject*> stack{self};
  stack.insert(stack.end(), arguments, arguments + count + keywords);
  return PyObject_Vectorcall(function.ptr(), stack.data(), static_cast<size_t>(count) + 1, keyword_names);
}

void launch_plain(const Kernel& kernel, PyObject* const* arguments, PyObject* const* keywords,
                  PyObject* keyword_names) {
  PyObject* given_device = nullptr;
  const LaunchOptions options = read_options(kernel, keywords, keyword_names, &given_device);
  TensorArguments tensors(kernel);
  ArgumentPacker packer(kernel);
  const size_t count = kernel.signature().parameters.size();
  for (size_t index = 0; index < count; ++index) read_argument(kernel, index, arguments[index], packer, tensors);
  const c10::Device device = device_of_call(kernel, tensors, given_device);
  tensors.check_inference();
  const Place place = place_of(device);
  ensure_loaded(kernel, place);
  std::vector<std::string> warnings;
  {
    const FunctionUse function(kernel, place);
    const Geometry geometry = check_geometry(*function, options);
    tensors.tell_autograd();
    tensors.pack(packer);
    const LaunchSite site{kernel, *function, geometry, current_stream(device)};
    const GilRelease release;
    warnings = run(site, packer, tensors);
  }
  if (!warnings.empty()) warn(warnings);
}

}  // namespace

PyObject* call_kernel(const Kernel& kernel, PyObject* self, PyObject* const* arguments, size_t flags,
                      PyObject* keyword_names) {
  const Py_ssize_t count = PyVectorcall_NARGS(flags);
  return with_python_errors([&]() -> PyObject* {
    check_count(kernel, count);
    bool plain = thread_is_plain();
    if (plain && launch_fast(kernel, arguments, arguments + count, keyword_names)) Py_RETURN_NONE;
    for (Py_ssize_t i = 0; plain && i < count; ++i) plain = !is_for_operator(arguments[i]);
    if (!plain) return call_operator(self, arguments, count, keyword_names);
    launch_plain(kernel, arguments, arguments + count, keyword_names);
    Py_RETURN_NONE;
  });
}

py::dict trace_accesses(const Kernel& kernel, const py::args& arguments, const py::kwargs& keywords) {
  check_count(kernel, static_cast<Py_ssize_t>(arguments.size()));
  TensorArguments tensors(kernel);
  ArgumentPacker packer(kernel);
  for (size_t i = 0; i < arguments.size(); ++i) read_argument(kernel, i, arguments[i].ptr(), packer, tensors);
  tensors.check_together();
  const LaunchOptions options = read_options(kernel, keywords);
  tensors.pack(packer);
  std::vector<MemoryRange> memory = tensors.memory();
  for (MemoryRange& range : memory) range.writable = true;  // whatever the signature says
  AccessTrace trace = tensors.trace();
  std::vector<std::string> warnings;
  {
    const GilRelease release;
    const FunctionUse function(kernel, {DriverKind::Emulator, 0});
    const Geometry geometry = check_geometry(*function, options);
    warnings = run({kernel, *function, geometry, nullptr}, packer.packed(), {std::move(memory)}, &trace);
  }
  warn(warnings);
  py::dict accesses;
  for (size_t i = 0; i < trace.size(); ++i) {
    accesses[py::int_(tensors.items()[i].index)] = py::make_tuple(trace.read(i), trace.written(i));
  }
  return accesses;
}

namespace {

std::vector<at::Tensor> read_tensors(const char* name, const py::sequence& given) {
  std::vector<at::Tensor> tensors;
  for (const py::handle item : given) {
    if (!THPVariable_Check(item.ptr())) {
      throw TypeError(text(name, "[", tensors.size(), "]: expected a tensor, given ", type_name(item.ptr())));
    }
    tensors.push_back(THPVariable_Unpack(item.ptr()));
  }
  return tensors;
}

}  // namespace

void launch_raw(const Kernel& kernel, const py::bytes& arguments, const RawMemory& memory,
                const std::optional<c10::Device>& device, const py::kwargs& keywords) {
  const std::string_view packed = arguments;
  const size_t wanted = kernel.argument_bytes();
  if (packed.size() > wanted) {
    throw ValueError(text("kernel '", kernel.name(), "': ", packed.size(),
                          " bytes of arguments given, but its kernarg segment has ", wanted));
  }
  std::vector<uint8_t> padded(packed.begin(), packed.end());
  padded.resize(wanted);  // drivers read all of it
  const std::vector<at::Tensor> written = read_tensors("memory", memory.written);
  const std::vector<at::Tensor> read = read_tensors("reads", memory.read);
  const LaunchOptions options = read_options(kernel, keywords);
  const std::vector<at::Tensor>& tensors = written.empty() ? read : written;
  const c10::Device where = device.value_or(tensors.empty() ? c10::Device(c10::kCPU) : tensors.front().device());
  const Place place = place_of(where);
  ensure_loaded(kernel, place);
  std::vector<std::string> warnings;
  {
    const FunctionUse function(kernel, place);
    const Geometry geometry = check_geometry(*function, options);
    HostMemory host_memory{memory_of("memory", written, where, true), memory.whole_process};
    for (MemoryRange& range : memory_of("reads", read, where, false)) host_memory.ranges.push_back(std::move(range));
    mark_written(written);
    const LaunchSite site{kernel, *function, geometry, current_stream(where)};
    const GilRelease release;
    warnings = run(site, padded, std::move(host_memory));
  }
  warn(warnings);
}

}  // namespace wave
