#include "python/launch_options.h"

#include <iterator>

#include "base/error.h"
#include "python/c_api.h"

namespace py = pybind11;

namespace wave {

namespace {

int64_t integer_of(const Kernel& kernel, const char* what, PyObject* value) {
  const py::object index = py::reinterpret_steal<py::object>(PyNumber_Index(value));
  if (!index) {
    PyErr_Clear();
    throw TypeError(text("kernel '", kernel.name(), "': ", what, " takes integers, given ", type_name(value)));
  }
  const long long number = PyLong_AsLongLong(index.ptr());
  if (number == -1 && PyErr_Occurred()) {
    PyErr_Clear();
    throw ValueError(
        text("kernel '", kernel.name(), "': ", what, " ", std::string(py::str(index)), " is out of range"));
  }
  return number;
}

/// An int, or 1 to 3 of them; missing extents are 1.
Extents extents_of(const Kernel& kernel, const char* what, PyObject* value) {
  if (PyLong_Check(value)) return {integer_of(kernel, what, value), 1, 1};
  const bool is_sequence = PyTuple_Check(value) || PyList_Check(value) || PySequence_Check(value);
  if (!is_sequence || PyUnicode_Check(value)) return {integer_of(kernel, what, value), 1, 1};
  const py::object items = py::reinterpret_steal<py::object>(PySequence_Fast(value, "a sequence"));
  if (!items) throw py::error_already_set();
  const Py_ssize_t count = PySequence_Fast_GET_SIZE(items.ptr());
  if (count < 1 || count > 3) {
    throw ValueError(text("kernel '", kernel.name(), "': ", what, " must be an int or 1 to 3 ints, given ", count));
  }
  Extents extents{1, 1, 1};
  for (Py_ssize_t i = 0; i < count; ++i) {
    extents[static_cast<size_t>(i)] = integer_of(kernel, what, PySequence_Fast_GET_ITEM(items.ptr(), i));
  }
  return extents;
}

bool truth_of(PyObject* value) {
  const int truth = PyObject_IsTrue(value);
  if (truth < 0) throw py::error_already_set();
  return truth != 0;
}

using Read = void (*)(const Kernel& kernel, PyObject* value, LaunchOptions& options);

struct Keyword {
  const char* name;
  Read read;
};

constexpr size_t kGrid = 0, kBlock = 1, kSharedMemory = 2;
constexpr Keyword kKeywords[] = {
    {"grid", [](const Kernel& kernel, PyObject* value,
                LaunchOptions& options) { options.grid = extents_of(kernel, "grid", value); }},
    {"block",
     [](const Kernel& kernel, PyObject* value, LaunchOptions& options) {
       if (value != Py_None) options.block = extents_of(kernel, "block", value);
     }},
    {"shared_memory",
     [](const Kernel& kernel, PyObject* value, LaunchOptions& options) {
       options.shared_memory = integer_of(kernel, "shared_memory", value);
     }},
    {"cluster",
     [](const Kernel& kernel, PyObject* value, LaunchOptions& options) {
       if (value != Py_None) options.cluster = extents_of(kernel, "cluster", value);
     }},
    {"cooperative",
     [](const Kernel&, PyObject* value, LaunchOptions& options) { options.cooperative = truth_of(value); }},
    {"programmatic",
     [](const Kernel&, PyObject* value, LaunchOptions& options) { options.programmatic = truth_of(value); }},
    {"priority",
     [](const Kernel& kernel, PyObject* value, LaunchOptions& options) {
       if (value != Py_None) options.priority = integer_of(kernel, "priority", value);
     }},
};

/// The names as the interpreter interns them: those of a call are mostly the same objects. Only an interpreter opens
/// this library.
const auto kNames = [] {
  std::array<PyObject*, std::size(kKeywords)> names;
  for (size_t i = 0; i < names.size(); ++i) names[i] = PyUnicode_InternFromString(kKeywords[i].name);
  return names;
}();

PyObject* const kDeviceName = PyUnicode_InternFromString("device");
constexpr size_t kDevice = std::size(kKeywords);

/// kDevice where there is such a keyword.
size_t keyword_index(const Kernel& kernel, PyObject* name, bool has_device) {
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (name == kNames[i]) return i;
  }
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (PyUnicode_Compare(name, kNames[i]) == 0) return i;
  }
  if (has_device && PyUnicode_Compare(name, kDeviceName) == 0) return kDevice;
  throw TypeError(text("kernel '", kernel.name(), "' got an unexpected keyword '",
                       std::string(py::str(py::handle(name))),
                       "'; it takes grid=, block=, shared_memory=, cluster=, cooperative=, programmatic=",
                       has_device ? ", priority= and device=" : " and priority="));
}

}  // namespace

PyObject* const kGridName = kNames[kGrid];
PyObject* const kBlockName = kNames[kBlock];
PyObject* const kSharedMemoryName = kNames[kSharedMemory];

LaunchOptions read_options(const Kernel& kernel, PyObject* const* values, PyObject* names, PyObject** device) {
  LaunchOptions options;
  const Py_ssize_t count = names == nullptr ? 0 : PyTuple_GET_SIZE(names);
  bool has_grid = false;
  for (Py_ssize_t i = 0; i < count; ++i) {
    const size_t index = keyword_index(kernel, PyTuple_GET_ITEM(names, i), device != nullptr);
    if (index == kDevice) {
      *device = values[i];
      continue;
    }
    has_grid |= index == kGrid;
    kKeywords[index].read(kernel, values[i], options);
  }
  if (!has_grid) throw TypeError(text("kernel '", kernel.name(), "': grid= is missing (it counts workgroups)"));
  return options;
}

LaunchOptions read_options(const Kernel& kernel, const py::dict& keywords, PyObject** device) {
  std::vector<PyObject*> values;
  py::tuple names(keywords.size());
  for (const auto& [name, value] : keywords) {
    names[values.size()] = name;
    values.push_back(value.ptr());
  }
  return read_options(kernel, values.data(), names.ptr(), device);
}

}  // namespace wave
