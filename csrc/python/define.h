// Functions of C++ as functions and methods of Python, which inspect.signature() and help() know: their docstrings are
// those of the stub.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "python/convert.h"
#include "python/errors.h"

namespace wave::py {

/// The parameters of a function as Python writes them: "data, target=None, *, memory=()", "*arguments, **keywords".
/// Defaults are None, True, False, (), integers and text in quotation marks.
class Parameters {
 public:
  Parameters(const std::string& function, const std::string& text);

  /// The value of each, of a call with METH_FASTCALL | METH_KEYWORDS. Throws TypeError.
  std::vector<object> bind(PyObject* const* arguments, Py_ssize_t count, PyObject* names) const;
  /// What a message calls one: "code_objects(): data".
  Where where(size_t index) const { return {.what = parameters_[index].text.c_str()}; }

 private:
  enum class Kind { Usual, KeywordOnly, Arguments, Keywords };
  struct One {
    std::string name;
    Kind kind;
    object default_value;
    std::string text;
  };
  size_t index_of(const std::string& name) const;

  std::string function_;
  std::vector<One> parameters_;
};

/// A string that lives for good, since Python keeps its address.
const char* keep(const std::string& text);

/// A function's signature as `define` writes it, with its docstring, if there is one.
const char* with_doc(const char* signature, const char* doc);

namespace detail {

/// Calls a function with values from Python, of which `first` are no parameters: self.
template <class Result, class... Arguments>
object call(Result (*function)(Arguments...), const Parameters& parameters, const std::vector<object>& values,
            size_t first) {
  const auto where = [&](size_t index) {
    return index < first ? Where{.what = "self"} : parameters.where(index - first);
  };
  return [&]<size_t... kIndex>(std::index_sequence<kIndex...>) -> object {
    if constexpr (std::is_void_v<Result>) {
      function(from_python<Arguments>(values[kIndex], where(kIndex))...);
      return none();
    } else {
      return to_python<std::remove_cvref_t<Result>>(function(from_python<Arguments>(values[kIndex], where(kIndex))...));
    }
  }(std::index_sequence_for<Arguments...>());
}

/// What Python calls for one function.
template <auto kFunction, bool kIsMethod>
struct DefinedFunction {
  static inline const Parameters* parameters = nullptr;  ///< set when the function is defined, for good

  static PyObject* call(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
    return with_python_errors([&] {
      std::vector<object> values = parameters->bind(arguments, count, names);
      if (kIsMethod) values.insert(values.begin(), borrow(self));
      return detail::call(kFunction, *parameters, values, kIsMethod ? 1 : 0);
    });
  }
};

template <auto kFunction, bool kIsMethod>
PyMethodDef define(const char* name, const std::string& parameters) {
  using Function = DefinedFunction<kFunction, kIsMethod>;
  Function::parameters = new Parameters(name, parameters);
  const char* const self = !kIsMethod ? "" : parameters.empty() ? "$self" : "$self, ";
  return {name, reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(Function::call)), METH_FASTCALL | METH_KEYWORDS,
          keep(wave::text(name, "(", self, parameters, ")\n--\n\n"))};
}

template <class Result, class Self>
Result result_of(Result (*function)(Self), PyObject* self) {
  return function(from_python<Self>(self, {.what = "self"}));
}
template <class Result, class Self>
Result result_of(Result (Self::*function)() const, PyObject* self) {
  return (from_python<const Self&>(self, {.what = "self"}).*function)();
}

template <auto kRead>
PyObject* read(PyObject* self) {
  return with_python_errors([&] { return to_python(result_of(kRead, self)); });
}

}  // namespace detail

/// A function of a module.
template <auto kFunction>
PyMethodDef function(const char* name, const std::string& parameters) {
  return detail::define<kFunction, false>(name, parameters);
}

/// A method, whose C++ function takes the object as its first argument.
template <auto kFunction>
PyMethodDef method(const char* name, const std::string& parameters) {
  return detail::define<kFunction, true>(name, parameters);
}

/// A property: what a function of the object, or a method of its C++ class, returns.
template <auto kRead>
PyGetSetDef property(const char* name) {
  return {name, [](PyObject* self, void*) { return detail::read<kRead>(self); }, nullptr, nullptr, nullptr};
}

/// The slot of a type for a function of Python's C API.
template <class Function>
PyType_Slot slot(int id, Function* function) {
  return {id, reinterpret_cast<void*>(function)};
}
inline PyType_Slot doc_slot(const char* doc) { return {Py_tp_doc, const_cast<char*>(doc)}; }
/// The slot for repr(), whose text a function of the object makes.
template <auto kText>
PyType_Slot repr_slot() {
  return slot(Py_tp_repr, +[](PyObject* self) { return detail::read<kText>(self); });
}

/// Adds functions to a module. Throws what Python raises.
void add_functions(handle module, std::vector<PyMethodDef> functions);
/// Adds an object, such as a type, under a name.
inline void add_object(handle module, const char* name, handle added) { module.set_attr(name, added); }
/// Makes State's type, as make_callable_type() does, and adds it under the name that it has.
template <class State>
void add_type(handle module, TypeParts parts) {
  add_object(module, std::strrchr(State::kName, '.') + 1, make_callable_type<State>(std::move(parts)));
}

}  // namespace wave::py
