#include "emulator/print_format.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

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

/// One conversion of a format string, "%-*.3lld", or of one that numbers its arguments, "%2$*1$d" (POSIX).
struct Conversion {
  std::string_view flags, width, precision;  ///< the latter with its point; "*" and ".*" are arguments
  std::string_view length;
  char letter = 0;
  size_t position = 0;   ///< of the argument, from 1 on; 0: it is the next one
  size_t stars[2] = {};  ///< those of the asterisks

  size_t star_count() const { return size_t{width == "*"} + size_t{precision == ".*"}; }
};

/// Cuts the characters off `text` that are among `set`.
std::string_view take(std::string_view& text, std::string_view set) {
  const std::string_view taken = text.substr(0, std::min(text.find_first_not_of(set), text.size()));
  text.remove_prefix(taken.size());
  return taken;
}

constexpr std::string_view kDigits = "0123456789";
constexpr size_t kMostArguments = 4096;  // as glibc's NL_ARGMAX

/// Cuts "2$" off; 0 where the text begins otherwise.
size_t take_position(std::string_view& text) {
  std::string_view rest = text;
  size_t position = 0;
  for (const char digit : take(rest, kDigits)) position = std::min(position * 10 + size_t(digit - '0'), kMostArguments);
  if (position == 0 || !rest.starts_with('$')) return 0;
  text = rest.substr(1);
  return position;
}

/// A number, or an asterisk, whose argument's position goes to `star`.
std::string_view take_number(std::string_view& text, size_t& star) {
  if (!text.starts_with('*')) return take(text, kDigits);
  const std::string_view asterisk = text.substr(0, 1);
  text.remove_prefix(1);
  star = take_position(text);
  return asterisk;
}

/// Reads the conversion behind a percent sign; without a letter where it is none.
Conversion take_conversion(std::string_view& text) {
  Conversion conversion;
  conversion.position = take_position(text);
  conversion.flags = take(text, "-+ #0'");
  conversion.width = take_number(text, conversion.stars[0]);
  if (text.starts_with('.')) {
    const char* const begin = text.data();
    text.remove_prefix(1);
    size_t& star = conversion.stars[conversion.width == "*" ? 1 : 0];
    conversion.precision = {begin, 1 + take_number(text, star).size()};
  }
  conversion.length = take(text, "hljztqL");
  constexpr std::string_view kLetters = "diouxXcfFeEgGaAspn";
  if (!text.empty() && kLetters.find(text[0]) != kLetters.npos) {
    conversion.letter = text[0];
    text.remove_prefix(1);
  }
  return conversion;
}

/// An argument of a format that numbers them: its word, or the string that the message has in its place.
struct Argument {
  u64 word = 0;
  std::string string{};
};

/// The arguments in their order. Which are strings clang tells by the order of the conversions (LLVM,
/// AMDGPUEmitPrintf.cpp, locateCStrings): of the third argument by the third conversion, asterisks counting as one. It
/// sends a string where that is %s and the argument a string, which here one says that prints it as such.
std::vector<Argument> read_numbered(std::string_view format, Reader& reader) {
  std::vector<bool> by_order, by_use;
  const auto set = [](std::vector<bool>& list, size_t position, bool value) {
    if (list.size() < position) list.resize(position);
    if (value) list[position - 1] = true;
  };
  for (size_t begin = format.find('%'); begin != format.npos; begin = format.find('%')) {
    format.remove_prefix(begin + 1);
    if (format.starts_with('%')) {
      format.remove_prefix(1);
      continue;
    }
    const Conversion conversion = take_conversion(format);
    if (conversion.letter == 0) continue;
    by_order.resize(by_order.size() + conversion.star_count());
    by_order.push_back(conversion.letter == 's');
    for (size_t i = 0; i < conversion.star_count(); ++i) {
      if (conversion.stars[i] != 0) set(by_use, conversion.stars[i], false);
    }
    if (conversion.position != 0) set(by_use, conversion.position, conversion.letter == 's');
  }
  std::vector<Argument> arguments;
  for (size_t i = 0; i < by_use.size() && reader.left() != 0; ++i) {
    Argument& argument = arguments.emplace_back();
    if (by_use[i] && i < by_order.size() && by_order[i]) {
      argument.string = reader.string();
    } else {
      argument.word = reader.word();
    }
  }
  return arguments;
}

