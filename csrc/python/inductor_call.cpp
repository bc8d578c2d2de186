// What a kernel's call is in the code that Inductor writes for Python: past the dispatcher, as a call of the kernel
// itself goes. The operator takes what a mode, a tracer or a tensor subclass must see, and words the errors.
#include <span>

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

  const Kernel* kernel;   ///< registered, so it lives for the process
  py::object overload;    ///< the operator, which takes the same
  bool has_block;         ///< whether the block and the shared memory are among the arguments
  LaunchOptions options;  ///< the others
};

bool read_extents(std::span<PyObject* const> given, Extents& extents) {
  for (size_t i = 0; i < given.size(); ++i) {
    if (!read_exact_integer(given[i], extents[i])) return false;
  }
  return true;
}

/// What stands behind the kernel's own arguments, of which those at the end may be missing that are 1.
bool read_geometry(std::span<PyObject* const> given, bool has_block, LaunchOptions& options) {
  if (!has_block) return !given.empty() && given.size() <= 3 && read_extents(given, options.grid);
  return given.size() == 7 && read_extents(given.first(3), options.grid) &&
         read_extents(given.subspan(3, 3), options.block.emplace()) &&
         read_exact_integer(given[6], options.shared_memory);
}

/// False, with nothing done, where it is for the operator.
bool launch_usual(const KernelInductorCall& self, std::span<PyObject* const> arguments) {
  const size_t parameters = self.kernel->compact_parameters().size();
  if (arguments.size() < parameters || !thread_is_plain()) return false;
  Call call(*self.kernel);
  for (size_t i = 0; i < parameters; ++i) {
    if (!Usual::argument(call, i, arguments[i])) return false;
  }
  call.options = self.options;
  if (!read_geometry(arguments.subspan(parameters), self.has_block, call.options)) return false;
  submit_unlocked(call);
  return true;
}

PyObject* KernelInductorCall::call(PyObject* self, PyObject* const* arguments, size_t flags, PyObject* keyword_names) {
  const KernelInductorCall& state = state_of<KernelInductorCall>(self);
  const size_t count = static_cast<size_t>(positional(flags));
  if (keyword_names == nullptr && launch_usual(state, {arguments, count})) Py_RETURN_NONE;
  return call_vector(state.overload.ptr(), arguments, flags, keyword_names);
}

py::object kernel_inductor_call(const std::string& handle, const py::object& overload, bool has_block,
                                const py::dict& options) {
  const Kernel& kernel = find_kernel(handle);
  return make_callable<KernelInductorCall>(&kernel, overload, has_block, read_fixed_options(kernel, options));
}

}  // namespace

void bind_inductor_call(py::handle module) {
  py::add_type<KernelInductorCall>(module, {});
  py::add_functions(
      module, {py::function<kernel_inductor_call>("kernel_inductor_call", "handle, overload, has_block, **options")});
}

}  // namespace wave
