// emulator/print_format: the texts of kernels' printf.

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <string>
#include <vector>

#include "emulator/op.h"
#include "emulator/print_format.h"

void wave::emulator::fault(std::string, int) { std::abort(); }

namespace {

int failures = 0;

/// An argument as clang sends it: a word, a float as a double, or a string that fills whole words.
struct Argument {
  Argument(const char* text) : words(std::strlen(text) / 8 + 1) { std::memcpy(words.data(), text, std::strlen(text)); }
  Argument(int value) : words{static_cast<wave::emulator::u64>(value)} {}
  Argument(double value) : words{__builtin_bit_cast(wave::emulator::u64, value)} {}

  std::vector<wave::emulator::u64> words;
};

void expect(const char* wanted, std::initializer_list<Argument> message) {
  std::vector<wave::emulator::u64> words;
  for (const Argument& argument : message) words.insert(words.end(), argument.words.begin(), argument.words.end());
  const std::string found = wave::emulator::print_format(words);
  if (found == wanted) return;
  std::printf("%s: expected '%s'\n", found.c_str(), wanted);
  ++failures;
}

}  // namespace

int main() {
  expect("1 of a kernel: 2.50%", {"%d of %s: %.2f%%", 1, "a kernel", 2.5});
  expect("  +7|0042|  abc", {"%+*d|%.*d|%*s", 4, 7, 4, 42, 5, "abc"});
  expect("1 ", {"%d %d", 1});  // one is missing
  expect("% k 5", {"% k %d", 5});
  // Arguments with numbers (POSIX).
  expect("1 2", {"%1$d %2$d", 1, 2});
  expect("2 1 2", {"%2$d %1$d %2$d", 1, 2});
  expect("1.50 a string 1.5", {"%1$.2f %2$s %1$g", 1.5, "a string"});
  expect("0x1f|  31", {"%1$#x|%1$*2$d", 31, 4});
  expect("3.14", {"%1$.*2$f", 3.14159, 2});
  expect("%1 7", {"%1 %1$d", 7});
  expect("", {"%3$d", 1, 2});
  expect("%0$d 1", {"%0$d %1$d", 1});
  expect("one:one:o", {"%1$s:%1$s:%1$.1s", "one"});
  // The second conversion is of the first argument, a string: clang sends it as such where both are strings.
  expect("two one", {"%2$s %1$s", "one", "two"});
  return failures;
}
