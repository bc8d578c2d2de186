// Environment variables that the emulator reads at each launch.
#pragma once

#include <cstdlib>
#include <string>

namespace wave::emulator {

/// Empty where it is not set.
inline std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// Whether it has a value other than 0.
inline bool is_set(const char* name) {
  const std::string value = variable(name);
  return !value.empty() && value != "0";
}

}  // namespace wave::emulator
