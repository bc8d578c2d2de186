#include "python/upstream_types.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "base/error.h"
#include "python/bindings.h"
#include "python/define.h"
#include "python/errors.h"
#include "python/layout.h"
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

PyObject* new_info(PyObject* type, PyObject* const* arguments, size_t flags, PyObject* names) {
  return with_python_errors([&] {
    const auto given = static_cast<size_t>(positional(flags));
    const Py_ssize_t keywords = names == nullptr ? 0 : PyTuple_Size(names);
    if (given > kFields) throw TypeError(text("KernelLaunchInfo takes at most 12 arguments, given ", given));
    py::object owner = py::steal(PyType_GenericAlloc(reinterpret_cast<PyTypeObject*>(type), 0));
    InfoObject& info = info_of(owner.ptr());
    std::fill(info.fields + kGrid, info.fields + kFields, 1);
    for (size_t i = 0; i < given; ++i) set_field(info, i, arguments[i]);
    uint32_t set = (uint32_t{1} << given) - 1;
    for (Py_ssize_t i = 0; i < keywords; ++i) {
      PyObject* const name = PyTuple_GetItem(names, i);
      const size_t field = field_index(name);
      if ((set >> field & 1) != 0) refuse_keyword(name, "two values for");
      set |= uint32_t{1} << field;
      set_field(info, field, arguments[given + static_cast<size_t>(i)]);
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

std::string info_text(py::handle self) {
  std::string out = "wave_runtime.KernelLaunchInfo(";
  for (size_t i = 0; i < kFields; ++i) {
    append(out, text(i == 0 ? "" : ", ", kNames[i], "=", py::str::of(get_field(info_of(self.ptr()), i))));
  }
  return out + ")";
}

/// A type whose calls go to `call` without a tuple of their arguments: for 3.14 by a slot, before by the member of the
/// type's object, which all versions from 3.10 to 3.13 have in one place. Launches make such objects anew.
py::object make_called_type(const char* name, int size, std::vector<PyType_Slot> slots, VectorCall call,
                            PyTypeObject& base) {
  constexpr int kVectorCallSlot = 82;  // Py_tp_vectorcall
  constexpr int64_t kHasSlot = 0x030e0000;
  const bool has_slot = py::from_python<int64_t>(PySys_GetObject("hexversion"), {.what = "hexversion"}) >= kHasSlot;
  if (has_slot) slots.push_back(py::slot(kVectorCallSlot, call));
  slots.push_back({0, nullptr});
  PyType_Spec spec = {name, size, 0, Py_TPFLAGS_DEFAULT, slots.data()};
  py::object type = py::steal(PyType_FromSpecWithBases(&spec, reinterpret_cast<PyObject*>(&base)));
  if (!has_slot) *reinterpret_cast<VectorCall*>(reinterpret_cast<char*>(type.ptr()) + layout::kTypeVectorCall) = call;
  return type;
}

py::object make_info_type() {
  static PyGetSetDef properties[kFields + 1] = {};
  for (size_t i = 0; i < kFields; ++i) {
    properties[i] = {kNames[i], get_field_slot, set_field_slot, nullptr, reinterpret_cast<void*>(i)};
  }
  return make_called_type("wave_runtime.KernelLaunchInfo", sizeof(InfoObject),
                          {py::repr_slot<info_text>(),
                           {Py_tp_getset, properties},
                           py::doc_slot("How to launch a kernel. See wave_runtime.launch.")},
                          new_info, PyBaseObject_Type);
}

/// A list of integers that has checked what it was made of. What is put into it later is checked at the launch.
template <int kBits>
PyObject* new_vector(PyObject* type, PyObject* const* arguments, size_t flags, PyObject* names) {
  static const auto new_list = reinterpret_cast<newfunc>(PyType_GetSlot(&PyList_Type, Py_tp_new));
  static const py::handle nothing = py::tuple().release();
  return with_python_errors([&] {
    constexpr const char* kName = kBits == 64 ? "wave_runtime.Int64Vector" : "wave_runtime.Int32Vector";
    const Py_ssize_t given = positional(flags);
    if (given > 1 || names != nullptr) throw TypeError(text(kName, " takes one sequence of integers"));
    py::object made = py::steal(new_list(reinterpret_cast<PyTypeObject*>(type), nothing.ptr(), nullptr));
    if (given == 1 && PyList_SetSlice(made.ptr(), 0, 0, arguments[0]) != 0) py::raise();
    for (Py_ssize_t i = 0; i < PyList_Size(made.ptr()); ++i) {
      const py::object item = py::borrow(PyList_GetItem(made.ptr(), i));
      const uint64_t word = read_integer(item.ptr(), kBits, {.what = kName, .index = i}).word;
      if (PyLong_CheckExact(item.ptr())) continue;
      PyList_SetItem(made.ptr(), i, py::to_python(static_cast<int64_t>(word)).release());
    }
    return made.release();
  });
}

std::string vector_text(py::handle self) {
  static const auto repr_of_list = reinterpret_cast<reprfunc>(PyType_GetSlot(&PyList_Type, Py_tp_repr));
  return text("wave_runtime.", py::type_name(self), "(", py::str::of(py::steal(repr_of_list(self.ptr()))), ")");
}

template <int kBits>
py::object make_vector_type(const char* name) {
  return make_called_type(name, 0, {py::repr_slot<vector_text>()}, new_vector<kBits>, PyList_Type);
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
