#include "python/bound_launch.h"

#include <structmember.h>
#include <torch/csrc/autograd/python_variable.h>

#include "base/error.h"
#include "python/c_api.h"
#include "python/launch_arguments.h"
#include "python/launch_options.h"

namespace py = pybind11;

namespace wave {

namespace {

/// A launch with its arguments. Immutable: changing an argument makes another one, so that a launch under way on
/// another thread is not disturbed.
class Prebuilt {
 public:
  /// Throws what a call throws.
  Prebuilt(py::object kernel_object, const Kernel& kernel, py::tuple arguments, py::dict keywords)
      : kernel_object_(std::move(kernel_object)),
        kernel_(kernel),
        arguments_(std::move(arguments)),
        keywords_(std::move(keywords)),
        tensors_(kernel),
        packer_(kernel) {
    check_count(kernel, static_cast<Py_ssize_t>(arguments_.size()));
    for (size_t i = 0; i < arguments_.size(); ++i) {
      PyObject* argument = py::handle(arguments_[i]).ptr();
      if (is_for_operator(argument)) {
        throw TypeError(text(kernel.argument_text(i), ": a bound launch takes plain tensors and numbers, given ",
                             type_name(argument), ": call the kernel itself"));
      }
      read_argument(kernel, i, argument, packer_, tensors_);
    }
    PyObject* given_device = nullptr;
    const LaunchOptions options = read_options(kernel, keywords_, &given_device);
    device_ = device_of_call(kernel, tensors_, given_device);
    place_ = place_of(device_);
    ensure_loaded(kernel, place_);
    const FunctionUse function(kernel, place_);
    geometry_ = check_geometry(*function, options);
    tensors_.check_inference();
    tensors_.pack(packer_);
    if (device().is_cuda()) remember_storages();
  }

  c10::Device device() const { return device_; }
  const Kernel& kernel() const { return kernel_; }
  const py::object& kernel_object() const { return kernel_object_; }
  const py::tuple& arguments() const { return arguments_; }
  const py::dict& keywords() const { return keywords_; }
  bool is_loaded() const { return wave::is_loaded(kernel_, place_); }

  /// Launches; what may have changed since the last time is looked at again: storages and gradients. Needs no lock of
  /// the interpreter. `profiled`: whether a profiler may look on.
  std::vector<std::string> launch(void* stream, bool profiled) const {
    const FunctionUse function(kernel_, place_);
    const LaunchSite site{kernel_, *function, geometry_, stream};
    if (is_unchanged()) {
      for (const Seen& seen : seen_) {
        if (seen.is_written) seen.tensor->bump_version();
      }
      const std::span<const uint8_t> packed = packer_.packed();
      profiled ? enqueue(site, packed, nullptr) : wave::launch(site, packed, nullptr);
      return {};
    }
    tensors_.tell_autograd();
    ArgumentPacker packer(packer_);
    tensors_.pack(packer);
    return run(site, packer, tensors_);
  }

 private:
  /// A tensor as it was bound: few cache lines to look at.
  struct Seen {
    c10::TensorImpl* tensor;
    c10::StorageImpl* storage;
    const void* data;  ///< of the storage
    int64_t offset;    ///< elements
    bool is_written;
  };

  void remember_storages() {
    for (const TensorArguments::Item& item : tensors_.items()) {
      c10::TensorImpl* tensor = item.tensor->unsafeGetTensorImpl();
      c10::StorageImpl* storage = tensor->unsafe_storage().unsafeGetStorageImpl();
      seen_.push_back({tensor, storage, storage->data(), tensor->storage_offset(), item.is_written});
    }
  }

  /// Whether the packed addresses are those of the tensors still, and autograd has no part in them.
  bool is_unchanged() const {
    bool same = !seen_.empty();
    for (const Seen& seen : seen_) {
      c10::StorageImpl* storage = seen.tensor->unsafe_storage().unsafeGetStorageImpl();
      const void* data = seen.is_written ? storage->mutable_data() : storage->data();
      same = same && storage == seen.storage && data == seen.data && seen.tensor->storage_offset() == seen.offset &&
             seen.tensor->autograd_meta() == nullptr;
    }
    return same;
  }

  const py::object kernel_object_;
  const Kernel& kernel_;
  const py::tuple arguments_;  ///< holds the tensors
  const py::dict keywords_;
  TensorArguments tensors_;
  ArgumentPacker packer_;
  std::vector<Seen> seen_;  ///< of tensors on a GPU
  c10::Device device_{c10::kCPU};
  Place place_{};
  Geometry geometry_{};
};

using PrebuiltPointer = std::shared_ptr<const Prebuilt>;

struct BoundObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  PrebuiltPointer launch;
};

struct SequenceObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  std::vector<py::object> bound;
  std::shared_ptr<const std::vector<PrebuiltPointer>> launches;  ///< those of `bound` at the last call
};

