#include "emulator/print_format.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "emulator/op.h"

namespace wave::emulator {

namespace {

constexpr size_t kLongest = 1 << 20;  ///< characters

/// The words of a message, one after another.
class Reader {
 public:
  explicit Reader(std::span<const u64> words) : words_(words) {}

  size_t left() const { return words_.size(); }
  u64 word() {
    const u64 word = words_.front();
    words_ = words_.subspan(1);
    return word;
  }
  /// Up to its zero, or the message's end.
  std::string string() {
    const auto* const begin = reinterpret_cast<const char*>(words_.data());
    const size_t length = strnlen(begin, words_.size_bytes());
    words_ = words_.subspan(std::min(words_.size(), length / sizeof(u64) + 1));
    return {begin, length};
  }

 private:
  std::span<const u64> words_;
};

/// One conversion of a format string, "%-*.3lld".
struct Conversion {
  std::string_view flags, width, precision;  ///< the latter with its point
  std::string_view length;
  char letter = 0;

  int stars() const { return (width == "*") + (precision == ".*"); }
};

/// Cuts the characters off `text` that are among `set`.
std::string_view take(std::string_view& text, std::string_view set) {
  const std::string_view taken = text.substr(0, std::min(text.find_first_not_of(set), text.size()));
  text.remove_prefix(taken.size());
  return taken;
}

std::string_view take_number(std::string_view& text) {
  return text.starts_with('*') ? take(text, "*").substr(0, 1) : take(text, "0123456789");
}

/// Reads the conversion behind a percent sign; without a letter where it is none.
Conversion take_conversion(std::string_view& text) {
  Conversion conversion;
  conversion.flags = take(text, "-+ #0'");
  conversion.width = take_number(text);
  if (text.starts_with('.')) {
    const char* const begin = text.data();
    text.remove_prefix(1);
    conversion.precision = {begin, 1 + take_number(text).size()};
  }
  conversion.length = take(text, "hljztqL");
  constexpr std::string_view kLetters = "diouxXcfFeEgGaAspn";
  if (!text.empty() && kLetters.find(text[0]) != kLetters.npos) {
    conversion.letter = text[0];
    text.remove_prefix(1);
  }
  return conversion;
}

/// The conversion as the host's printf takes it, with another length.
std::string specification(const Conversion& conversion, std::string_view length) {
  std::string result = "%";
  for (const std::string_view part : {conversion.flags, conversion.width, conversion.precision, length}) result += part;
  return result + conversion.letter;
}

/// `stars`: the values of the conversion's asterisks.
template <class Value>
void print(std::string& out, const std::string& specification, std::span<const int> stars, Value value) {
  const auto run = [&](char* to, size_t size) {
    const char* const format = specification.c_str();
    if (stars.empty()) return std::snprintf(to, size, format, value);
    if (stars.size() == 1) return std::snprintf(to, size, format, stars[0], value);
    return std::snprintf(to, size, format, stars[0], stars[1], value);
  };
  const int length = run(nullptr, 0);
  if (length < 0 || out.size() + static_cast<size_t>(length) > kLongest) fault("a printf of more than 1 MiB");
  const size_t before = out.size();
  out.resize(before + static_cast<size_t>(length) + 1);
  run(&out[before], static_cast<size_t>(length) + 1);
  out.pop_back();
}

void print_integer(std::string& out, const Conversion& conversion, std::span<const int> stars, u64 value) {
  const bool is_long = conversion.length.find_first_of("ljztqL") != conversion.length.npos;
  if (is_long) return print(out, specification(conversion, "ll"), stars, static_cast<long long>(value));
  print(out, specification(conversion, conversion.length.substr(0, 2)), stars, static_cast<int>(value));
}

void print_argument(std::string& out, const Conversion& conversion, std::span<const int> stars, Reader& reader) {
  switch (conversion.letter) {
    case 'n':
      reader.word();
      return;
    case 's':
      return print(out, specification(conversion, ""), stars, reader.string().c_str());
    case 'c':
      return print(out, specification(conversion, ""), stars, static_cast<int>(reader.word()));
    case 'p':
      return print(out, specification(conversion, ""), stars, reinterpret_cast<void*>(reader.word()));
    case 'd':
    case 'i':
    case 'o':
    case 'u':
    case 'x':
    case 'X':
      return print_integer(out, conversion, stars, reader.word());
    default:
      return print(out, specification(conversion, ""), stars, __builtin_bit_cast(f64, reader.word()));
  }
}

}  // namespace

std::string print_format(std::span<const u64> message) {
  Reader reader(message);
  const std::string format = reader.string();
  std::string out;
  for (std::string_view rest = format; !rest.empty();) {
    const std::string_view literal = rest.substr(0, std::min(rest.find('%'), rest.size()));
    out += literal;
    rest.remove_prefix(literal.size());
    if (rest.empty()) break;
    const std::string_view begin = rest;
    rest.remove_prefix(1);
    if (rest.starts_with('%')) {
      out += '%';
      rest.remove_prefix(1);
      continue;
    }
    const Conversion conversion = take_conversion(rest);
    if (conversion.letter == 0) {
      out += begin.substr(0, begin.size() - rest.size());  // no conversion: it stands for itself
      continue;
    }
    const auto stars = static_cast<size_t>(conversion.stars());
    if (reader.left() < stars + 1) break;
    int values[2] = {};
    for (size_t i = 0; i < stars; ++i) values[i] = static_cast<int>(reader.word());
    print_argument(out, conversion, {values, stars}, reader);
  }
  return out;
}

}  // namespace wave::emulator
