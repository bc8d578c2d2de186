// base/json: texts, whatever bytes they have.

#include <cstdio>
#include <string>
#include <string_view>

#include "base/json.h"

namespace {

int failures = 0;

void expect(std::string_view text, std::string_view wanted) {
  const std::string found = wave::json_text(text);
  if (found == "\"" + std::string(wanted) + "\"") return;
  std::printf("%s: expected %.*s\n", found.c_str(), static_cast<int>(wanted.size()), wanted.data());
  ++failures;
}

/// A character of UTF-8.
void expect_same(std::string_view text) { expect(text, text); }
/// Bytes that are none.
void expect_bytes(std::string_view text, std::string_view wanted) {
  expect(text, wanted);
  expect("a" + std::string(text) + "z", "a" + std::string(wanted) + "z");
}

}  // namespace

int main() {
  expect("", "");
  expect("a \"word\" \\ ~", "a \\\"word\\\" \\\\ ~");
  expect("two\nlines\t\x1f\x01.", "two\\nlines.");
  // The first and the last characters of each length, and those on both sides of the halves of pairs.
  for (const char* one : {"\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xec\xbf\xbf", "\xed\x9f\xbf", "\xee\x80\x80",
                          "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf3\xbf\xbf\xbf", "\xf4\x8f\xbf\xbf"})
    expect_same(one);
  expect_same("\xc3\xa9t\xc3\xa9");
  // Bytes that begin no character, and those that others follow than must.
  expect_bytes("\x80", "\\\\x80");
  expect_bytes("\xbf", "\\\\xbf");
  expect_bytes("\xc1\xbf", "\\\\xc1\\\\xbf");  // too long for what it is
  expect_bytes("\xe0\x9f\xbf", "\\\\xe0\\\\x9f\\\\xbf");
  expect_bytes("\xf0\x8f\xbf\xbf", "\\\\xf0\\\\x8f\\\\xbf\\\\xbf");
  expect_bytes("\xed\xa0\x80", "\\\\xed\\\\xa0\\\\x80");  // half of a pair
  expect_bytes("\xed\xbf\xbf", "\\\\xed\\\\xbf\\\\xbf");
  expect_bytes("\xf4\x90\x80\x80", "\\\\xf4\\\\x90\\\\x80\\\\x80");  // beyond the last there is
  expect_bytes("\xf5\x80\x80\x80", "\\\\xf5\\\\x80\\\\x80\\\\x80");
  expect_bytes("\xff", "\\\\xff");
  expect_bytes("\xc2", "\\\\xc2");  // cut off
  expect_bytes("\xe2\x82", "\\\\xe2\\\\x82");
  expect_bytes("\xf0\x9f\x98", "\\\\xf0\\\\x9f\\\\x98");
  expect_bytes("\xf0\x9f\x98\xc0", "\\\\xf0\\\\x9f\\\\x98\\\\xc0");
  return failures != 0;
}
