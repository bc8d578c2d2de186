#include "hip_emulator/release.h"

#include <dlfcn.h>

#include <array>
#include <string_view>

namespace wave::hip_emulator {

namespace {

// Of 5.2, whose enumeration has no number for managed memory, programs are told that it is the device's.
constexpr std::array<Release, 4> kReleases = {{
    {.name = ".so.5",
     .major = 5,
     .version = 50221153,
     .memory_type = {-1, 0, 1, 1, 2},
     .first_node_type = 1,
     .knows_unregistered = false,
     .keeps_errors = false},
    {.name = ".so.5.7",
     .major = 5,
     .version = 50731921,
     .memory_type = {-1, 0, 1, 4, 2},
     .first_node_type = 0,
     .knows_unregistered = false,
     .keeps_errors = false},
    {.name = ".so.6",
     .major = 6,
     .version = 60443482,
     .memory_type = {0, 1, 2, 3, 10},
     .first_node_type = 0,
     .knows_unregistered = true,
     .keeps_errors = false},
    {.name = ".so.7",
     .major = 7,
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
    if (path.ends_with(release.name)) return release;
  }
  return kReleases[2];
}

}  // namespace

const Release& release() {
  static const Release& found = find_release();
  return found;
}

}  // namespace wave::hip_emulator
