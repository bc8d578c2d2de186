#include "python/bound_launch.h"

#include <torch/csrc/autograd/python_variable.h>

#include "base/error.h"
#include "python/callable_type.h"
#include "python/foreign_arrays.h"
#include "python/read_call.h"

namespace py = pybind11;

namespace wave {

namespace {

/// A launch with its arguments. Immutable: changing an argument makes another one, so that a launch under way on
/// another thread is not disturbed.
class Prebuilt {
 public:
  static constexpr const char* kName = "wave_runtime._C.Prebuilt";
  template <class Visit>
  void each_reference(Visit visit) {
    visit(kernel_object_);
    visit(arguments_);
    visit(keywords_);
  }

  /// Throws what a call throws before autograd is told of it.
  Prebuilt(py::object kernel_object, const Kernel& kernel, py::tuple arguments, py::dict keywords)
      : kernel_object_(std::move(kernel_object)),
        arguments_(std::move(arguments)),
        keywords_(std::move(keywords)),
        call_(kernel) {
    check_count(kernel, static_cast<Py_ssize_t>(arguments_.size()));
    arguments_ = with_tensors(kernel, items_of(arguments_));
    for (size_t i = 0; i < arguments_.size(); ++i) {
      PyObject* argument = py::handle(arguments_[i]).ptr();
      if (is_for_operator(argument)) {
        throw TypeError(text(kernel.argument_text(i), ": a bound launch takes plain tensors and numbers, given ",
                             type_name(argument), ": call the kernel itself"));
      }
      Any::argument(call_, i, argument);
    }
    read_options(call_, keywords_);
    const GilRelease release;
    geometry_ = prepare(call_);
    place_ = call_.place();
    call_.pack(call_.packer);
  }

  c10::Device device() const { return call_.device(); }
  const Kernel& kernel() const { return call_.kernel; }
  const py::object& kernel_object() const { return kernel_object_; }
  const py::tuple& arguments() const { return arguments_; }
  const py::dict& keywords() const { return keywords_; }

  /// Launches; what may have changed since the last time is looked at again: storages and gradients. Needs no lock of
  /// the interpreter. `emulation`: needed on the host; `profiled`: whether a profiler may look on.
  void launch(void* stream, Emulation* emulation, bool profiled) const {
    const FunctionUse function(kernel(), place_);
    const LaunchSite site{kernel(), *function, geometry_, stream};
    if (call_.is_as_packed()) {
      call_.mark_written();
      return call_.enqueue(site, call_.packer.packed(), emulation, profiled);
    }
    call_.tell_autograd();
    ArgumentPacker packer(call_.packer);
    call_.pack(packer);
    call_.enqueue(site, packer.packed(), emulation, profiled);
  }
  bool is_for_host() const { return call_.is_for_host(); }
  bool has_stream() const { return call_.wanted_stream.has_value(); }
  void* stream() const { return call_.stream(); }

 private:
  py::object kernel_object_;
  py::tuple arguments_;  ///< holds the tensors
  py::dict keywords_;    ///< holds the stream
  Call call_;
  Place place_{};
  Geometry geometry_{};
};

struct Bound {
  static constexpr const char* kName = "wave_runtime.BoundLaunch";
  static PyObject* call(PyObject* self, PyObject* const* arguments, size_t flags, PyObject* keyword_names);
  template <class Visit>
  void each_reference(Visit visit) {
    visit(launch);
  }

  py::object launch;  ///< a Prebuilt
};

struct Sequence {
  static constexpr const char* kName = "wave_runtime.Sequence";
  static PyObject* call(PyObject* self, PyObject* const* arguments, size_t flags, PyObject* keyword_names);
  template <class Visit>
  void each_reference(Visit visit) {
    visit(bound);
    visit(launches);
  }

