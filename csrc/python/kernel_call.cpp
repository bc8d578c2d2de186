// kernel(*args, grid=, ...) on plain tensors goes straight to submit(). Anything that a mode, a tracer or a tensor
// subclass must see goes through Python (wave_runtime._kernel.call_operator) to the operator.

#include "base/error.h"
#include "python/convert.h"
#include "python/errors.h"
#include "python/foreign_arrays.h"
#include "python/kernel_object.h"
#include "python/read_call.h"
#include "python/torch_python.h"

namespace wave {

namespace {

/// Most calls: whatever they consist of can be read in place. False, with nothing done, for any other.
bool launch_usual(const Kernel& kernel, PyObject* const* arguments, PyObject* const* keywords,
                  PyObject* keyword_names) {
  Call call(kernel);
  if (!read_call<Usual>(call, arguments, keywords, keyword_names)) return false;
  submit_unlocked(call);
  return true;
}

[[gnu::noinline]] void launch_any(const Kernel& kernel, PyObject* const* arguments, PyObject* const* keywords,
                                  PyObject* keyword_names) {
  py::tuple tensors;
  std::vector<PyObject*> items;
  if (has_foreign_arrays(kernel, arguments))
    arguments = (items = items_of(tensors = with_tensors(kernel, arguments))).data();
  Call call(kernel);
  read_call<Any>(call, arguments, keywords, keyword_names);
  submit_unlocked(call);
}

std::vector<at::Tensor> read_tensors(const char* name, const py::object& given) {
  std::vector<at::Tensor> tensors;
  const py::tuple items = py::tuple_of(given);
  for (size_t i = 0; i < items.size(); ++i) {
    const py::handle item = items[i];
    if (!is_any_tensor(item.ptr())) {
      throw TypeError(text(name, "[", tensors.size(), "]: expected a tensor, given ", py::type_name(item.ptr())));
    }
    tensors.push_back(tensor_of(item.ptr()));
  }
  return tensors;
}

void lend(Call& call, const char* name, const std::vector<at::Tensor>& tensors, bool is_written) {
  for (size_t i = 0; i < tensors.size(); ++i) call.lend(name, i, tensors[i], is_written);
}

}  // namespace

PyObject* call_function(PyObject* function, PyObject* self, PyObject* const* arguments, size_t flags,
                        PyObject* keyword_names) {
  // self, then the arguments as they came: vectorcall wants them in one array.
  const Py_ssize_t count = positional(flags);
  std::vector<PyObject*> stack{self};
  stack.insert(stack.end(), arguments, arguments + count + keyword_count(keyword_names));
  return call_vector(function, stack.data(), static_cast<size_t>(count) + 1, keyword_names);
}

PyObject* call_kernel(const Kernel& kernel, PyObject* self, PyObject* const* arguments, size_t flags,
                      PyObject* keyword_names) noexcept {
  const Py_ssize_t count = positional(flags);
  return with_python_errors([&]() -> PyObject* {
    static const py::handle call_operator = py::import("wave_runtime._kernel").attr("call_operator").release();
    check_count(kernel, count, keyword_names);
    bool plain = thread_is_plain();
    if (plain && launch_usual(kernel, arguments, arguments + count, keyword_names)) Py_RETURN_NONE;
    for (Py_ssize_t i = 0; plain && i < count; ++i) plain = !is_for_operator(arguments[i]);
    if (!plain) return call_function(call_operator.ptr(), self, arguments, flags, keyword_names);
    launch_any(kernel, arguments, arguments + count, keyword_names);
    Py_RETURN_NONE;
  });
}

py::dict trace_accesses(const Kernel& kernel, const py::tuple& arguments, const py::dict& keywords) {
  check_count(kernel, static_cast<Py_ssize_t>(arguments.size()));
  Call call(kernel);
  for (size_t i = 0; i < arguments.size(); ++i) Any::argument(call, i, arguments[i].ptr());
  read_options(call, keywords);
  AccessTrace trace = call.make_trace();
  call.trace = &trace;
  call.may_write_all = true;  // whatever the signature says
  submit_unlocked(call);
  py::dict accesses;
  for (size_t i = 0; i < trace.size(); ++i) {
    accesses.set(call.parameter_of(i), py::make_tuple(trace.read(i), trace.written(i)));
  }
  return accesses;
}

void launch_raw(const Kernel& kernel, const py::bytes& arguments, const py::object& memory, const py::object& reads,
                const std::optional<c10::Device>& device, bool process_memory, const py::dict& keywords) {
  const std::string_view packed = arguments.view();
  check_argument_bytes(kernel, packed.size());
  const std::vector<at::Tensor> written = read_tensors("memory", memory), read = read_tensors("reads", reads);
  Call call(kernel);
  call.packer.raw(0, packed.data(), packed.size());
  read_options(call, keywords);
  lend(call, "memory", written, true);
  lend(call, "reads", read, false);
  call.wanted_device = device;
  if (!device && !call.has_tensors()) call.wanted_device = c10::kCPU;
  call.has_addresses = process_memory;
  submit_unlocked(call);
}

}  // namespace wave
