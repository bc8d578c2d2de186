// What a kernel's call is in the code that Inductor writes for Python: past the dispatcher, as a call of the kernel
// itself goes. The operator takes what a mode, a tracer or a tensor subclass must see, and words the errors.
#include "op/dedicated.h"
#include "python/bindings.h"
#include "python/define.h"
#include "python/kernel_object.h"
#include "python/read_call.h"

namespace wave {

namespace {

struct KernelInductorCall {
  static constexpr const char* kName = "wave_runtime._C.KernelInductorCall";
  static PyObject* call(PyObject* self, PyObject* const* arguments, size_t flags, PyObject* keyword_names);
  template <class Visit>
  void each_reference(Visit visit) {
    visit(overload);
  }

  const Kernel* kernel;  ///< registered, so it lives for the process
  bool has_block;        ///< whether the block and the shared memory are among the arguments
  py::object overload;   ///< the operator, which takes the same
};

bool read_extents(PyObject* const* arguments, Extents& extents) {
  return read_exact_integer(arguments[0], extents[0]) && read_exact_integer(arguments[1], extents[1]) &&
         read_exact_integer(arguments[2], extents[2]);
}

/// False, with nothing done, where it is for the operator.
bool launch_usual(const KernelInductorCall& self, PyObject* const* arguments, size_t count) {
  const Kernel& kernel = *self.kernel;
  const size_t parameters = kernel.compact_parameters().size();
  if (count != parameters + traced_geometry_count(self.has_block) || !thread_is_plain()) return false;
  Call call(kernel);
  for (size_t i = 0; i < parameters; ++i) {
    if (!Usual::argument(call, i, arguments[i])) return false;
  }
  PyObject* const* const geometry = arguments + parameters;
  if (!read_extents(geometry, call.options.grid)) return false;
  Extents& block = call.options.block.emplace(Extents{1, 1, 1});
  if (self.has_block) {
    if (!read_extents(geometry + 3, block) || !read_exact_integer(geometry[6], call.options.shared_memory)) {
      return false;
    }
  } else {
    const auto& [x, y, z] = *kernel.block();
    block = {x, y, z};
  }
  submit_unlocked(call);
  return true;
}

PyObject* KernelInductorCall::call(PyObject* self, PyObject* const* arguments, size_t flags, PyObject* keyword_names) {
  const KernelInductorCall& state = state_of<KernelInductorCall>(self);
  if (keyword_names == nullptr && launch_usual(state, arguments, static_cast<size_t>(positional(flags)))) {
    Py_RETURN_NONE;
  }
  return call_vector(state.overload.ptr(), arguments, flags, keyword_names);
}

py::object kernel_inductor_call(const std::string& handle, bool has_block, const py::object& overload) {
  return make_callable<KernelInductorCall>(&find_kernel(handle), has_block, overload);
}

}  // namespace

void bind_inductor_call(py::handle module) {
  py::add_type<KernelInductorCall>(module, {});
  py::add_functions(module,
                    {py::function<kernel_inductor_call>("kernel_inductor_call", "handle, has_block, overload")});
}

}  // namespace wave
