// base/dynamic_library: which library is opened, and what the errors say. Ends with a status other than 0 at a failure.

#include <dlfcn.h>

#include <array>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

#include "base/dynamic_library.h"

namespace {

using wave::DynamicLibrary;

int failures = 0;

void check(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "failed: %s\n", what);
  ++failures;
}

template <class Action>
std::string error_of(Action action) {
  try {
    action();
  } catch (const wave::RuntimeError& error) {
    return error.what();
  }
  return "no error";
}

bool contains(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

void test_errors_list_every_candidate() {
  const std::array<std::string, 2> none = {"libwave_no_such_library.so.1", "/nowhere/libother.so"};
  const std::string error = error_of([&] { DynamicLibrary::open(none); });
  check(contains(error, "\n  libwave_no_such_library.so.1: "), "the first candidate is listed");
  check(contains(error, "\n  /nowhere/libother.so: /nowhere/libother.so: cannot open"), "the loader's reason is given");
  check(contains(error_of([] { DynamicLibrary::open({}); }), "tried: nothing"), "no candidates");
}

void test_the_first_that_loads() {
  const std::array<std::string, 3> names = {"libwave_no_such_library.so.1", "libz.so.1", "libzstd.so.1"};
  const DynamicLibrary library = DynamicLibrary::open(names);
  check(contains(library.path(), "libz.so.1"), "the first that loads is opened");
  check(library.symbol("uncompress") != nullptr, "a symbol is found");
  check(library.symbol("no_such_symbol") == nullptr, "a missing symbol is nullptr");
  const std::string error = error_of([&] { library.function<int()>("no_such_symbol"); });
  check(contains(error, "libz.so.1") && contains(error, " has no symbol no_such_symbol"),
        "a missing function is named");
  check(library.function<const char*()>("zlibVersion")()[0] == '1', "a function can be called");
}

void test_a_loaded_copy_comes_first() {
  // libm is in every C++ process; zstd is not loaded here and would be the first to load.
  const std::array<std::string, 2> names = {"libzstd.so.1", "libm.so.6"};
  check(contains(DynamicLibrary::open(names).path(), "libm.so.6"), "the loaded copy is taken");
  check(dlopen("libzstd.so.1", RTLD_NOW | RTLD_NOLOAD) == nullptr, "the other is not loaded");
}

void test_the_reference_is_dropped() {
  const std::string name = "libzstd.so.1";
  {
    DynamicLibrary first = DynamicLibrary::open({&name, 1});
    DynamicLibrary second = std::move(first);
    first = std::move(second);
    check(first.symbol("ZSTD_decompress") != nullptr, "moving keeps the library open");
  }
  check(dlopen(name.c_str(), RTLD_NOW | RTLD_NOLOAD) == nullptr, "the last owner closes it");
}

}  // namespace

int main() {
  test_errors_list_every_candidate();
  test_the_first_that_loads();
  test_a_loaded_copy_comes_first();
  test_the_reference_is_dropped();
  if (failures == 0) std::puts("test_dynamic_library: ok");
  return failures == 0 ? 0 : 1;
}
