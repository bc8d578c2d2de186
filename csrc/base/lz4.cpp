#include "base/lz4.h"

#include <algorithm>

namespace wave {
namespace {

constexpr uint64_t kExtended = 15;  // of a length in a token: more bytes of it follow
constexpr uint64_t kShortestMatch = 4;

// The length that a token's four bits begin.
uint64_t read_length(const Bytes& block, uint64_t& at, uint64_t bits) {
  if (bits != kExtended) return bits;
  uint64_t length = bits;
  for (uint8_t byte = 255; byte == 255; length += byte) byte = block.read<uint8_t>(at++);
  return length;
}

}  // namespace

void decompress_lz4(const Bytes& block, std::span<uint8_t> out) {
  uint64_t at = 0, filled = 0;
  const auto check_room = [&](uint64_t length) {
    if (length > out.size() - filled) {
      block.fail(at, text("decompresses to more than the ", out.size(), " bytes that are declared"));
    }
  };
  for (;;) {
    const auto token = block.read<uint8_t>(at++);
    const uint64_t literals = read_length(block, at, token >> 4);
    check_room(literals);
    const Bytes copied = block.slice(at, literals);
    std::ranges::copy(copied.span(), out.begin() + static_cast<ptrdiff_t>(filled));
    at += literals;
    filled += literals;
    if (filled == out.size()) return;

    const auto distance = block.read<uint16_t>(at);
    if (distance == 0 || distance > filled) block.fail(at, text("a match ", distance, " bytes back, of ", filled));
    at += 2;
    const uint64_t match = read_length(block, at, token & 15) + kShortestMatch;
    check_room(match);
    // Byte by byte: a match may overlap what it writes.
    for (const uint64_t end = filled + match; filled < end; ++filled) out[filled] = out[filled - distance];
    if (filled == out.size()) return;
  }
}

}  // namespace wave
