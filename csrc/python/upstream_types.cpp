#include "python/upstream_types.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "base/error.h"
#include "python/c_api.h"
#include "python/define.h"
#include "python/numbers.h"

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
  if (is_address(field)) return py::to_python(static_cast<uint64_t>(info.fields[field]));
  return py::to_python(info.fields[field]);
}

[[noreturn]] void refuse_keyword(PyObject* name, const char* why) {
  throw TypeError(text("KernelLaunchInfo: ", why, " '", py::str::of(name), "'"));
}

size_t field_index(PyObject* name) {
  for (size_t i = 0; i < kFields; ++i) {
    if (PyUnicode_CompareWithASCIIString(name, kNames[i]) == 0) return i;
  }
  refuse_keyword(name, "no field");
}

PyObject* new_info(PyTypeObject* type, PyObject* arguments, PyObject* keywords) {
  return with_python_errors([&] {
    const auto given = static_cast<size_t>(PyTuple_Size(arguments));
    if (given > kFields) throw TypeError(text("KernelLaunchInfo takes at most 12 arguments, given ", given));
    py::object owner = py::steal(PyType_GenericAlloc(type, 0));
    InfoObject& info = info_of(owner.ptr());
    std::fill(info.fields + kGrid, info.fields + kFields, 1);
    for (size_t i = 0; i < given; ++i) set_field(info, i, PyTuple_GetItem(arguments, static_cast<Py_ssize_t>(i)));
    uint32_t set = (uint32_t{1} << given) - 1;
    if (keywords != nullptr) {
      py::dict(py::borrow(keywords)).each([&](py::handle name, py::handle value) {
        const size_t field = field_index(name.ptr());
        if ((set >> field & 1) != 0) refuse_keyword(name.ptr(), "two values for");
        set |= uint32_t{1} << field;
        set_field(info, field, value.ptr());
      });
    }
    if ((set >> kFunction & 1) == 0) throw TypeError("KernelLaunchInfo: gpu_func is missing");
    return owner.release();
  });
}

PyObject* get_field_slot(PyObject* self, void* closure) {
  return with_python_errors([&] { return get_field(info_of(self), reinterpret_cast<size_t>(closure)).release(); });
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
      append(out, text(i == 0 ? "" : ", ", kNames[i], "=", py::str::of(get_field(info_of(self), i))));
    }
    return py::text(out + ")").release();
  });
}

py::object make_info_type() {
  static PyGetSetDef properties[kFields + 1] = {};
  for (size_t i = 0; i < kFields; ++i) {
    properties[i] = {kNames[i], get_field_slot, set_field_slot, nullptr, reinterpret_cast<void*>(i)};
  }
  static PyType_Slot slots[] = {
      {Py_tp_new, reinterpret_cast<void*>(new_info)},
      {Py_tp_repr, reinterpret_cast<void*>(info_repr)},
      {Py_tp_getset, properties},
      {Py_tp_doc, const_cast<char*>("How to launch a kernel. See wave_runtime.launch.")},
      {0, nullptr},
  };
  PyType_Spec spec = {"wave_runtime.KernelLaunchInfo", sizeof(InfoObject), 0, Py_TPFLAGS_DEFAULT, slots};
  return py::steal(PyType_FromSpec(&spec));
}

/// Fills a list of integers, and checks what it is made of. What is put into it later is checked at the launch.
template <int kBits>
int initialize_vector(PyObject* self, PyObject* arguments, PyObject* keywords) {
  static const auto initialize_list = reinterpret_cast<initproc>(PyType_GetSlot(&PyList_Type, Py_tp_init));
  const py::handle done = with_python_errors([&] {
    const std::string name = "wave_runtime." + py::type_name(self);
    if (PyTuple_Size(arguments) > 1 || keywords != nullptr) throw TypeError(name + " takes one sequence of integers");
    if (initialize_list(self, arguments, nullptr) != 0) py::raise();
    for (Py_ssize_t i = 0; i < PyList_Size(self); ++i) {
      const py::object item = py::borrow(PyList_GetItem(self, i));
      const uint64_t word = read_integer(item.ptr(), kBits, {.what = name.c_str(), .index = i}).word;
      if (PyLong_CheckExact(item.ptr())) continue;
      PyList_SetItem(self, i, py::to_python(static_cast<int64_t>(word)).release());
    }
    return Py_None;
  });
  return done ? 0 : -1;
}

PyObject* vector_repr(PyObject* self) {
  static const auto repr_of_list = reinterpret_cast<reprfunc>(PyType_GetSlot(&PyList_Type, Py_tp_repr));
  return with_python_errors([&] {
    const py::object list = py::steal(repr_of_list(self));
    return py::text(text("wave_runtime.", py::type_name(self), "(", py::str::of(list), ")")).release();
  });
}

template <int kBits>
py::object make_vector_type(const char* name) {
  PyType_Slot slots[] = {{Py_tp_init, reinterpret_cast<void*>(initialize_vector<kBits>)},
                         {Py_tp_repr, reinterpret_cast<void*>(vector_repr)},
                         {0, nullptr}};
  PyType_Spec spec = {name, 0, 0, Py_TPFLAGS_DEFAULT, slots};
  return py::steal(PyType_FromSpecWithBases(&spec, reinterpret_cast<PyObject*>(&PyList_Type)));
}

}  // namespace

LaunchInfo read_launch_info(PyObject* object) {
  if (Py_TYPE(object) != info_type) {
    throw TypeError(text("launch: expected a KernelLaunchInfo, given ", py::type_name(object)));
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

void bind_upstream_types(py::handle module) {
  py::object info = make_info_type();
  py::add_object(module, "KernelLaunchInfo", info);
  info_type = reinterpret_cast<PyTypeObject*>(info.release());
  py::add_object(module, "Int64Vector", make_vector_type<64>("wave_runtime.Int64Vector"));
  py::add_object(module, "Int32Vector", make_vector_type<32>("wave_runtime.Int32Vector"));
}

}  // namespace wave
