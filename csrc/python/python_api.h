// Python's C API, of which only what is stable since 3.10 is there: one binding serves all later versions.
//
// What became stable after 3.10, and has the same signature there, is looked up when the binding is loaded.
// https://docs.python.org/3/c-api/stable.html lists what is stable since when.
#pragma once

#undef Py_LIMITED_API
#define Py_LIMITED_API 0x030a0000
#include <Python.h>
#include <structmember.h>

namespace wave {

/// PEP 590's call: `flags` holds the number of positional arguments; the values of keywords follow them.
using VectorCall = PyObject* (*)(PyObject* callable, PyObject* const* arguments, size_t flags, PyObject* names);

constexpr unsigned long kHasVectorCall = 1UL << 11;  ///< Py_TPFLAGS_HAVE_VECTORCALL, stable since 3.12

/// PyVectorcall_NARGS, stable since 3.12.
constexpr Py_ssize_t positional(size_t flags) {
  return static_cast<Py_ssize_t>(flags & ~(size_t{1} << (8 * sizeof(size_t) - 1)));
}

/// How many keywords have these names, of which there may be no tuple.
inline Py_ssize_t keyword_count(PyObject* names) { return names == nullptr ? 0 : PyTuple_Size(names); }

/// PyObject_Vectorcall, stable since 3.12.
extern const VectorCall call_vector;
/// PyVectorcall_Call, stable since 3.12: a type's tp_call where its objects have a VectorCall.
extern const ternaryfunc call_by_vector;

/// PyGILState_Check, which no stable function replaces, and which all versions export: whether this thread has the
/// lock.
bool holds_gil();

/// The memory of an object that has the buffer protocol (which is stable since 3.11), as plain bytes.
class HeldBuffer {
 public:
  /// Whether an object has the protocol.
  static bool has(PyObject* object);
  /// Throws BufferError where the bytes do not lie side by side.
  explicit HeldBuffer(PyObject* object);
  ~HeldBuffer();
  HeldBuffer(const HeldBuffer&) = delete;
  HeldBuffer& operator=(const HeldBuffer&) = delete;

  const void* data() const;
  size_t size() const;

 private:
  alignas(void*) char view_[80];  ///< a Py_buffer, whose members are the same in all versions
};

}  // namespace wave
