#include "base/error.h"
#include "python/bindings.h"
#include "python/define.h"
#include "python/foreign_arrays.h"
#include "python/kernel_object.h"
#include "python/read_call.h"

namespace wave {

namespace {

/// A launch with its arguments. Immutable: changing an argument makes another one, so that a launch under way on
/// another thread is not disturbed.
struct Prebuilt {
  static constexpr const char* kName = "wave_runtime._C.Prebuilt";
  template <class Visit>
  void each_reference(Visit visit) {
    visit(kernel_object);
    visit(arguments);
    visit(keywords);
  }

  /// Throws what a call throws before autograd is told of it.
  Prebuilt(py::object kernel, py::tuple given, py::dict options)
      : kernel_object(std::move(kernel)),
        arguments(std::move(given)),
        keywords(std::move(options)),
        prepared(kernel_of(kernel_object)) {
    check_count(prepared.kernel, static_cast<Py_ssize_t>(arguments.size()));
    arguments = with_tensors(prepared.kernel, items_of(arguments).data());
    for (size_t i = 0; i < arguments.size(); ++i) {
      PyObject* const argument = arguments[i].ptr();
      if (is_for_operator(argument)) {
        throw TypeError(text(prepared.kernel.argument_text(i),
                             ": a bound launch takes plain tensors and numbers, given ", py::type_name(argument),
                             ": call the kernel itself"));
      }
      Any::argument(prepared, i, argument);
    }
    read_options(prepared, keywords);
    const GilRelease release;
    geometry = prepare(prepared);
    place = prepared.place();
    prepared.pack(prepared.packer);
  }

  /// Launches; what may have changed since the last time is looked at again: storages and gradients. Needs no lock of
  /// the interpreter. `emulation`: needed on the host; `profiled`: whether a profiler may look on.
  void launch(void* stream, Emulation* emulation, bool profiled) const {
    const FunctionUse function(prepared.kernel, place);
    const LaunchSite site{prepared.kernel, *function, geometry, stream};
    if (prepared.is_as_packed()) {
      prepared.mark_written();
      return prepared.enqueue(site, prepared.packer.packed(), emulation, profiled);
    }
    prepared.tell_autograd();
    ArgumentPacker packer(prepared.packer);
    prepared.pack(packer);
    prepared.enqueue(site, packer.packed(), emulation, profiled);
  }

  py::object kernel_object;
  py::tuple arguments;  ///< holds the tensors
  py::dict keywords;    ///< holds the stream
  Call prepared;
  Place place{};
  Geometry geometry{};
};

struct Bound {
  static constexpr const char* kName = "wave_runtime.BoundLaunch";
  static void call(PyObject* self, PyObject* const* arguments, size_t flags, PyObject* keyword_names);
  template <class Visit>
  void each_reference(Visit visit) {
    visit(launch);
  }

