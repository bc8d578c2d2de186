// Values of C++ as Python objects, and back.
#pragma once

#include <array>
#include <concepts>
#include <functional>
#include <map>
#include <optional>
#include <ranges>
#include <set>
#include <tuple>
#include <variant>
#include <vector>

#include "base/error.h"
#include "python/callable_type.h"
#include "python/numbers.h"
#include "python/object.h"

namespace wave::py {

/// How a type is converted, either way or both:
///
///   to(value)            a new Python object
///   is(object)           whether an object can be the argument for one
///   kExpected            what can, for messages
///   from(object, where)  its value. Throws ValueError where that does not fit.
template <class T>
struct Converter;

template <class T>
object to_python(const T& value) {
  return Converter<T>::to(value);
}

/// Throws TypeError for an object of another kind.
template <class T>
decltype(auto) from_python(handle object, const Where& where) {
  using To = Converter<std::remove_cvref_t<T>>;
  if (To::is(object)) return To::from(object, where);
  throw TypeError(wave::text(where.text(), ": expected ", To::kExpected, ", given ", given_text(object)));
}

/// Python's own types, as they are.
template <std::derived_from<handle> T>
struct Converter<T> {
  static object to(const T& value) { return borrow(value); }
  static bool is(handle object) {
    if constexpr (requires { T::check(object); }) return T::check(object);
    return true;
  }
  static constexpr const char* kExpected = [] {
    if constexpr (requires { T::kTypeName; }) return T::kTypeName;
    return "an object";
  }();
  static T from(handle object, const Where&) { return T(borrow(object)); }
};

/// Objects of our own types, by reference.
template <class T>
  requires requires { T::kName; }
struct Converter<T> {
  static bool is(handle object) { return CallableObject<T>::is(object.ptr()); }
  static constexpr const char* kExpected = T::kName;
  static T& from(handle object, const Where&) { return state_of<T>(object.ptr()); }
};

template <>
struct Converter<bool> {
  static object to(bool value) { return borrow(value ? Py_True : Py_False); }
  static bool is(handle object) { return PyBool_Check(object.ptr()); }
  static constexpr const char* kExpected = "a bool";
  static bool from(handle object, const Where&) { return object.ptr() == Py_True; }
};

template <std::integral T>
struct Converter<T> {
  static object to(T value) {
    if constexpr (std::signed_integral<T>) return steal(PyLong_FromLongLong(value));
    return steal(PyLong_FromUnsignedLongLong(static_cast<unsigned long long>(value)));
  }
  static bool is(handle object) { return PyIndex_Check(object.ptr()) != 0; }
  static constexpr const char* kExpected = "an int";
  static T from(handle object, const Where& where) {
    const Integer integer = read_integer(object.ptr(), sizeof(T) * 8, where);
    const T value = static_cast<T>(integer.word);
    if ((std::signed_integral<T> && value < 0) == integer.is_negative) return value;
    throw ValueError(wave::text(where.text(), ": ", str::of(object), " is out of range"));
  }
};

template <>
struct Converter<double> {
  static object to(double value) { return steal(PyFloat_FromDouble(value)); }
  static bool is(handle object) { return PyFloat_Check(object.ptr()) || PyIndex_Check(object.ptr()) != 0; }
  static constexpr const char* kExpected = "a float";
  static double from(handle object, const Where&) { return read_real(object.ptr()).value(); }
};

/// Text that somebody else has.
template <std::convertible_to<std::string_view> T>
struct Converter<T> {
  static object to(std::string_view value) { return text(value); }
};

template <>
struct Converter<std::string> {
  static object to(const std::string& value) { return text(value); }
  static bool is(handle object) { return PyUnicode_Check(object.ptr()); }
  static constexpr const char* kExpected = "a str";
  static std::string from(handle object, const Where&) {
    Py_ssize_t size = 0;
    const char* const utf8 = PyUnicode_AsUTF8AndSize(object.ptr(), &size);
    if (utf8 == nullptr) raise();
    return {utf8, static_cast<size_t>(size)};
  }
};

template <class T>
struct Converter<std::optional<T>> {
  static object to(const std::optional<T>& value) { return value ? to_python(*value) : none(); }
  static bool is(handle object) { return object.is_none() || Converter<T>::is(object); }
  static constexpr const char* kExpected = Converter<T>::kExpected;
  static std::optional<T> from(handle object, const Where& where) {
    if (object.is_none()) return std::nullopt;
    return Converter<T>::from(object, where);
  }
};

template <class... T>
struct Converter<std::variant<T...>> {
  static object to(const std::variant<T...>& value) {
    return std::visit([](const auto& v) { return to_python(v); }, value);
  }
  static bool is(handle object) { return (Converter<T>::is(object) || ...); }
  static constexpr const char* kExpected = Converter<std::variant_alternative_t<0, std::variant<T...>>>::kExpected;
  static std::variant<T...> from(handle object, const Where& where) {
    std::variant<T...> value;
    ((Converter<T>::is(object) ? (value = Converter<T>::from(object, where), true) : false) || ...);
    return value;
  }
};

/// What `convert` makes of each item of a container, as a list.
template <std::ranges::range Items, class Convert = std::identity>
list list_of(const Items& items, const Convert& convert = {}) {
  list result;
  for (const auto& item : items) result.append(convert(item));
  return result;
}
/// The same as a tuple.
template <std::ranges::range Items, class Convert = std::identity>
tuple tuple_of(const Items& items, const Convert& convert = {}) {
  tuple result(std::ranges::size(items));
  size_t index = 0;
  for (const auto& item : items) result.set(index++, to_python(convert(item)));
  return result;
}

/// Targets as their ids.
template <>
struct Converter<Target> {
  static object to(const Target& target) { return text(target.id()); }
  static bool is(handle object) { return Converter<std::string>::is(object); }
  static constexpr const char* kExpected = Converter<std::string>::kExpected;
  static Target from(handle object, const Where& where) {
    return Target::parse(Converter<std::string>::from(object, where));
  }
};

template <class T>
struct Converter<std::vector<T>> {
  static object to(const std::vector<T>& items) { return list_of(items); }
  static bool is(handle object) { return PySequence_Check(object.ptr()) != 0 && !PyUnicode_Check(object.ptr()); }
  static constexpr const char* kExpected = "a sequence";
  static std::vector<T> from(handle object, const Where& where) {
    const tuple items = tuple_of(object);
    std::vector<T> values;
    for (size_t i = 0; i < items.size(); ++i) values.push_back(from_python<T>(items[i], where));
    return values;
  }
};

template <class T, size_t kSize>
struct Converter<std::array<T, kSize>> {
  static object to(const std::array<T, kSize>& items) { return list_of(items); }
};

template <class T>
struct Converter<std::set<T>> {
  static object to(const std::set<T>& items) { return steal(PySet_New(list_of(items).ptr())); }
};

template <class Key, class Value>
struct Converter<std::map<Key, Value>> {
  static object to(const std::map<Key, Value>& items) {
    dict result;
    for (const auto& [key, value] : items) result.set(key, value);
    return result;
  }
};

/// Values of an enumeration as their names, which `kNames` has in order.
template <const auto& kNames>
struct NamedValues {
  static object to(auto value) { return text(kNames[static_cast<size_t>(value)]); }
};

/// The name of an enumerator. Compilers put it into the text of this function: "... [with auto kValue = Kind::Lds;
/// ...".
template <auto kValue>
constexpr std::string_view enumerator() {
  const std::string_view function = __PRETTY_FUNCTION__;
  const size_t end = function.find_first_of(";]", function.find("kValue = "));
  const size_t begin = function.rfind(':', end) + 1;
  return function.substr(begin, end - begin);
}
template <class Enumeration, size_t... kIndex>
constexpr std::array<std::string_view, sizeof...(kIndex)> enumerators(std::index_sequence<kIndex...>) {
  return {enumerator<static_cast<Enumeration>(kIndex)>()...};
}

/// Values of other enumerations are called as in the source.
template <class Enumeration>
  requires std::is_enum_v<Enumeration>
struct Converter<Enumeration> {
  static constexpr size_t kMost = 32;  ///< values, counted from 0
  static constexpr auto kNames = enumerators<Enumeration>(std::make_index_sequence<kMost>());
  static object to(Enumeration value) { return text(kNames.at(static_cast<size_t>(value))); }
};

template <class... Values>
tuple make_tuple(const Values&... values) {
  tuple result(sizeof...(Values));
  size_t index = 0;
  (result.set(index++, to_python(values)), ...);
  return result;
}

template <class... T>
struct Converter<std::tuple<T...>> {
  static object to(const std::tuple<T...>& items) {
    return std::apply([](const auto&... item) { return py::make_tuple(item...); }, items);
  }
};

/// A dictionary of names and values: {{"name", to_python(1)}, ...}.
struct item {
  template <class Value>
  item(const char* name, const Value& value) : name(name), value(to_python(value)) {}
  const char* name;
  object value;
};
inline dict make_dict(std::initializer_list<item> items) {
  dict result;
  for (const item& item : items) result.set(item.name, item.value);
  return result;
}

/// Members of an object as items of make_dict(), each under its own name: WAVE_MEMBERS(symbol, name, size) is
/// {"name", symbol.name}, {"size", symbol.size}. At most 64.
#define WAVE_MEMBERS(object, ...) WAVE_SCAN(WAVE_MEMBER(object, __VA_ARGS__))
#define WAVE_MEMBER(object, member, ...) \
  {#member, (object).member} __VA_OPT__(, WAVE_NEXT_MEMBER WAVE_PARENTHESES(object, __VA_ARGS__))
#define WAVE_NEXT_MEMBER() WAVE_MEMBER  // each scan by the preprocessor expands one: no macro expands within itself
#define WAVE_PARENTHESES ()
#define WAVE_SCAN(...) WAVE_SCAN_16(WAVE_SCAN_16(WAVE_SCAN_16(WAVE_SCAN_16(__VA_ARGS__))))
#define WAVE_SCAN_16(...) WAVE_SCAN_4(WAVE_SCAN_4(WAVE_SCAN_4(WAVE_SCAN_4(__VA_ARGS__))))
#define WAVE_SCAN_4(...) WAVE_SCAN_1(WAVE_SCAN_1(WAVE_SCAN_1(WAVE_SCAN_1(__VA_ARGS__))))
#define WAVE_SCAN_1(...) __VA_ARGS__

/// Has objects of a type become dictionaries: of what follows, which are items of make_dict() that say what of `value`.
#define WAVE_AS_DICT(Type, ...)                                              \
  template <>                                                                \
  struct py::Converter<Type> {                                               \
    static object to(const Type& value) { return make_dict({__VA_ARGS__}); } \
  };

template <class... Arguments>
object handle::operator()(Arguments&&... arguments) const {
  return call(py::make_tuple(arguments...));
}

template <class Value>
void list::append(const Value& value) {
  if (PyList_Append(ptr_, to_python(value).ptr()) != 0) raise();
}

template <class Name, class Value>
void dict::set(const Name& name, const Value& value) {
  if (PyObject_SetItem(ptr_, to_python(name).ptr(), to_python(value).ptr()) != 0) raise();
}

}  // namespace wave::py
