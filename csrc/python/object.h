// Owning references to Python objects, with the notation that C++ bindings usually have.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "python/python_error.h"

namespace wave::py {

/// Throws the Python error that is set.
[[noreturn]] inline void raise() { throw python_error(); }

class object;
class tuple;
class dict;

/// A borrowed reference, or null.
class handle {
 public:
  handle() = default;
  handle(PyObject* object) : ptr_(object) {}

  PyObject* ptr() const { return ptr_; }
  explicit operator bool() const { return ptr_ != nullptr; }
  bool is_none() const { return ptr_ == Py_None; }

  /// Throws AttributeError.
  object attr(const char* name) const;
  bool has_attr(const char* name) const { return PyObject_HasAttrString(ptr_, name) != 0; }
  void set_attr(const char* name, handle value) const {
    if (PyObject_SetAttrString(ptr_, name, value.ptr_) != 0) raise();
  }

  /// Calls the object with what converts to Python objects.
  template <class... Arguments>
  object operator()(Arguments&&... arguments) const;
  object call(const tuple& arguments) const;
  object call(const tuple& arguments, const dict& keywords) const;

 protected:
  PyObject* ptr_ = nullptr;
};

class object : public handle {
 public:
  object() = default;
  object(const object& other) : handle(other.ptr_) { Py_XINCREF(ptr_); }
  object(object&& other) noexcept : handle(std::exchange(other.ptr_, nullptr)) {}
  object& operator=(object other) noexcept {
    std::swap(ptr_, other.ptr_);
    return *this;
  }
  ~object() { Py_XDECREF(ptr_); }

  /// Gives the reference away.
  PyObject* release() { return std::exchange(ptr_, nullptr); }

 protected:
  explicit object(PyObject* owned) : handle(owned) {}
  friend object steal(PyObject*);
};

/// Takes a new reference, as most functions of the C API return it. Throws the error that is set where it is null.
inline object steal(PyObject* reference) {
  if (reference == nullptr) raise();
  return object(reference);
}

inline object borrow(handle object) {
  Py_XINCREF(object.ptr());
  return object ? steal(object.ptr()) : py::object();
}

inline object none() { return borrow(Py_None); }

/// Each type has check(), whether an object is of it, and a constructor that takes an object which is.
#define WAVE_PYTHON_TYPE(Name, kText, Check)                       \
  Name(object&& other) : object(std::move(other)) {}               \
  static bool check(handle object) { return Check(object.ptr()); } \
  static constexpr const char* kTypeName = kText;

class str : public object {
 public:
  WAVE_PYTHON_TYPE(str, "str", PyUnicode_Check)
  /// What str() makes of an object. Throws what __str__ raises.
  static std::string of(handle object);
};

class bytes : public object {
 public:
  WAVE_PYTHON_TYPE(bytes, "bytes", PyBytes_Check)
  bytes(const void* data, size_t size)
      : object(steal(PyBytes_FromStringAndSize(static_cast<const char*>(data), static_cast<Py_ssize_t>(size)))) {}
  explicit bytes(std::span<const uint8_t> data) : bytes(data.data(), data.size()) {}
  std::span<const uint8_t> span() const {
    const std::string_view bytes = view();
    return {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()};
  }
  std::string_view view() const {
    char* data = nullptr;
    Py_ssize_t size = 0;
    if (PyBytes_AsStringAndSize(ptr_, &data, &size) != 0) raise();
    return {data, static_cast<size_t>(size)};
  }
};

class tuple : public object {
 public:
  WAVE_PYTHON_TYPE(tuple, "tuple", PyTuple_Check)
  explicit tuple(size_t size = 0) : object(steal(PyTuple_New(static_cast<Py_ssize_t>(size)))) {}
  size_t size() const { return static_cast<size_t>(PyTuple_Size(ptr_)); }
  /// Borrowed.
  handle operator[](size_t index) const { return PyTuple_GetItem(ptr_, static_cast<Py_ssize_t>(index)); }
  /// Only while nobody else has the tuple.
  void set(size_t index, object item) { PyTuple_SetItem(ptr_, static_cast<Py_ssize_t>(index), item.release()); }
};

/// What iterating over an object gives, as a tuple. Throws TypeError.
inline tuple tuple_of(handle iterable) { return steal(PySequence_Tuple(iterable.ptr())); }

class list : public object {
 public:
  WAVE_PYTHON_TYPE(list, "list", PyList_Check)
  list() : object(steal(PyList_New(0))) {}
  void set(size_t index, object item) { PyList_SetItem(ptr_, static_cast<Py_ssize_t>(index), item.release()); }
  template <class Value>
  void append(const Value& value);
};

class dict : public object {
 public:
  WAVE_PYTHON_TYPE(dict, "dict", PyDict_Check)
  dict() : object(steal(PyDict_New())) {}
  template <class Name, class Value>
  void set(const Name& name, const Value& value);
  /// Borrowed; null where there is none.
  handle find(handle key) const {
    const handle found = PyDict_GetItemWithError(ptr_, key.ptr());
    if (!found && PyErr_Occurred() != nullptr) raise();
    return found;
  }
  void update(const dict& other) {
    if (PyDict_Update(ptr_, other.ptr()) != 0) raise();
  }
  size_t size() const { return static_cast<size_t>(PyDict_Size(ptr_)); }
  /// visit(name, value), both borrowed, in the order of insertion.
  template <class Visit>
  void each(const Visit& visit) const {
    Py_ssize_t position = 0;
    PyObject *name = nullptr, *value = nullptr;
    while (PyDict_Next(ptr_, &position, &name, &value) != 0) visit(handle(name), handle(value));
  }
};

#undef WAVE_PYTHON_TYPE

inline object import(const char* module) { return steal(PyImport_ImportModule(module)); }

/// The name of an object's type for messages, as Python's own messages have it: with the module for those that
/// extensions define, "numpy.ndarray".
std::string type_name(handle object);
/// The same for what was given in the place of something else: "None" is said as it is written.
inline std::string given_text(handle object) { return object.is_none() ? "None" : type_name(object); }

/// A reference that may be copied and dropped without the interpreter's lock, and after the interpreter's end.
std::shared_ptr<PyObject> shared(const object& object);

/// A Python string of text that came out of a file: bytes that are not UTF-8 become "\xff".
str text(std::string_view text);

}  // namespace wave::py