PyTypeObject* bound_type = nullptr;     ///< owned by the module, which is never unloaded
PyTypeObject* sequence_type = nullptr;  ///< likewise

BoundObject& bound_of(PyObject* self) { return *reinterpret_cast<BoundObject*>(self); }
SequenceObject& sequence_of(PyObject* self) { return *reinterpret_cast<SequenceObject*>(self); }

void check_no_arguments(const char* what, size_t flags, PyObject* keyword_names) {
  const Py_ssize_t keywords = keyword_names == nullptr ? 0 : PyTuple_GET_SIZE(keyword_names);
  if (PyVectorcall_NARGS(flags) + keywords == 0) return;
  throw TypeError(text("a ", what, " takes no arguments when it is called: they were given when it was made"));
}

PyObject* call_bound(PyObject* self, PyObject* const*, size_t flags, PyObject* keyword_names) {
  return with_python_errors([&]() -> PyObject* {
    check_no_arguments("bound launch", flags, keyword_names);
    const PrebuiltPointer launch = bound_of(self).launch;
    if (!thread_is_plain()) return launch->kernel_object()(*launch->arguments(), **launch->keywords()).release().ptr();
    void* const stream = current_stream(launch->device());
    std::vector<std::string> warnings;
    {
      const GilRelease release;
      warnings = launch->launch(stream, true);
    }
    if (!warnings.empty()) warn(warnings);
    Py_RETURN_NONE;
  });
}

/// Those of the bound launches, which may have been changed since the last call.
std::shared_ptr<const std::vector<PrebuiltPointer>> launches_of(SequenceObject& sequence) {
  bool same = sequence.launches != nullptr;
  for (size_t i = 0; same && i < sequence.bound.size(); ++i) {
    same = (*sequence.launches)[i] == bound_of(sequence.bound[i].ptr()).launch;
  }
  if (!same) {
    auto launches = std::make_shared<std::vector<PrebuiltPointer>>();
    for (const py::object& bound : sequence.bound) launches->push_back(bound_of(bound.ptr()).launch);
    sequence.launches = std::move(launches);
  }
  return sequence.launches;
}

PyObject* call_sequence(PyObject* self, PyObject* const*, size_t flags, PyObject* keyword_names) {
  return with_python_errors([&]() -> PyObject* {
    check_no_arguments("sequence", flags, keyword_names);
    if (!thread_is_plain()) {
      for (const py::object& bound : sequence_of(self).bound) bound();
      Py_RETURN_NONE;
    }
    const auto launches = launches_of(sequence_of(self));
    std::vector<std::string> warnings;
    {
      const GilRelease release;
      c10::Device device = c10::kCPU;
      void* stream = nullptr;
      const bool profiled = is_profiled();
      for (const PrebuiltPointer& launch : *launches) {
        if (launch->device() != device) stream = current_stream(device = launch->device());
        for (std::string& warning : launch->launch(stream, profiled)) warnings.push_back(std::move(warning));
      }
    }
    if (!warnings.empty()) warn(warnings);
    Py_RETURN_NONE;
  });
}

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
  const PrebuiltPointer before = bound_of(self.ptr()).launch;
  const size_t index = argument_index(before->kernel(), key);
  py::list arguments(before->arguments());
  arguments[index] = value;
  bound_of(self.ptr()).launch = std::make_shared<const Prebuilt>(before->kernel_object(), before->kernel(),
                                                                 py::tuple(arguments), before->keywords());
}

py::object get_argument(const py::object& self, const py::object& key) {
  const PrebuiltPointer launch = bound_of(self.ptr()).launch;
  return launch->arguments()[argument_index(launch->kernel(), key)];
}

/// bound.update(grid=..., ...).
void update(const py::object& self, const py::kwargs& keywords) {
  const PrebuiltPointer before = bound_of(self.ptr()).launch;
  py::dict merged;
  for (const auto& [name, value] : before->keywords()) merged[name] = value;
  for (const auto& [name, value] : keywords) merged[name] = value;
  bound_of(self.ptr()).launch =
      std::make_shared<const Prebuilt>(before->kernel_object(), before->kernel(), before->arguments(), merged);
}

