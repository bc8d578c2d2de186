// Libraries that are opened at run time. The only place of the product that calls dlopen.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace wave {

/// Owns one reference to a shared library and drops it in the destructor: symbols must not be used after that. Empty if
/// default-constructed. May be used from any thread.
class DynamicLibrary {
 public:
  DynamicLibrary() = default;

  /// Opens the first of `candidates` (paths or sonames) that this process has already loaded, or else the first that
  /// loads. A copy that is already there comes first because two copies of one runtime in a process do not work
  /// together. Throws RuntimeError with every candidate and the loader's reason.
  static DynamicLibrary open(std::span<const std::string> candidates);

  /// The files that this process has loaded whose names begin with `prefix`, in the order of loading.
  static std::vector<std::string> loaded(std::string_view prefix);

  DynamicLibrary(DynamicLibrary&& other) noexcept;
  DynamicLibrary& operator=(DynamicLibrary&& other) noexcept;
  DynamicLibrary(const DynamicLibrary&) = delete;
  DynamicLibrary& operator=(const DynamicLibrary&) = delete;
  ~DynamicLibrary();

  /// The file that was opened, as the loader names it; the candidate where the loader does not say.
  const std::string& path() const { return path_; }

  /// The address of a symbol, or nullptr where the library has none of this name.
  void* symbol(const char* name) const;

  /// The function of this name. Throws RuntimeError that names library and symbol where there is none.
  template <class Function>
  Function* function(const char* name) const {
    return reinterpret_cast<Function*>(required(name));
  }

  /// Sets a pointer to the function of this name; to nullptr where there is none.
  template <class Function>
  void find(Function*& pointer, const char* name) const {
    pointer = reinterpret_cast<Function*>(symbol(name));
  }

 private:
  DynamicLibrary(void* handle, const std::string& candidate);
  void* required(const char* name) const;

  void* handle_ = nullptr;
  std::string path_;
};

}  // namespace wave