  py::object launch;  ///< a Prebuilt
};

struct Sequence {
  static constexpr const char* kName = "wave_runtime.Sequence";
  static void call(PyObject* self, PyObject* const* arguments, size_t flags, PyObject* keyword_names);
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
const Prebuilt& prebuilt(py::handle launch) { return state_of<Prebuilt>(launch.ptr()); }

void check_no_arguments(const char* what, size_t flags, PyObject* keyword_names) {
  if (positional(flags) + keyword_count(keyword_names) == 0) return;
  throw TypeError(text("a ", what, " takes no arguments when it is called: they were given when it was made"));
}

void Bound::call(PyObject* self, PyObject* const*, size_t flags, PyObject* keyword_names) {
  check_no_arguments("bound launch", flags, keyword_names);
  const py::object held = state_of<Bound>(self).launch;
  const Prebuilt& launch = prebuilt(held);
  if (!thread_is_plain()) {
    launch.kernel_object.call(launch.arguments, launch.keywords);
    return;
  }
  void* const stream = launch.prepared.stream();
  run_unlocked(launch.prepared.is_for_host(), [&](Emulation* emulation) { launch.launch(stream, emulation, true); });
}

/// Those of the bound launches, which may have been changed since the last call.
py::object launches_of(Sequence& sequence) {
  const Py_ssize_t count = PyTuple_Size(sequence.bound.ptr());
  bool same = static_cast<bool>(sequence.launches);
  for (Py_ssize_t i = 0; same && i < count; ++i) {
    PyObject* const bound = PyTuple_GetItem(sequence.bound.ptr(), i);
    same = PyTuple_GetItem(sequence.launches.ptr(), i) == state_of<Bound>(bound).launch.ptr();
  }
  if (!same) {
    py::tuple launches(count);
    for (size_t i = 0; i < launches.size(); ++i) launches.set(i, launch_of(sequence.bound[i].ptr()));
    sequence.launches = std::move(launches);
  }
  return sequence.launches;
}

void Sequence::call(PyObject* self, PyObject* const*, size_t flags, PyObject* keyword_names) {
  check_no_arguments("sequence", flags, keyword_names);
  Sequence& sequence = state_of<Sequence>(self);
  if (!thread_is_plain()) {
    const py::tuple bound = sequence.bound;
    for (size_t i = 0; i < bound.size(); ++i) bound[i]();
    return;
  }
  const py::object launches = launches_of(sequence);
  const Py_ssize_t count = PyTuple_Size(launches.ptr());
  bool for_host = false;
  for (Py_ssize_t i = 0; i < count; ++i)
    for_host |= prebuilt(PyTuple_GetItem(launches.ptr(), i)).prepared.is_for_host();
  run_unlocked(for_host, [&](Emulation* emulation) {
    c10::Device device = c10::kCPU;
    void* stream = nullptr;
    const bool profiled = is_profiled();
    for (Py_ssize_t i = 0; i < count; ++i) {
      const Prebuilt& launch = prebuilt(PyTuple_GetItem(launches.ptr(), i));
      if (launch.prepared.device() != device) stream = current_stream(device = launch.prepared.device());
      launch.launch(launch.prepared.wanted_stream.value_or(stream), emulation, profiled);
    }
  });
}

size_t argument_index(const Kernel& kernel, py::handle key) {
  const auto& parameters = kernel.signature().parameters;
  const Where where{.what = "an argument of a bound launch"};
  if (py::str::check(key)) {
    const auto name = py::from_python<std::string>(key, where);
    for (size_t i = 0; i < parameters.size(); ++i) {
      if (parameters[i].name == name) return i;
    }
    throw ValueError(
        text(kernel_text(kernel.name()), " has no argument '", name, "' (", kernel.signature().text(), ")"));
  }
  const auto index = py::from_python<int64_t>(key, where);
  if (index >= 0 && index < static_cast<int64_t>(parameters.size())) return static_cast<size_t>(index);
  throw ValueError(text(kernel_text(kernel.name()), " has ", parameters.size(), " arguments, no argument ", index));
}

/// bound[index or name] = value.
int set_argument(PyObject* self, PyObject* key, PyObject* value) {
  const py::handle done = with_python_errors([&] {
    if (value == nullptr) throw TypeError("an argument of a bound launch cannot be deleted");
    const py::object held = launch_of(self);
    const Prebuilt& before = prebuilt(held);
    py::list arguments = py::steal(PySequence_List(before.arguments.ptr()));
    arguments.set(argument_index(before.prepared.kernel, key), py::borrow(value));
    state_of<Bound>(self).launch =
        make_callable<Prebuilt>(before.kernel_object, py::tuple_of(arguments), before.keywords);
    return Py_None;
  });
  return done ? 0 : -1;
}

PyObject* get_argument(PyObject* self, PyObject* key) {
  return with_python_errors([&] {
    const py::object held = launch_of(self);
    return py::borrow(prebuilt(held).arguments[argument_index(prebuilt(held).prepared.kernel, key)]);
  });
}

/// bound.update(grid=..., ...).
void update(const py::object& self, const py::dict& keywords) {
  const py::object held = launch_of(self.ptr());
  const Prebuilt& before = prebuilt(held);
  py::dict merged;
  merged.update(before.keywords);
  merged.update(keywords);
  state_of<Bound>(self.ptr()).launch = make_callable<Prebuilt>(before.kernel_object, before.arguments, merged);
}

std::string repr_of_bound(const py::object& self) {
  const py::object held = launch_of(self.ptr());
  const Prebuilt& launch = prebuilt(held);
  return text("<wave_runtime.BoundLaunch of ", launch.prepared.kernel.name(), " on ", launch.prepared.device().str(),
              ">");
}

PyObject* new_sequence(PyTypeObject* type, PyObject* arguments, PyObject*) {
  return with_python_errors([&] {
    PyObject* launches = nullptr;
    if (PyArg_ParseTuple(arguments, "O:sequence", &launches) == 0) py::raise();
    const py::tuple bound = py::tuple_of(launches);
    for (size_t i = 0; i < bound.size(); ++i) {
      const py::handle item = bound[i];
      if (CallableObject<Bound>::is(item.ptr())) continue;
      throw TypeError(text("sequence: item ", i, " is a ", py::type_name(item.ptr()),
                           ": expected a bound launch, as kernel.bind(...) makes it"));
    }
    return make_callable_of<Sequence>(type, bound, py::object());
  });
}

Py_ssize_t sequence_length(PyObject* self) { return PyTuple_Size(state_of<Sequence>(self).bound.ptr()); }

}  // namespace

py::object bind(const py::object& kernel, const py::tuple& arguments, const py::dict& keywords) {
  return make_callable<Bound>(make_callable<Prebuilt>(kernel, arguments, keywords));
}

void bind_launches(py::handle module) {
  make_callable_type<Prebuilt>({});
  py::add_type<Bound>(module, {.slots = {py::repr_slot<repr_of_bound>(), py::slot(Py_mp_subscript, get_argument),
                                         py::slot(Py_mp_ass_subscript, set_argument)},
                               .methods = {py::method<update>("update", "**keywords")}});
  py::add_type<Sequence>(
      module, {.slots = {py::slot(Py_tp_new, new_sequence), py::slot(Py_sq_length, sequence_length)}, .flags = 0});
}

}  // namespace wave
