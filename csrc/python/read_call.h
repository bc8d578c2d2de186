// kernel(*arguments, grid=, block=, ...): arguments and keywords as Python passes them, read into a call.
//
// There is one reader, which comes in two strengths. With `Usual` it takes what most calls consist of, in place: exact
// ints and floats, plain dense tensors, grid=, block= and shared_memory=. It allocates nothing and throws nothing: for
// everything else, wrong calls included, it says no. With `Any` it takes whatever may be given, and words the errors.
#pragma once

#include <functional>

#include "op/call.h"
#include "python/gil.h"
#include "python/numbers.h"
#include "python/object.h"
#include "python/plain.h"
#include "python/torch_python.h"

namespace wave {

struct Usual {
  /// Takes the argument for one parameter. The tensor is borrowed.
  [[gnu::always_inline]] static bool argument(Call& call, size_t index, PyObject* object) {
    const CompactParameter& parameter = call.kernel.compact_parameters()[index];
    if (parameter.is_pointer) {
      if (!is_exact_tensor(object)) return false;
      const at::Tensor& tensor = tensor_of(object);
      return has_plain_keys(tensor.unsafeGetTensorImpl()) && call.try_add(index, tensor);
    }
    if (PyFloat_CheckExact(object)) return call.packer.try_floating(parameter, PyFloat_AsDouble(object));
    int64_t value = 0;
    return read_exact_integer(object, value) && call.packer.try_integer(parameter, value);
  }
  static bool integer(const Kernel&, const char*, PyObject* object, int64_t& value) {
    return read_exact_integer(object, value);
  }
  static bool extents(const Kernel&, const char*, PyObject* object, Extents& extents) {
    if (!PyTuple_CheckExact(object)) return read_exact_integer(object, extents[0]);
    const Py_ssize_t count = PyTuple_Size(object);
    bool read = count >= 1 && count <= 3;
    for (Py_ssize_t i = 0; read && i < count; ++i) {
      read = read_exact_integer(PyTuple_GetItem(object, i), extents[static_cast<size_t>(i)]);
    }
    return read;
  }
  /// A keyword's name, of which the usual ones are the interpreter's only strings of their text.
  static PyObject* name(PyObject* name) { return name; }
  static bool other_keyword(Call&, PyObject*, PyObject*) { return false; }
  static bool no_grid(const Kernel&) { return false; }
};

struct Any {
  /// A tensor for a pointer, else a scalar. Throws TypeError and ValueError.
  static bool argument(Call& call, size_t index, PyObject* object) {
    if (!Usual::argument(call, index, object)) read_unusual_argument(call, index, object);
    return true;
  }
  static bool integer(const Kernel& kernel, const char* what, PyObject* object, int64_t& value) {
    value = read_signed(object, {&kernel, what});
    return true;
  }
  static bool extents(const Kernel& kernel, const char* what, PyObject* object, Extents& extents);
  static PyObject* name(PyObject* name);
  /// The seldom ones. Throws TypeError for one that there is not.
  static bool other_keyword(Call& call, PyObject* name, PyObject* value);
  /// Throws TypeError.
  static bool no_grid(const Kernel& kernel);

 private:
  static void read_unusual_argument(Call& call, size_t index, PyObject* object);
};

[[noreturn]] void refuse_count(const Kernel& kernel, Py_ssize_t given, PyObject* keyword_names);

/// Throws TypeError where the number of arguments is not the signature's. Names of keywords may say why.
inline void check_count(const Kernel& kernel, Py_ssize_t given, PyObject* keyword_names = nullptr) {
  if (static_cast<size_t>(given) != kernel.compact_parameters().size()) refuse_count(kernel, given, keyword_names);
}

/// Reads a whole call: as many arguments as the signature has, and the keywords of a vectorcall. False where the
/// strength does not suffice: then the call is to be read anew. Throws TypeError where grid= is missing.
template <class Strength>
bool read_call(Call& call, PyObject* const* arguments, PyObject* const* keywords, PyObject* keyword_names);

/// Reads keywords alone, of a dictionary.
void read_options(Call& call, const py::dict& keywords);
/// The same for what has no grid: the options of launches to come.
LaunchOptions read_fixed_options(const Kernel& kernel, const py::dict& keywords);

/// Runs `launch` without the interpreter's lock. What the environment asks of the emulator is read before, and what it
/// reports is told behind: warnings as RuntimeWarnings, the rest as last_report().
void emulate_unlocked(const std::function<void(Emulation*)>& launch);

/// Runs launches without the interpreter's lock. They are given what launches on the host need: nullptr but `for_host`.
template <class Launch>
[[gnu::always_inline]] inline void run_unlocked(bool for_host, const Launch& launch) {
  if (for_host) return emulate_unlocked(launch);
  const GilRelease release;
  launch(nullptr);
}

/// Submits without the interpreter's lock.
[[gnu::always_inline]] inline void submit_unlocked(Call& call) {
  run_unlocked(call.is_for_host(), [&](Emulation* emulation) {
    call.emulation = emulation;
    submit(call);
  });
}

}  // namespace wave
