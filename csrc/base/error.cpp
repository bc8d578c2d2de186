#include "base/error.h"

#include <cinttypes>
#include <cstdio>

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

}  // namespace wave
