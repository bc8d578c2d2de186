#include "base/error.h"

#include <cxxabi.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <memory>

namespace wave {

void append(std::string& out, double part) {
  char digits[32];
  std::snprintf(digits, sizeof(digits), "%g", part);
  out += digits;
}

std::string hex(uint64_t value) {
  char digits[24];
  std::snprintf(digits, sizeof(digits), "0x%" PRIx64, value);
  return digits;
}

namespace {

void replace_all(std::string& in, std::string_view what, std::string_view with) {
  for (size_t at = in.find(what); at != in.npos; at = in.find(what, at + with.size()))
    in.replace(at, what.size(), with);
}

std::optional<std::string> demangled(const std::string& symbol) {
  const std::unique_ptr<char, decltype(&std::free)> name(abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, nullptr),
                                                         &std::free);
  return name ? std::optional<std::string>(name.get()) : std::nullopt;
}

}  // namespace

std::optional<std::string> demangle(const std::string& symbol) {
  if (!symbol.starts_with("_Z")) return std::nullopt;  // "f" would be the type float
  if (std::optional<std::string> name = demangled(symbol)) return name;
  // Libraries before GCC 13's know neither _Float16 nor __bf16: other types of the language stand in for them.
  std::string known = symbol;
  replace_all(known, "DF16_", "Dd");
  replace_all(known, "DF16b", "De");
  std::optional<std::string> name = demangled(known);
  if (name) {
    replace_all(*name, "decimal64", "_Float16");
    replace_all(*name, "decimal128", "__bf16");
  }
  return name;
}

std::string kernel_text(std::string_view symbol) {
  std::string name(symbol);
  name = demangle(name).value_or(name);
  return text("kernel '", name.substr(name.starts_with("void ") ? 5 : 0), "'");  // templates' say what they return
}

}  // namespace wave
