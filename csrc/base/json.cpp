#include "base/json.h"

#include <algorithm>
#include <cstdint>

namespace wave {

namespace {

uint8_t byte_of(char c) { return static_cast<uint8_t>(c); }

/// How many bytes a character has whose first byte is not of ASCII; 0 where they are no UTF-8 (RFC 3629): too long for
/// what it is, half of a pair of UTF-16, beyond the last there is, or cut off.
size_t utf8_bytes(std::string_view text) {
  const uint8_t first = byte_of(text[0]);
  const size_t count = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < count) return 0;
  const auto follows = [](char c) { return (byte_of(c) & 0xc0) == 0x80; };
  if (!std::ranges::all_of(text.substr(1, count - 1), follows)) return 0;
  const uint8_t second = byte_of(text[1]);
  const bool is_too_long = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
  const bool is_none = (first == 0xed && second >= 0xa0) || (first == 0xf4 && second >= 0x90);
  return is_too_long || is_none ? 0 : count;
}

}  // namespace

std::string json_text(std::string_view value) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out = "\"";
  for (size_t i = 0; i < value.size();) {
    const char c = value[i];
    if (byte_of(c) >= 0x80) {
      if (const size_t count = utf8_bytes(value.substr(i)); count != 0) {
        out += value.substr(i, count);
        i += count;
        continue;
      }
      out += {'\\', '\\', 'x', kDigits[byte_of(c) / 16], kDigits[byte_of(c) % 16]};
    } else if (c == '\n') {
      out += "\\n";
    } else if (c >= ' ') {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
    ++i;
  }
  return out + "\"";
}

}  // namespace wave
