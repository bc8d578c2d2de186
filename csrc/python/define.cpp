#include "python/define.h"

#include <algorithm>

#include "python/docs.h"

namespace wave::py {

namespace {

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(", ", begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 2;
  }
  return parts;
}

object default_of(const std::string& text) {
  if (text == "None") return none();
  if (text == "True" || text == "False") return to_python(text == "True");
  if (text == "()") return tuple();
  if (text.starts_with('"')) return py::text(std::string_view(text).substr(1, text.size() - 2));
  return steal(PyLong_FromString(text.c_str(), nullptr, 0));
}

}  // namespace

Parameters::Parameters(const std::string& function, const std::string& text) : function_(function) {
  Kind kind = Kind::Usual;
  for (const std::string& part : split(text)) {
    const size_t stars = std::min(part.find_first_not_of('*'), part.size());
    if (stars == 1) kind = Kind::KeywordOnly;
    const size_t equals = part.find('=');
    const std::string name = part.substr(stars, equals - stars);
    if (name.empty()) continue;
    const Kind own = stars == 1 ? Kind::Arguments : stars == 2 ? Kind::Keywords : kind;
    parameters_.push_back({name, own, equals == std::string::npos ? object() : default_of(part.substr(equals + 1)),
                           wave::text(function, "(): ", name)});
  }
}

size_t Parameters::index_of(const std::string& name) const {
  const auto is_it = [&](const One& one) {
    return one.name == name && (one.kind == Kind::Usual || one.kind == Kind::KeywordOnly);
  };
  return static_cast<size_t>(std::ranges::find_if(parameters_, is_it) - parameters_.begin());
}

std::vector<object> Parameters::bind(PyObject* const* arguments, Py_ssize_t count, PyObject* names) const {
  std::vector<object> values(parameters_.size());
  size_t next = 0;
  const auto given = static_cast<size_t>(count);
  const auto of_kind = [&](Kind kind) {
    return std::ranges::find_if(parameters_, [&](const One& one) { return one.kind == kind; }) - parameters_.begin();
  };
  for (; next < given && next < values.size() && parameters_[next].kind == Kind::Usual; ++next) {
    values[next] = borrow(arguments[next]);
  }
  if (const auto rest = static_cast<size_t>(of_kind(Kind::Arguments)); rest < values.size()) {
    tuple others(given - next);
    for (size_t i = next; i < given; ++i) others.set(i - next, borrow(arguments[i]));
    values[rest] = others;
  } else if (next < given) {
    throw TypeError(wave::text(function_, "() takes at most ", next, " positional arguments, given ", given));
  }
  dict keywords;
  const tuple keyword_names = names == nullptr ? tuple() : tuple(borrow(names));
  for (size_t i = 0; i < keyword_names.size(); ++i) {
    const std::string name = str::of(keyword_names[i]);
    const object value = borrow(arguments[given + i]);
    const size_t index = index_of(name);
    if (index == values.size()) {
      keywords.set(keyword_names[i], value);
    } else if (values[index]) {
      throw TypeError(wave::text(function_, "() got two values for '", name, "'"));
    } else {
      values[index] = value;
    }
  }
  if (const auto rest = static_cast<size_t>(of_kind(Kind::Keywords)); rest < values.size()) {
    values[rest] = keywords;
  } else {
    keywords.each([&](handle name, handle) {
      throw TypeError(wave::text(function_, "() got an unexpected keyword '", str::of(name), "'"));
    });
  }
  for (size_t i = 0; i < values.size(); ++i) {
    if (!values[i]) values[i] = parameters_[i].default_value;
    if (!values[i]) throw TypeError(wave::text(function_, "(): the argument '", parameters_[i].name, "' is missing"));
  }
  return values;
}

const char* keep(const std::string& text) { return (new std::string(text))->c_str(); }

const char* with_doc(const char* signature, const char* doc) {
  return doc == nullptr ? signature : keep(wave::text(signature, doc));
}

void add_functions(handle module, std::vector<PyMethodDef> functions) {
  for (PyMethodDef& function : functions) function.ml_doc = with_doc(function.ml_doc, doc_of(function.ml_name));
  functions.push_back({});
  // Python keeps the address of each.
  if (PyModule_AddFunctions(module.ptr(), (new std::vector(std::move(functions)))->data()) != 0) raise();
}

}  // namespace wave::py
