#include "python/python_api.h"

#include <dlfcn.h>

#include "python/object.h"

namespace wave {

namespace {

/// Py_buffer (Include/pybuffer.h), in all versions since 3.3.
struct BufferView {
  void* data;
  PyObject* object;
  Py_ssize_t bytes, item_bytes;
  int read_only, dimensions;
  char* format;
  Py_ssize_t *shape, *strides, *suboffsets;
  void* internal;
};

constexpr int kSimple = 0;  // PyBUF_SIMPLE

template <class Function>
Function exported(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
}

const auto has_buffer = exported<int (*)(PyObject*)>("PyObject_CheckBuffer");
const auto get_buffer = exported<int (*)(PyObject*, BufferView*, int)>("PyObject_GetBuffer");
const auto check_gil = exported<int (*)()>("PyGILState_Check");
const auto release_buffer = exported<void (*)(BufferView*)>("PyBuffer_Release");

const auto call_with_dict =
    exported<PyObject* (*)(PyObject*, PyObject* const*, size_t, PyObject*)>("PyObject_VectorcallDict");

/// The same for 3.10, whose header has the function, and whose library does not.
PyObject* call_vector_of_3_10(PyObject* callable, PyObject* const* arguments, size_t flags, PyObject* names) {
  if (names == nullptr) return call_with_dict(callable, arguments, flags, nullptr);
  const Py_ssize_t first = positional(flags), count = PyTuple_Size(names);
  PyObject* const keywords = PyDict_New();
  bool complete = keywords != nullptr;
  for (Py_ssize_t i = 0; complete && i < count; ++i) {
    complete = PyDict_SetItem(keywords, PyTuple_GetItem(names, i), arguments[first + i]) == 0;
  }
  PyObject* const result = complete ? call_with_dict(callable, arguments, flags, keywords) : nullptr;
  Py_XDECREF(keywords);
  return result;
}

const auto call_vector_of_library = exported<VectorCall>("PyObject_Vectorcall");

}  // namespace

const VectorCall call_vector = call_vector_of_library != nullptr ? call_vector_of_library : call_vector_of_3_10;
const ternaryfunc call_by_vector = exported<ternaryfunc>("PyVectorcall_Call");

bool holds_gil() { return check_gil() != 0; }

bool HeldBuffer::has(PyObject* object) { return has_buffer(object) != 0; }

HeldBuffer::HeldBuffer(PyObject* object) {
  static_assert(sizeof(BufferView) == sizeof(view_));
  if (get_buffer(object, reinterpret_cast<BufferView*>(view_), kSimple) != 0) py::raise();
}

HeldBuffer::~HeldBuffer() { release_buffer(reinterpret_cast<BufferView*>(view_)); }

const void* HeldBuffer::data() const { return reinterpret_cast<const BufferView*>(view_)->data; }
size_t HeldBuffer::size() const { return static_cast<size_t>(reinterpret_cast<const BufferView*>(view_)->bytes); }

}  // namespace wave