/// A number of C's printf; kLongest + 1 where it is larger than kLongest.
size_t number_in(std::string_view digits) {
  size_t number = 0;
  for (const char digit : digits) number = std::min(number * 10 + size_t(digit - '0'), kLongest + 1);
  return number;
}

/// How many characters a conversion makes by its width and its precision at the most. A host may take seconds and
/// gigabytes for what it is asked for, before it says how long it is: so it must be known before. Of a string a
/// precision only says how much there is to be at most.
size_t asked_by(const Conversion& conversion, std::span<const int> stars) {
  const auto of_star = [](int star) { return static_cast<size_t>(std::abs(i64{star})); };
  const bool has_star = conversion.width == "*";
  const size_t width = has_star ? of_star(stars[0]) : number_in(conversion.width);
  if (conversion.precision.empty() || conversion.letter == 's') return width;
  if (conversion.precision != ".*") return width + number_in(conversion.precision.substr(1));
  const int precision = stars[has_star ? 1 : 0];
  return width + (precision < 0 ? 0 : of_star(precision));
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

void print_argument(std::string& out, const Conversion& conversion, std::span<const int> stars,
                    const Argument& argument) {
  switch (conversion.letter) {
    case 'n':
      return;
    case 's':
      return print(out, specification(conversion, ""), stars, argument.string.c_str());
    case 'c':
      return print(out, specification(conversion, ""), stars, static_cast<int>(argument.word));
    case 'p':
      return print(out, specification(conversion, ""), stars, reinterpret_cast<void*>(argument.word));
    case 'd':
    case 'i':
    case 'o':
    case 'u':
    case 'x':
    case 'X':
      return print_integer(out, conversion, stars, argument.word);
    default:
      return print(out, specification(conversion, ""), stars, __builtin_bit_cast(f64, argument.word));
  }
}

/// The arguments as conversions take them: one after the other, or by their numbers.
class Arguments {
 public:
  Arguments(std::string_view format, Reader& reader) : format_(format), reader_(reader) {}

  /// nullptr where there is none left. It stays until the next one is taken.
  const Argument* take(size_t position, bool is_string) {
    if (position != 0) return take_numbered(position);
    if (reader_.left() == 0) return nullptr;
    next_ = is_string ? Argument{.string = reader_.string()} : Argument{.word = reader_.word()};
    return &next_;
  }

 private:
  /// Not a copy: thousands of conversions may be of one long string.
  const Argument* take_numbered(size_t position) {
    if (!is_read_) numbered_ = read_numbered(format_, reader_);
    is_read_ = true;
    return position > numbered_.size() ? nullptr : &numbered_[position - 1];
  }

  std::string_view format_;
  Reader& reader_;
  Argument next_;
  std::vector<Argument> numbered_;
  bool is_read_ = false;
};

}  // namespace

std::string print_format(std::span<const u64> message) {
  Reader reader(message);
  const std::string format = reader.string();
  Arguments arguments(format, reader);
  std::string out;
  size_t asked = 0;  // of characters, by widths and precisions
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
    int values[2] = {};
    const std::span stars(values, conversion.star_count());
    bool is_complete = true;
    for (size_t i = 0; i < stars.size(); ++i) {
      const Argument* const star = arguments.take(conversion.stars[i], false);
      is_complete &= star != nullptr;
      if (star != nullptr) stars[i] = static_cast<int>(star->word);
    }
    const Argument* const argument = arguments.take(conversion.position, conversion.letter == 's');
    if (!is_complete || argument == nullptr) break;
    asked += asked_by(conversion, stars);
    if (asked > kLongest) fault("a printf of more than 1 MiB");
    print_argument(out, conversion, stars, *argument);
  }
  return out;
}

}  // namespace wave::emulator
