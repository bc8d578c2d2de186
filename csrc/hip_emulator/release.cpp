#include "hip_emulator/release.h"

#include <dlfcn.h>

#include <array>
#include <string_view>

namespace wave::hip_emulator {

namespace {

// Of 5, whose enumeration has no number for managed memory, programs are told that it is the device's.
constexpr std::array<Release, 3> kReleases = {{
    {.major = 5,
     .version = 50221153,
     .memory_type = {-1, 0, 1, 1, 2},
     .first_node_type = 1,
     .knows_unregistered = false,
     .keeps_errors = false},
    {.major = 6,
     .version = 60443482,
     .memory_type = {0, 1, 2, 3, 10},
     .first_node_type = 0,
     .knows_unregistered = true,
     .keeps_errors = false},
    {.major = 7,
     .version = 70125424,
     .memory_type = {0, 1, 2, 3, 10},
     .first_node_type = 0,
     .knows_unregistered = true,
     .keeps_errors = true},
}};

const Release& find_release() {
  Dl_info own{};
  std::string_view path;
  if (dladdr(reinterpret_cast<const void*>(&find_release), &own) != 0 && own.dli_fname != nullptr) path = own.dli_fname;
  for (const Release& release : kReleases) {
    const char suffix[] = {'.', 's', 'o', '.', static_cast<char>('0' + release.major), '\0'};
    if (path.ends_with(suffix)) return release;
  }
  return kReleases[1];
}

}  // namespace

const Release& release() {
  static const Release& found = find_release();
  return found;
}

}  // namespace wave::hip_emulator
