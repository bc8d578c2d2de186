#include "python/upstream_types.h"

#include <cstring>
#include <iterator>

#include "base/error.h"
#include "launch/enqueue.h"
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

LaunchInfo& info_of(PyObject* self) { return *reinterpret_cast<LaunchInfo*>(self); }

/// A field that is no address.
template <class Info>
decltype(auto) number_of(Info& info, size_t field) {
  if (field == kSharedMemory) return (info.options.shared_memory);
  auto& extents = field < kBlock ? info.options.grid : field < kCluster ? *info.options.block : info.cluster;
  return (extents[(field - kGrid) % 3]);
}

void set_field(LaunchInfo& info, size_t field, PyObject* value) {
  const auto read = [&](int bits) { return read_integer(value, bits, {.what = kNames[field]}).word; };
  if (field == kStream) {
    void* const stream = value == Py_None ? nullptr : reinterpret_cast<void*>(read(64));
    info.stream = stream;
    info.has_stream = value != Py_None;
  } else if (field == kFunction) {
    info.function = read(64);
    info.kernel = nullptr;
  } else {
    number_of(info, field) = static_cast<int64_t>(read(32));
    const LaunchOptions& now = info.options;
    if (field >= kCluster) info.options = raw_options(now.grid, *now.block, info.cluster, now.shared_memory);
  }
}

py::object get_field(const LaunchInfo& info, size_t field) {
  if (field == kStream && !info.has_stream) return py::none();
  if (field == kStream) return py::to_python(reinterpret_cast<uint64_t>(info.stream));
  if (field == kFunction) return py::to_python(info.function);
  return py::to_python(number_of(info, field));
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
    LaunchInfo& info = info_of(owner.ptr());
    info.cluster = {1, 1, 1};
    info.options = raw_options({1, 1, 1}, {1, 1, 1}, info.cluster, 0);
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

int64_t python_version() { return py::from_python<int64_t>(PySys_GetObject("hexversion"), {.what = "hexversion"}); }

constexpr int64_t kNextList = 0x030f0000;  ///< the first version whose lists layout.cpp has not been compared with

/// A type whose calls go to `call` without a tuple of their arguments: for 3.14 by a slot, before by the member of the
/// type's object, which all versions from 3.10 to 3.13 have in one place. Launches make such objects anew.
py::object make_called_type(const char* name, int size, std::vector<PyType_Slot> slots, VectorCall call,
                            PyTypeObject& base) {
  constexpr int kVectorCallSlot = 82;  // Py_tp_vectorcall
  constexpr int64_t kHasSlot = 0x030e0000;
  const bool has_slot = python_version() >= kHasSlot;
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
  return make_called_type("wave_runtime.KernelLaunchInfo", sizeof(LaunchInfo),
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

LaunchTable launch_table{};

void refuse_launch_info(PyObject* object) {
  throw TypeError(text("launch: expected a KernelLaunchInfo, given ", py::type_name(object)));
}

void bind_upstream_types(py::handle module) {
  const auto add = [&](const char* name, py::object type) {
    py::add_object(module, name, type);
    return reinterpret_cast<PyTypeObject*>(type.release());
  };
  launch_table.info = add("KernelLaunchInfo", make_info_type());
  PyTypeObject* const int64_vector = add("Int64Vector", make_vector_type<64>("wave_runtime.Int64Vector"));
  add("Int32Vector", make_vector_type<32>("wave_runtime.Int32Vector"));
  if (python_version() < kNextList) {
    launch_table.list = &PyList_Type;
    launch_table.int64_vector = int64_vector;
  }
  launch_table.none = Py_None;
  launch_table.may_be_synchronous = may_be_synchronous();
}

}  // namespace wave
