// The types of upstream's wave_runtime: KernelLaunchInfo, Int64Vector, Int32Vector. Made anew for every launch, so they
// are plain C types.
#pragma once

#include <span>

#include "launch/geometry.h"
#include "op/raw_launch.h"
#include "python/layout.h"
#include "python/object.h"

namespace wave {

/// A KernelLaunchInfo. What a launch reads comes first.
struct LaunchInfo {
  PyObject_HEAD const Kernel* kernel;  ///< of `function`, where a launch has looked it up: they stay for good
  void* stream;
  LaunchOptions options;
  bool has_stream;
  uint64_t function;
  Extents cluster;  ///< as it was given
};

/// What launches compare with, in one cache line: addresses of another library come from a line each otherwise.
struct alignas(64) LaunchTable {
  PyTypeObject* info;                 ///< of KernelLaunchInfo
  PyTypeObject *list, *int64_vector;  ///< nullptr where it is not known how to read one in place
  PyObject* none;
  bool may_be_synchronous;

  bool is_list(PyObject* object) const {
    const PyTypeObject* const type = Py_TYPE(object);
    return type == int64_vector || type == list;
  }
};
extern LaunchTable launch_table;

[[noreturn, gnu::cold]] void refuse_launch_info(PyObject* object);

/// Throws TypeError for an object of another type.
inline LaunchInfo& launch_info_of(PyObject* object) {
  if (Py_TYPE(object) != launch_table.info) [[unlikely]]
    refuse_launch_info(object);
  return *reinterpret_cast<LaunchInfo*>(object);
}

/// The kernel that is launched. Throws ValueError where there is none.
inline const Kernel& kernel_of(LaunchInfo& info) {
  if (info.kernel == nullptr) [[unlikely]]
    info.kernel = &find_raw(info.function);
  return *info.kernel;
}

/// The items of a list that launch_table.is_list().
inline std::span<PyObject* const> items_of_list(PyObject* list) {
  const auto items =
      *reinterpret_cast<PyObject* const* const*>(reinterpret_cast<const char*>(list) + layout::kListItems);
  return {items, static_cast<size_t>(Py_SIZE(list))};
}

}  // namespace wave
