// As wave_dispatch_key.h, for the stable ABI, which has names of keys.
#pragma once

#include <string_view>

namespace c10 {

constexpr const char* wave_key(const char* name) {
  const std::string_view key = name;
  if (key == "CUDA") return "CPU";
  if (key == "AutogradCUDA") return "AutogradCPU";
  if (key == "AutocastCUDA" || key == "Autocast") return "AutocastCPU";
  return name;
}

constexpr int wave_priority(const char* name) {
  for (std::string_view key = name; !key.empty(); key.remove_prefix(1)) {
    if (key.substr(0, 3) == "CPU") return 65000;
  }
  return 65535;
}

}  // namespace c10
