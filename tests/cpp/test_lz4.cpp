// base/lz4: what a block means, and that a block that lies is refused at each of its bytes.

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/lz4.h"

namespace {

using namespace std::string_view_literals;

int failures = 0;

// The text in the block, or the reason why there is none.
std::string decompressed(std::string_view block, size_t size) {
  std::vector<uint8_t> out(size);
  // A copy of its own, so that a read past the end is seen by the sanitizer.
  const std::vector<uint8_t> copy(block.begin(), block.end());
  try {
    wave::decompress_lz4(wave::Bytes(copy, "block"), out);
  } catch (const wave::FormatError& error) {
    return error.what();
  }
  return {out.begin(), out.end()};
}

void expect(std::string_view block, size_t size, std::string_view wanted) {
  const std::string found = decompressed(block, size);
  if (found.find(wanted) != found.npos) return;
  std::printf("expected \"%.*s\", got \"%s\"\n", static_cast<int>(wanted.size()), wanted.data(), found.c_str());
  ++failures;
}

}  // namespace

int main() {
  expect(
      "\x30"
      "abc"sv,
      3, "abc");
  expect(
      "\x10"
      "a\x01\0\x10"
      "b"sv,
      6, "aaaaab");  // a match that overlaps what it writes
  expect(
      "\x22"
      "ab\x02\0\x10"
      "c"sv,
      9, "ababababc");  // and that ends within a repetition
  expect(
      "\x30"
      "abctrailing"sv,
      3, "abc");
  const std::string letters(15 + 255 + 7, 'x');
  expect("\xf0\xff\x07" + letters, letters.size(), letters);
  expect(
      "\x1f"
      "a\x01\0\xff\x03\x10"
      "b"sv,
      1 + 4 + 15 + 255 + 3 + 1, std::string(278, 'a') + "b");

  expect(""sv, 3, "1 bytes wanted, 0 left");
  expect(
      "\x30"
      "ab"sv,
      3, "3 bytes wanted, 2 left");
  expect("\xf0\xff"sv, 300, "1 bytes wanted, 0 left");
  expect(
      "\x30"
      "abc"sv,
      2, "more than the 2 bytes that are declared");
  expect(
      "\x1f"
      "a\x01\0\xff\xff\0"sv,
      20, "more than the 20 bytes that are declared");
  expect(
      "\x10"
      "a\0\0\x10"
      "b"sv,
      6, "a match 0 bytes back, of 1");
  expect(
      "\x10"
      "a\x02\0\x10"
      "b"sv,
      6, "a match 2 bytes back, of 1");
  expect(
      "\x10"
      "a\x01"sv,
      6, "2 bytes wanted, 1 left");
  return failures == 0 ? 0 : 1;
}
