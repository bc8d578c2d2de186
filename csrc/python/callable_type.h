// Python types whose objects are called by the vectorcall protocol, so that a call makes no tuple and no dictionary,
// and that take part in garbage collection.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "base/error.h"
#include "python/errors.h"

namespace wave {

struct CallableHead {
  PyObject_HEAD VectorCall vectorcall;
  PyObject* weak_references;
};

/// An object of such a type. `State` has what it is about, and these members:
///
///   kName    the type's name with its module
///   call     what a call does: of a VectorCall's arguments what with_python_errors() takes, or a VectorCall that is
///   noexcept; none for objects that are only held
///   each_reference(visit)    calls `visit` with each of its py::object that may be part of a circle; none where it has
///   none
template <class State>
struct CallableObject {
  CallableHead head;
  State state;

  static constexpr bool kIsCalled = requires { &State::call; };
  static constexpr Py_ssize_t kStateOffset = sizeof(CallableHead);
  static_assert(kStateOffset % alignof(State) == 0);

  static inline PyTypeObject* type = nullptr;  ///< owned by the module, which is never unloaded
  static bool is(PyObject* object) { return Py_TYPE(object) == type; }
};

template <class State>
State& state_of(PyObject* object) {
  return reinterpret_cast<CallableObject<State>*>(object)->state;
}

/// What a type has beyond calls and collection. `members` count from the beginning of State.
struct TypeParts {
  std::vector<PyType_Slot> slots = {};
  std::vector<PyMethodDef> methods = {};
  std::vector<PyGetSetDef> properties = {};
  std::vector<PyMemberDef> members = {};
  unsigned long flags = Py_TPFLAGS_DISALLOW_INSTANTIATION;
  /// A type in Python whose __call__ compilers find, and trace, where calls by the vectorcall protocol do not go there.
  py::object base = {};
};

namespace detail {

/// What is left of a call where the collector has taken an object apart that something can still reach.
PyObject* call_collected(PyObject* self, PyObject* const*, size_t, PyObject*);

/// Has help() say of a type and its parts what the stub does. `name` is the type's with its module.
void add_docs(std::string_view name, TypeParts& parts);

template <class State>
PyObject* call(PyObject* self, PyObject* const* arguments, size_t flags, PyObject* keyword_names) {
  return with_python_errors([&] { return State::call(self, arguments, flags, keyword_names); });
}

template <class State, class Visit>
void each_reference(State& state, const Visit& visit) {
  if constexpr (requires { state.each_reference(visit); }) state.each_reference(visit);
}

template <class State>
int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  int result = 0;
  each_reference(state_of<State>(self), [&](py::object& reference) {
    if (result == 0 && reference) result = visit(reference.ptr(), arg);
  });
  return result;
}

template <class State>
int clear(PyObject* self) {
  reinterpret_cast<CallableHead*>(self)->vectorcall = call_collected;
  each_reference(state_of<State>(self), [](py::object& reference) { reference = py::object(); });
  return 0;
}

template <class State>
void dealloc(PyObject* self) {
  PyTypeObject* const type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  if (reinterpret_cast<CallableHead*>(self)->weak_references != nullptr) PyObject_ClearWeakRefs(self);
  std::destroy_at(&state_of<State>(self));
  PyObject_GC_Del(self);
  Py_DECREF(type);
}

}  // namespace detail

/// A new object of `type`, State's own or one derived from it, over State(arguments...). The collector does not see it
/// before it is complete.
template <class State, class... Arguments>
py::object make_callable_of(PyTypeObject* type, Arguments&&... arguments) {
  PyObject* const made = PyType_GenericAlloc(type, 0);
  if (made == nullptr) py::raise();
  auto* object = reinterpret_cast<CallableObject<State>*>(made);
  PyObject_GC_UnTrack(made);
  try {
    new (&object->state) State{std::forward<Arguments>(arguments)...};
  } catch (...) {
    PyObject_GC_Del(made);
    Py_DECREF(type);
    throw;
  }
  if constexpr (CallableObject<State>::kIsCalled) {
    if constexpr (noexcept(State::call(nullptr, nullptr, 0, nullptr))) {
      object->head.vectorcall = State::call;
    } else {
      object->head.vectorcall = detail::call<State>;
    }
  }
  PyObject_GC_Track(made);
  return py::steal(made);
}

template <class State, class... Arguments>
py::object make_callable(Arguments&&... arguments) {
  return make_callable_of<State>(CallableObject<State>::type, std::forward<Arguments>(arguments)...);
}

/// Makes State's type, once.
template <class State>
py::object make_callable_type(TypeParts given) {
  using Object = CallableObject<State>;
  TypeParts& parts = *new TypeParts(std::move(given));  // Python keeps the addresses
  detail::add_docs(State::kName, parts);
  for (PyMemberDef& member : parts.members) member.offset += Object::kStateOffset;
  parts.members.push_back(
      {"__weaklistoffset__", T_PYSSIZET, offsetof(CallableHead, weak_references), READONLY, nullptr});
  unsigned long flags = parts.flags | Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC;
  if constexpr (Object::kIsCalled) {
    parts.members.push_back(
        {"__vectorcalloffset__", T_PYSSIZET, offsetof(CallableHead, vectorcall), READONLY, nullptr});
    if (!parts.base) parts.slots.push_back({Py_tp_call, reinterpret_cast<void*>(call_by_vector)});
    flags |= kHasVectorCall;
  }
  parts.members.push_back({});
  parts.methods.push_back({});
  parts.properties.push_back({});
  const std::initializer_list<PyType_Slot> added = {{Py_tp_members, parts.members.data()},
                                                    {Py_tp_methods, parts.methods.data()},
                                                    {Py_tp_getset, parts.properties.data()},
                                                    {Py_tp_traverse, reinterpret_cast<void*>(detail::traverse<State>)},
                                                    {Py_tp_clear, reinterpret_cast<void*>(detail::clear<State>)},
                                                    {Py_tp_dealloc, reinterpret_cast<void*>(detail::dealloc<State>)},
                                                    {0, nullptr}};
  parts.slots.insert(parts.slots.end(), added);
  PyType_Spec spec{State::kName, sizeof(Object), 0, static_cast<unsigned>(flags), parts.slots.data()};
  py::object type = py::steal(PyType_FromSpecWithBases(&spec, parts.base.ptr()));
  Object::type = reinterpret_cast<PyTypeObject*>(py::object(type).release());
  return type;
}

}  // namespace wave