  py::tuple bound;
  py::object launches;  ///< a tuple of those of `bound` at the last call, or null
};

/// What a bound launch launches now. Callers that let go of the interpreter's lock hold it meanwhile.
py::object launch_of(PyObject* bound) {
  const py::object& launch = state_of<Bound>(bound).launch;
  if (!launch) throw RuntimeError("this bound launch was garbage, and what it held is gone");
  return launch;
}
const Prebuilt& prebuilt(const py::handle& launch) { return state_of<Prebuilt>(launch.ptr()); }

void check_no_arguments(const char* what, size_t flags, PyObject* keyword_names) {
  const Py_ssize_t keywords = keyword_names == nullptr ? 0 : PyTuple_GET_SIZE(keyword_names);
  if (PyVectorcall_NARGS(flags) + keywords == 0) return;
  throw TypeError(text("a ", what, " takes no arguments when it is called: they were given when it was made"));
}

}  // namespace

PyObject* Bound::call(PyObject* self, PyObject* const*, size_t flags, PyObject* keyword_names) {
  return with_python_errors([&]() -> PyObject* {
    check_no_arguments("bound launch", flags, keyword_names);
    const py::object held = state_of<Bound>(self).launch;
    const Prebuilt& launch = prebuilt(held);
    if (!thread_is_plain()) return launch.kernel_object()(*launch.arguments(), **launch.keywords()).release().ptr();
    void* const stream = launch.stream();
    run_unlocked(launch.is_for_host(), [&](Emulation* emulation) { launch.launch(stream, emulation, true); });
    Py_RETURN_NONE;
  });
}

namespace {

/// Those of the bound launches, which may have been changed since the last call.
py::object launches_of(Sequence& sequence) {
  const Py_ssize_t count = PyTuple_GET_SIZE(sequence.bound.ptr());
  bool same = static_cast<bool>(sequence.launches);
  for (Py_ssize_t i = 0; same && i < count; ++i) {
    PyObject* const bound = PyTuple_GET_ITEM(sequence.bound.ptr(), i);
    same = PyTuple_GET_ITEM(sequence.launches.ptr(), i) == state_of<Bound>(bound).launch.ptr();
  }
  if (!same) {
    py::tuple launches(count);
    for (size_t i = 0; i < launches.size(); ++i) launches[i] = launch_of(py::handle(sequence.bound[i]).ptr());
    sequence.launches = std::move(launches);
  }
  return sequence.launches;
}

}  // namespace

PyObject* Sequence::call(PyObject* self, PyObject* const*, size_t flags, PyObject* keyword_names) {
  return with_python_errors([&]() -> PyObject* {
    check_no_arguments("sequence", flags, keyword_names);
    Sequence& sequence = state_of<Sequence>(self);
    if (!thread_is_plain()) {
      for (const py::handle bound : py::tuple(sequence.bound)) bound();
      Py_RETURN_NONE;
    }
    const py::object launches = launches_of(sequence);
    const Py_ssize_t count = PyTuple_GET_SIZE(launches.ptr());
    bool for_host = false;
    for (Py_ssize_t i = 0; i < count; ++i) for_host |= prebuilt(PyTuple_GET_ITEM(launches.ptr(), i)).is_for_host();
    run_unlocked(for_host, [&](Emulation* emulation) {
      c10::Device device = c10::kCPU;
      void* stream = nullptr;
      const bool profiled = is_profiled();
      for (Py_ssize_t i = 0; i < count; ++i) {
        const Prebuilt& launch = prebuilt(PyTuple_GET_ITEM(launches.ptr(), i));
        if (launch.device() != device) stream = current_stream(device = launch.device());
        launch.launch(launch.has_stream() ? launch.stream() : stream, emulation, profiled);
      }
    });
    Py_RETURN_NONE;
  });
}

namespace {

size_t argument_index(const Kernel& kernel, const py::object& key) {
  const auto& parameters = kernel.signature().parameters;
  if (py::isinstance<py::str>(key)) {
    const std::string name = key.cast<std::string>();
    for (size_t i = 0; i < parameters.size(); ++i) {
      if (parameters[i].name == name) return i;
    }
    throw ValueError(
        text("kernel '", kernel.name(), "' has no argument '", name, "' (", kernel.signature().text(), ")"));
  }
  const int64_t index = key.cast<int64_t>();
  if (index >= 0 && index < static_cast<int64_t>(parameters.size())) return static_cast<size_t>(index);
  throw ValueError(text("kernel '", kernel.name(), "' has ", parameters.size(), " arguments, no argument ", index));
}

/// bound[index or name] = value.
void set_argument(const py::object& self, const py::object& key, const py::object& value) {
  const py::object held = launch_of(self.ptr());
  const Prebuilt& before = prebuilt(held);
  py::list arguments(before.arguments());
  arguments[argument_index(before.kernel(), key)] = value;
  state_of<Bound>(self.ptr()).launch =
      make_callable<Prebuilt>(before.kernel_object(), before.kernel(), py::tuple(arguments), before.keywords());
}

py::object get_argument(const py::object& self, const py::object& key) {
  const py::object held = launch_of(self.ptr());
  return prebuilt(held).arguments()[argument_index(prebuilt(held).kernel(), key)];
}

/// bound.update(grid=..., ...).
void update(const py::object& self, const py::kwargs& keywords) {
  const py::object held = launch_of(self.ptr());
  const Prebuilt& before = prebuilt(held);
  py::dict merged;
  for (const auto& [name, value] : before.keywords()) merged[name] = value;
  for (const auto& [name, value] : keywords) merged[name] = value;
  state_of<Bound>(self.ptr()).launch =
      make_callable<Prebuilt>(before.kernel_object(), before.kernel(), before.arguments(), merged);
}

PyObject* bound_repr(PyObject* self) {
  return with_python_errors([&] {
    const py::object held = launch_of(self);
    const Prebuilt& launch = prebuilt(held);
    return python_text(
               text("<wave_runtime.BoundLaunch of ", launch.kernel().name(), " on ", launch.device().str(), ">"))
        .release()
        .ptr();
  });
}

PyObject* new_sequence(PyTypeObject* type, PyObject* arguments, PyObject*) {
  return with_python_errors([&]() -> PyObject* {
    const py::tuple bound(py::reinterpret_borrow<py::tuple>(arguments)[0].cast<py::list>());
    for (size_t i = 0; i < bound.size(); ++i) {
      const py::handle item = bound[i];
      if (CallableObject<Bound>::is(item.ptr())) continue;
      throw TypeError(text("sequence: item ", i, " is a ", type_name(item.ptr()),
                           ": expected a bound launch, as kernel.bind(...) makes it"));
    }
    return make_callable_of<Sequence>(type, bound, py::object()).release().ptr();
  });
}

Py_ssize_t sequence_length(PyObject* self) { return PyTuple_GET_SIZE(state_of<Sequence>(self).bound.ptr()); }

}  // namespace

py::object make_bound_launch(const py::object& kernel_object, const Kernel& kernel, const py::args& arguments,
                             const py::kwargs& keywords) {
  return make_callable<Bound>(make_callable<Prebuilt>(kernel_object, kernel, py::tuple(arguments), py::dict(keywords)));
}

void bind_launches(py::module_& module) {
  make_callable_type<Prebuilt>({});
  const py::handle owner = make_callable_type<Bound>({{Py_tp_repr, reinterpret_cast<void*>(bound_repr)}});
  module.add_object("BoundLaunch", owner);
  module.add_object("Sequence", make_callable_type<Sequence>({{Py_tp_new, reinterpret_cast<void*>(new_sequence)},
                                                              {Py_sq_length, reinterpret_cast<void*>(sequence_length)}},
                                                             {}, 0));
  owner.attr("__setitem__") = py::cpp_function(set_argument, py::name("__setitem__"), py::is_method(owner));
  owner.attr("__getitem__") = py::cpp_function(get_argument, py::name("__getitem__"), py::is_method(owner));
  owner.attr("update") = py::cpp_function(update, py::name("update"), py::is_method(owner));
}

}  // namespace wave
