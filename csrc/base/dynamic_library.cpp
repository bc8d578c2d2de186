#include "base/dynamic_library.h"

#include <dlfcn.h>
#include <link.h>

#include <utility>

namespace wave {

DynamicLibrary DynamicLibrary::open(std::span<const std::string> candidates) {
  for (const std::string& candidate : candidates) {
    if (void* handle = dlopen(candidate.c_str(), RTLD_NOW | RTLD_NOLOAD)) return DynamicLibrary(handle, candidate);
  }
  std::string tried;
  for (const std::string& candidate : candidates) {
    if (void* handle = dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL)) return DynamicLibrary(handle, candidate);
    const char* reason = dlerror();
    tried += text("\n  ", candidate, ": ", reason == nullptr ? "no reason given" : reason);
  }
  throw RuntimeError(text("no library could be loaded; tried:", candidates.empty() ? " nothing" : tried));
}

std::vector<std::string> DynamicLibrary::loaded(std::string_view prefix) {
  struct Search {
    std::string_view prefix;
    std::vector<std::string> files;
  } search{prefix, {}};
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* data) {
        auto* search = static_cast<Search*>(data);
        const std::string_view path = info->dlpi_name == nullptr ? "" : info->dlpi_name;
        if (path.substr(path.rfind('/') + 1).starts_with(search->prefix)) search->files.emplace_back(path);
        return 0;
      },
      &search);
  return std::move(search.files);
}

DynamicLibrary::DynamicLibrary(void* handle, const std::string& candidate) : handle_(handle), path_(candidate) {
  link_map* map = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map != nullptr && map->l_name != nullptr && *map->l_name != 0) {
    path_ = map->l_name;
  }
}

DynamicLibrary::DynamicLibrary(DynamicLibrary&& other) noexcept
    : handle_(std::exchange(other.handle_, nullptr)), path_(std::move(other.path_)) {}

DynamicLibrary& DynamicLibrary::operator=(DynamicLibrary&& other) noexcept {
  std::swap(handle_, other.handle_);
  std::swap(path_, other.path_);
  return *this;
}

DynamicLibrary::~DynamicLibrary() {
  if (handle_ != nullptr) dlclose(handle_);
}

void* DynamicLibrary::symbol(const char* name) const { return dlsym(handle_, name); }

void* DynamicLibrary::required(const char* name) const {
  void* address = symbol(name);
  if (address == nullptr) throw RuntimeError(text(path_, " has no symbol ", name));
  return address;
}

}  // namespace wave
