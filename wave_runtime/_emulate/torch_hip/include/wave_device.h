// Devices that do not come from the extension's own code: Python's and the dispatcher's, whose type is torch's number
// for CUDA, and those that have names.
#pragma once

#include <c10/core/DeviceType.h>
#include <c10/util/Exception.h>

#include <cstdint>
#include <cstdlib>
#include <string>

namespace c10 {

inline DeviceType wave_type(DeviceType type) { return static_cast<int>(type) == 1 ? DeviceType::CUDA : type; }

inline DeviceType wave_type_of(const std::string& device) {
  const std::string name = device.substr(0, device.find(':'));
  for (int i = 0; i < COMPILE_TIME_MAX_DEVICE_TYPES; ++i) {
    const DeviceType type = static_cast<DeviceType>(i);
    if (DeviceTypeName(type, true) == name) return wave_type(type);
  }
  TORCH_CHECK(false, "no device is called '", device, "': expected the name of a kind, as in 'cuda' or 'cuda:0'");
}

inline int8_t wave_index_of(const std::string& device) {
  const size_t colon = device.find(':');
  if (colon == std::string::npos) return -1;
  const std::string number = device.substr(colon + 1);
  TORCH_CHECK(!number.empty() && number.size() < 3 && number.find_first_not_of("0123456789") == std::string::npos,
              "no device is called '", device, "': expected a number behind the colon, as in 'cuda:0'");
  return static_cast<int8_t>(std::atoi(number.c_str()));
}

}  // namespace c10
