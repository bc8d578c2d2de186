#include "base/error.h"

namespace wave {

std::string hex(uint64_t value) {
  std::ostringstream stream;
  stream << "0x" << std::hex << value;
  return stream.str();
}

}  // namespace wave
