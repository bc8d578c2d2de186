// The environment's variables, read in this place alone and strictly: a value that means nothing is an error that names
// its variable. A variable that is set to nothing counts as not set. docs/environment.md lists them all.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace wave {

/// A variable and its value, empty where it is not set. What cannot be read as asked throws ValueError.
struct Variable {
  const char* name;
  std::string text;

  bool is_set() const { return !text.empty(); }
  /// 1 or 0; no where it is not set.
  bool flag() const;
  /// Decimal, within bounds.
  uint64_t integer(uint64_t otherwise, uint64_t least, uint64_t most) const;
  /// Decimal, with a fraction or not; not negative.
  double seconds(double otherwise) const;
  /// Which of some words it is, by index.
  size_t choice(std::initializer_list<std::string_view> words, size_t otherwise) const;
  /// Which of two words it has, with a comma between them where it has both: a bit for each, 0 where it is not set.
  uint32_t either_or_both(std::string_view one, std::string_view other) const;

  /// Throws "NAME=value: expected ..., for instance NAME=example".
  [[noreturn]] void refuse(std::string_view expected, std::string_view example) const;
};

/// Which of some words a list has, in any order, with commas and maybe blanks between them: a bit for each. Nothing
/// where something is none of them.
std::optional<uint32_t> read_list(std::string_view list, std::span<const std::string_view> words);

/// For initializers of namespaces: the variable as it was when the library was loaded, never destroyed. Launches, which
/// are the first to ask for what is read once, run beside threads that change the environment.
const Variable& at_load(const char* name);

/// All of the environment, for a process that inherits it.
char** inherited_environment();

/// Runs a function that reads the environment.
using EnvironmentGuard = void (*)(const std::function<void()>& read);

/// Sets what EnvironmentVariables are read in: it keeps out who changes the environment, which must not happen beside a
/// reader, as the lock of Python's interpreter does. Nobody who waits for a reader may hold that lock.
void set_environment_guard(EnvironmentGuard guard);

/// All of the product's own variables as they are now, copied in one pass.
class EnvironmentVariables {
 public:
  EnvironmentVariables();
  Variable operator[](const char* name) const;
  /// Whether none of them is set.
  bool empty() const { return set_.empty(); }

 private:
  void copy();

  std::vector<std::pair<std::string, std::string>> set_;
};

}  // namespace wave
