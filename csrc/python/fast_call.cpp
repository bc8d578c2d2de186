#include "python/fast_call.h"

#include "python/fast_launch.h"
#include "python/launch_options.h"

namespace wave {

namespace {

bool read_arguments(FastLaunch& launch, const Kernel& kernel, PyObject* const* arguments) {
  if (!launch.begin()) return false;
  for (const CompactParameter& parameter : kernel.compact_parameters()) {
    if (!launch.add(parameter, *arguments++)) return false;
  }
  return launch.has_tensors() && !launch.written_share_storage();
}

bool read_extents(PyObject* object, Extents& extents) {
  if (!PyTuple_CheckExact(object)) return read_exact_integer(object, extents[0]);
  const Py_ssize_t count = PyTuple_GET_SIZE(object);
  bool read = count >= 1 && count <= 3;
  for (Py_ssize_t i = 0; read && i < count; ++i) {
    read = read_exact_integer(PyTuple_GET_ITEM(object, i), extents[static_cast<size_t>(i)]);
  }
  return read;
}

bool read_keywords(FastLaunch& launch, const Kernel& kernel, PyObject* const* values, PyObject* names) {
  const Py_ssize_t count = names == nullptr ? 0 : PyTuple_GET_SIZE(names);
  bool has_grid = false, has_block = false;
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* name = PyTuple_GET_ITEM(names, i);
    if (name == kGridName) {
      has_grid = read_extents(values[i], launch.grid);
      if (!has_grid) return false;
    } else if (name == kBlockName) {
      has_block = read_extents(values[i], launch.block);
      if (!has_block) return false;
    } else if (name != kSharedMemoryName || !read_exact_integer(values[i], launch.shared_memory)) {
      return false;
    }
  }
  if (!has_block && kernel.block()) {
    for (int axis = 0; axis < 3; ++axis) launch.block[axis] = (*kernel.block())[axis];
    has_block = true;
  }
  return has_grid && has_block;
}

}  // namespace

bool launch_fast(const Kernel& kernel, PyObject* const* arguments, PyObject* const* keywords, PyObject* keyword_names) {
  FastLaunch launch(kernel);
  return read_arguments(launch, kernel, arguments) && read_keywords(launch, kernel, keywords, keyword_names) &&
         launch.launch();
}

}  // namespace wave
