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

std::optional<std::string> demangle(const std::string& symbol) {
  if (!symbol.starts_with("_Z")) return std::nullopt;  // "f" would be the type float
  const std::unique_ptr<char, decltype(&std::free)> name(abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, nullptr),
                                                         &std::free);
  return name ? std::optional<std::string>(name.get()) : std::nullopt;
}

std::string kernel_text(std::string_view symbol) {
  std::string name(symbol);
  name = demangle(name).value_or(name);
  return text("kernel '", name.substr(name.starts_with("void ") ? 5 : 0), "'");  // templates' say what they return
}

}  // namespace wave
