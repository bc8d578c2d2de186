#include "python/upstream_types.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "base/error.h"
#include "python/c_api.h"
#include "python/numbers.h"

namespace py = pybind11;

namespace wave {

namespace {

enum Field {
  kStream,
  kFunction,
  kSharedMemory,
  kGrid,
  kBlock = kGrid + 3,
  kCluster = kBlock + 3,
  kFields = kCluster + 3
};

/// In the order of the constructor.
constexpr const char* kNames[] = {
    "gpu_stream", "gpu_func", "sharedMemoryBytes", "gridX",       "gridY",      "gridZ", "blockX",
    "blockY",     "blockZ",   "clusterDimX",       "clusterDimY", "clusterDimZ"};
static_assert(std::size(kNames) == kFields);

struct InfoObject {
  PyObject_HEAD bool has_stream;
  int64_t fields[kFields];
};

PyTypeObject* info_type = nullptr;  ///< owned by the module, which is never unloaded

InfoObject& info_of(PyObject* self) { return *reinterpret_cast<InfoObject*>(self); }

bool is_address(size_t field) { return field == kStream || field == kFunction; }

void set_field(InfoObject& info, size_t field, PyObject* value) {
  if (field == kStream) info.has_stream = value != Py_None;
  if (field == kStream && value == Py_None) return;
  info.fields[field] =
      static_cast<int64_t>(read_integer(value, is_address(field) ? 64 : 32, {.what = kNames[field]}).word);
}

py::object get_field(const InfoObject& info, size_t field) {
  if (field == kStream && !info.has_stream) return py::none();
  if (is_address(field)) return py::int_(static_cast<uint64_t>(info.fields[field]));
  return py::int_(info.fields[field]);
}

[[noreturn]] void refuse_keyword(PyObject* name, const char* why) {
  throw TypeError(text("KernelLaunchInfo: ", why, " '", std::string(py::str(py::handle(name))), "'"));
}

size_t field_index(PyObject* name) {
  for (size_t i = 0; i < kFields; ++i) {
    if (PyUnicode_CompareWithASCIIString(name, kNames[i]) == 0) return i;
  }
  refuse_keyword(name, "no field");
}

PyObject* new_info(PyObject*, PyObject* const* arguments, size_t flags, PyObject* names) {
  return with_python_errors([&] {
    const Py_ssize_t given = PyVectorcall_NARGS(flags);
    const Py_ssize_t keywords = names == nullptr ? 0 : PyTuple_GET_SIZE(names);
    if (given > kFields) throw TypeError(text("KernelLaunchInfo takes at most 12 arguments, given ", given));
    const py::object owner = py::reinterpret_steal<py::object>(info_type->tp_alloc(info_type, 0));
    if (!owner) throw py::error_already_set();
    InfoObject& info = info_of(owner.ptr());
    std::fill(info.fields + kGrid, info.fields + kFields, 1);
    uint32_t set = 0;
    for (Py_ssize_t i = 0; i < given; ++i) set_field(info, static_cast<size_t>(i), arguments[i]);
    set |= (uint32_t{1} << given) - 1;
    for (Py_ssize_t i = 0; i < keywords; ++i) {
      PyObject* name = PyTuple_GET_ITEM(names, i);
      const size_t field = field_index(name);
      if ((set >> field & 1) != 0) refuse_keyword(name, "two values for");
      set |= uint32_t{1} << field;
      set_field(info, field, arguments[given + i]);
    }
    if ((set >> kFunction & 1) == 0) throw TypeError("KernelLaunchInfo: gpu_func is missing");
    return py::object(owner).release().ptr();
  });
}

PyObject* get_field_slot(PyObject* self, void* closure) {
  return with_python_errors(
      [&] { return get_field(info_of(self), reinterpret_cast<size_t>(closure)).release().ptr(); });
}

int set_field_slot(PyObject* self, PyObject* value, void* closure) {
  PyObject* done = with_python_errors([&]() -> PyObject* {
    if (value == nullptr) throw TypeError("a field of KernelLaunchInfo cannot be deleted");
    set_field(info_of(self), reinterpret_cast<size_t>(closure), value);
    return Py_None;
  });
  return done == nullptr ? -1 : 0;
}

PyObject* info_repr(PyObject* self) {
  return with_python_errors([&] {
    std::string out = "wave_runtime.KernelLaunchInfo(";
    for (size_t i = 0; i < kFields; ++i) {
      append(out, text(i == 0 ? "" : ", ", kNames[i], "=", std::string(py::str(get_field(info_of(self), i)))));
    }
    return py::str(out + ")").release().ptr();
  });
}

PyTypeObject* make_type(PyType_Spec& spec, vectorcallfunc call, PyTypeObject* base) {
  PyObject* type = PyType_FromSpecWithBases(&spec, reinterpret_cast<PyObject*>(base));
  if (type == nullptr) throw py::error_already_set();
  auto* made = reinterpret_cast<PyTypeObject*>(type);
  made->tp_vectorcall = call;
  return made;
}

PyTypeObject* make_info_type() {
  static PyGetSetDef properties[kFields + 1] = {};
  for (size_t i = 0; i < kFields; ++i) {
    properties[i] = {kNames[i], get_field_slot, set_field_slot, nullptr, reinterpret_cast<void*>(i)};
  }
  static PyType_Slot slots[] = {
      {Py_tp_repr, reinterpret_cast<void*>(info_repr)},
      {Py_tp_getset, properties},
      {Py_tp_doc, const_cast<char*>("How to launch a kernel. See wave_runtime.launch.")},
      {0, nullptr},
  };
  static PyType_Spec spec = {"wave_runtime.KernelLaunchInfo", sizeof(InfoObject), 0, Py_TPFLAGS_DEFAULT, slots};
  return make_type(spec, new_info, &PyBaseObject_Type);
}

/// A list of integers that has checked what it was made of. What is put into it later is checked at the launch.
template <int kBits>
PyObject* new_vector(PyObject* type, PyObject* const* arguments, size_t flags, PyObject* names) {
  return with_python_errors([&] {
    const char* name = reinterpret_cast<PyTypeObject*>(type)->tp_name;
    const Py_ssize_t given = PyVectorcall_NARGS(flags);
    if (given > 1 || names != nullptr) throw TypeError(text(name, " takes one sequence of integers"));
    py::object made = py::reinterpret_steal<py::object>(
        PyList_Type.tp_new(reinterpret_cast<PyTypeObject*>(type), py::tuple().ptr(), nullptr));
    if (!made || (given == 1 && PyList_SetSlice(made.ptr(), 0, 0, arguments[0]) != 0)) throw py::error_already_set();
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(made.ptr()); ++i) {
      const py::object item = py::reinterpret_borrow<py::object>(PyList_GET_ITEM(made.ptr(), i));
      const uint64_t word = read_integer(item.ptr(), kBits, {.what = name, .index = i}).word;
      if (PyLong_CheckExact(item.ptr())) continue;
      PyList_SetItem(made.ptr(), i, py::int_(static_cast<int64_t>(word)).release().ptr());
    }
    return made.release().ptr();
  });
}

PyObject* vector_repr(PyObject* self) {
  return with_python_errors([&] {
    const py::object list = py::reinterpret_steal<py::object>(PyList_Type.tp_repr(self));
    if (!list) throw py::error_already_set();
    return py::str(text(Py_TYPE(self)->tp_name, "(", std::string(py::str(list)), ")")).release().ptr();
  });
}

template <int kBits>
PyTypeObject* make_vector_type(const char* name) {
  static PyType_Slot slots[] = {{Py_tp_repr, reinterpret_cast<void*>(vector_repr)}, {0, nullptr}};
  static PyType_Spec spec = {name, 0, 0, Py_TPFLAGS_DEFAULT, slots};
  return make_type(spec, new_vector<kBits>, &PyList_Type);
}

void add_type(py::module_& module, PyTypeObject* type) {
  module.add_object(std::strrchr(type->tp_name, '.') + 1, reinterpret_cast<PyObject*>(type));
}

}  // namespace

LaunchInfo read_launch_info(PyObject* object) {
  if (Py_TYPE(object) != info_type) {
    throw TypeError(text("launch: expected a KernelLaunchInfo, given ", type_name(object)));
  }
  const InfoObject& info = info_of(object);
  const auto extents = [&](Field first) {
    return Extents{info.fields[first], info.fields[first + 1], info.fields[first + 2]};
  };
  LaunchInfo read{static_cast<uint64_t>(info.fields[kFunction]),
                  extents(kGrid),
                  extents(kBlock),
                  extents(kCluster),
                  info.fields[kSharedMemory],
                  {}};
  if (info.has_stream) read.stream = reinterpret_cast<void*>(info.fields[kStream]);
  return read;
}

void bind_upstream_types(py::module_& module) {
  info_type = make_info_type();
  add_type(module, info_type);
  add_type(module, make_vector_type<64>("wave_runtime.Int64Vector"));
  add_type(module, make_vector_type<32>("wave_runtime.Int32Vector"));
}

}  // namespace wave