PyObject* bound_repr(PyObject* self) {
  return with_python_errors([&] {
    const Prebuilt& launch = *bound_of(self).launch;
    return python_text(
               text("<wave_runtime.BoundLaunch of ", launch.kernel().name(), " on ", launch.device().str(), ">"))
        .release()
        .ptr();
  });
}

PyObject* new_sequence(PyTypeObject* type, PyObject* arguments, PyObject*) {
  return with_python_errors([&]() -> PyObject* {
    const py::list bound = py::reinterpret_borrow<py::tuple>(arguments)[0].cast<py::list>();
    for (size_t i = 0; i < bound.size(); ++i) {
      const py::handle item = bound[i];
      if (Py_TYPE(item.ptr()) == bound_type) continue;
      throw TypeError(text("sequence: item ", i, " is a ", type_name(item.ptr()),
                           ": expected a bound launch, as kernel.bind(...) makes it"));
    }
    auto* object = reinterpret_cast<SequenceObject*>(type->tp_alloc(type, 0));
    if (object == nullptr) throw py::error_already_set();
    object->vectorcall = call_sequence;
    new (&object->bound) std::vector<py::object>();
    for (const py::handle item : bound) object->bound.push_back(py::reinterpret_borrow<py::object>(item));
    new (&object->launches) decltype(object->launches)();
    return reinterpret_cast<PyObject*>(object);
  });
}

Py_ssize_t sequence_length(PyObject* self) { return static_cast<Py_ssize_t>(sequence_of(self).bound.size()); }

template <class Object, auto... kMembers>
void dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  (std::destroy_at(&(reinterpret_cast<Object*>(self)->*kMembers)), ...);
  type->tp_free(self);
  Py_DECREF(type);
}

PyMemberDef bound_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(BoundObject, vectorcall), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};
PyMemberDef sequence_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(SequenceObject, vectorcall), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

PyType_Slot bound_slots[] = {
    {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
    {Py_tp_dealloc, reinterpret_cast<void*>(dealloc<BoundObject, &BoundObject::launch>)},
    {Py_tp_repr, reinterpret_cast<void*>(bound_repr)},
    {Py_tp_members, bound_members},
    {0, nullptr},
};
PyType_Slot sequence_slots[] = {
    {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
    {Py_tp_new, reinterpret_cast<void*>(new_sequence)},
    {Py_tp_dealloc,
     reinterpret_cast<void*>(dealloc<SequenceObject, &SequenceObject::launches, &SequenceObject::bound>)},
    {Py_sq_length, reinterpret_cast<void*>(sequence_length)},
    {Py_tp_members, sequence_members},
    {0, nullptr},
};

constexpr unsigned kFlags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL;
PyType_Spec bound_spec = {"wave_runtime.BoundLaunch", sizeof(BoundObject), 0,
                          kFlags | Py_TPFLAGS_DISALLOW_INSTANTIATION, bound_slots};
PyType_Spec sequence_spec = {"wave_runtime.Sequence", sizeof(SequenceObject), 0, kFlags, sequence_slots};

PyTypeObject* add_type(py::module_& module, const char* name, PyType_Spec& spec) {
  PyObject* type = PyType_FromSpec(&spec);
  if (type == nullptr) throw py::error_already_set();
  module.add_object(name, type);
  return reinterpret_cast<PyTypeObject*>(type);
}

}  // namespace

py::object make_bound_launch(const py::object& kernel_object, const Kernel& kernel, const py::args& arguments,
                             const py::kwargs& keywords) {
  auto launch = std::make_shared<const Prebuilt>(kernel_object, kernel, arguments, keywords);
  auto* object = reinterpret_cast<BoundObject*>(bound_type->tp_alloc(bound_type, 0));
  if (object == nullptr) throw py::error_already_set();
  object->vectorcall = call_bound;
  new (&object->launch) PrebuiltPointer(std::move(launch));
  return py::reinterpret_steal<py::object>(reinterpret_cast<PyObject*>(object));
}

void bind_launches(py::module_& module) {
  bound_type = add_type(module, "BoundLaunch", bound_spec);
  sequence_type = add_type(module, "Sequence", sequence_spec);
  const py::handle owner(reinterpret_cast<PyObject*>(bound_type));
  owner.attr("__setitem__") = py::cpp_function(set_argument, py::name("__setitem__"), py::is_method(owner));
  owner.attr("__getitem__") = py::cpp_function(get_argument, py::name("__getitem__"), py::is_method(owner));
  owner.attr("update") = py::cpp_function(update, py::name("update"), py::is_method(owner));
}

}  // namespace wave
