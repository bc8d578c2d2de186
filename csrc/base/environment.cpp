#include "base/environment.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "base/error.h"

namespace wave {

namespace {

constinit std::atomic<EnvironmentGuard> guard{nullptr};

/// The whole text as a number, or false.
template <class Number>
bool read(const std::string& text, Number& value) {
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stopped == end;
}

}  // namespace

void Variable::refuse(std::string_view expected, std::string_view example) const {
  throw ValueError(wave::text(name, "=", text, ": expected ", expected, ", for instance ", name, "=", example));
}

bool Variable::flag() const {
  if (is_set() && text != "0" && text != "1") refuse("1 for yes or 0 for no", "1");
  return text == "1";
}

uint64_t Variable::integer(uint64_t otherwise, uint64_t least, uint64_t most) const {
  if (!is_set()) return otherwise;
  uint64_t value = 0;
  if (!read(text, value) || value < least || value > most) {
    refuse(wave::text("a whole number from ", least, " to ", most, " in decimal digits"),
           std::to_string(std::clamp<uint64_t>(1'000'000, least, most)));
  }
  return value;
}

double Variable::seconds(double otherwise) const {
  if (!is_set()) return otherwise;
  double value = 0;
  if (!read(text, value) || !std::isfinite(value) || std::signbit(value)) refuse("a number of seconds", "2.5");
  return value;
}

size_t Variable::choice(std::initializer_list<std::string_view> words, size_t otherwise) const {
  if (!is_set()) return otherwise;
  const auto found = std::ranges::find(words, text);
  if (found != words.end()) return static_cast<size_t>(found - words.begin());
  std::string list;
  for (const std::string_view& word : words) {
    append(list, &word == words.begin() ? "" : &word == words.end() - 1 ? " or " : ", ");
    append(list, word);
  }
  refuse(list, *words.begin());
}

uint32_t Variable::either_or_both(std::string_view one, std::string_view other) const {
  if (!is_set()) return 0;
  const std::string_view words[] = {one, other};
  if (const std::optional<uint32_t> found = read_list(text, words)) return *found;
  const std::string both = wave::text(one, ",", other);
  refuse(wave::text(one, ", ", other, " or ", both), both);
}

std::optional<uint32_t> read_list(std::string_view list, std::span<const std::string_view> words) {
  uint32_t which = 0;
  while (true) {
    const size_t comma = list.find(',');
    std::string_view word = list.substr(0, comma);
    while (word.starts_with(' ')) word.remove_prefix(1);
    while (word.ends_with(' ')) word.remove_suffix(1);
    const auto found = std::ranges::find(words, word);
    if (found == words.end()) return std::nullopt;
    which |= 1u << (found - words.begin());
    if (comma == list.npos) return which;
    list.remove_prefix(comma + 1);
  }
}

char** inherited_environment() { return environ; }

const Variable& at_load(const char* name) {
  const char* const value = std::getenv(name);
  return *new Variable{name, value == nullptr ? "" : value};
}

void set_environment_guard(EnvironmentGuard given) { guard.store(given); }

EnvironmentVariables::EnvironmentVariables() {
  const EnvironmentGuard around = guard.load();
  around == nullptr ? copy() : around([this] { copy(); });
}

void EnvironmentVariables::copy() {
  constexpr std::string_view kPrefix = "WAVE_RUNTIME_";
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    if (**entry != kPrefix[0] || std::strncmp(*entry, kPrefix.data(), kPrefix.size()) != 0) continue;
    const std::string_view item(*entry);
    const size_t equals = item.find('=');
    if (equals != item.npos && equals + 1 < item.size())
      set_.emplace_back(item.substr(0, equals), item.substr(equals + 1));
  }
}

Variable EnvironmentVariables::operator[](const char* name) const {
  const auto found = std::ranges::find(set_, name, &std::pair<std::string, std::string>::first);
  return {name, found == set_.end() ? "" : found->second};
}

}  // namespace wave
