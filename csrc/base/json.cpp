#include "base/json.h"

namespace wave {

std::string json_text(std::string_view value) {
  std::string out = "\"";
  for (const char c : value) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else if (static_cast<unsigned char>(c) >= ' ') {
      out += c;
    }
  }
  return out + "\"";
}

}  // namespace wave
