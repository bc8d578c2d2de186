// Python types whose objects are called by the vectorcall protocol, so that a call makes no tuple and no dictionary,
// and that take part in garbage collection.
#pragma once

#include <structmember.h>

#include <memory>
#include <utility>
#include <vector>

#include "base/error.h"
#include "python/c_api.h"

namespace wave {

struct CallableHead {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject* weak_references;
};

/// An object of such a type. `State` has what it is about, and these members:
///
///   kName    the type's name with its module
///   call     what a call does, a vectorcallfunc; none for objects that are only held
///   each_reference(visit)    calls `visit` with each of its pybind11::object that may be part of a circle
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

namespace detail {

/// What is left of a call where the collector has taken an object apart that something can still reach.
inline PyObject* call_collected(PyObject* self, PyObject* const*, size_t, PyObject*) {
  return PyErr_Format(PyExc_RuntimeError, "this %s was garbage, and what it held is gone", Py_TYPE(self)->tp_name);
}

template <class State>
int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  int result = 0;
  state_of<State>(self).each_reference([&](pybind11::object& reference) {
    if (result == 0 && reference) result = visit(reference.ptr(), arg);
  });
  return result;
}

template <class State>
int clear(PyObject* self) {
  reinterpret_cast<CallableHead*>(self)->vectorcall = call_collected;
  state_of<State>(self).each_reference([](pybind11::object& reference) { reference = pybind11::object(); });
  return 0;
}

template <class State>
void dealloc(PyObject* self) {
  PyTypeObject* const type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  if (reinterpret_cast<CallableHead*>(self)->weak_references != nullptr) PyObject_ClearWeakRefs(self);
  std::destroy_at(&state_of<State>(self));
  type->tp_free(self);
  Py_DECREF(type);
}

}  // namespace detail

/// A new object of `type`, State's own or one derived from it, over State(arguments...). The collector does not see it
/// before it is complete.
template <class State, class... Arguments>
pybind11::object make_callable_of(PyTypeObject* type, Arguments&&... arguments) {
  auto* object = reinterpret_cast<CallableObject<State>*>(type->tp_alloc(type, 0));
  if (object == nullptr) throw pybind11::error_already_set();
  PyObject_GC_UnTrack(object);
  try {
    new (&object->state) State{std::forward<Arguments>(arguments)...};
  } catch (...) {
    type->tp_free(object);
    Py_DECREF(type);
    throw;
  }
  if constexpr (CallableObject<State>::kIsCalled) object->head.vectorcall = State::call;
  PyObject_GC_Track(object);
  return pybind11::reinterpret_steal<pybind11::object>(reinterpret_cast<PyObject*>(object));
}

template <class State, class... Arguments>
pybind11::object make_callable(Arguments&&... arguments) {
  return make_callable_of<State>(CallableObject<State>::type, std::forward<Arguments>(arguments)...);
}

/// Makes State's type, once, with what it has beyond calls and collection. The lists stay as they are for good, and end
/// with a null entry; `members` count from the begin of State.
template <class State>
pybind11::handle make_callable_type(std::vector<PyType_Slot> slots, std::vector<PyMemberDef> members = {},
                                    unsigned flags = Py_TPFLAGS_DISALLOW_INSTANTIATION) {
  using Object = CallableObject<State>;
  static std::vector<PyMemberDef> all;
  all = std::move(members);
  for (PyMemberDef& member : all) member.offset += Object::kStateOffset;
  all.push_back({"__weaklistoffset__", T_PYSSIZET, offsetof(CallableHead, weak_references), READONLY, nullptr});
  flags |= Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC;
  if constexpr (Object::kIsCalled) {
    all.push_back({"__vectorcalloffset__", T_PYSSIZET, offsetof(CallableHead, vectorcall), READONLY, nullptr});
    slots.push_back({Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)});
    flags |= Py_TPFLAGS_HAVE_VECTORCALL;
  }
  all.push_back({});
  slots.push_back({Py_tp_members, all.data()});
  slots.push_back({Py_tp_traverse, reinterpret_cast<void*>(detail::traverse<State>)});
  slots.push_back({Py_tp_clear, reinterpret_cast<void*>(detail::clear<State>)});
  slots.push_back({Py_tp_dealloc, reinterpret_cast<void*>(detail::dealloc<State>)});
  slots.push_back({0, nullptr});
  PyType_Spec spec{State::kName, sizeof(Object), 0, flags, slots.data()};
  PyObject* const type = PyType_FromSpec(&spec);
  if (type == nullptr) throw pybind11::error_already_set();
  Object::type = reinterpret_cast<PyTypeObject*>(type);
  return type;
}

}  // namespace wave
