// emulator/memory: what is looked for in the process, and how often.

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>

#include "emulator/memory.h"
#include "emulator/op.h"

void wave::emulator::fault_at(std::string, int, u64, const char*) { std::abort(); }  // no access is made here

namespace {

using wave::AddressSpan;
using wave::emulator::kPrivateAperture;
using wave::emulator::kScratchWindow;
using wave::emulator::kSharedAperture;
using wave::emulator::Memory;
using wave::emulator::Region;
using wave::emulator::WatchedAccesses;

int failures = 0;

void expect(bool is_so, const char* what) {
  if (is_so) return;
  std::printf("%s\n", what);
  ++failures;
}

}  // namespace

int main() {
  int searches = 0;
  constexpr uint64_t kMapped = 0x7f00'0000'0000;
  const auto find = [&](uint64_t address) -> std::optional<Region> {
    ++searches;
    if (address != kMapped) return std::nullopt;
    return Region{.bytes = {kMapped, 4096}, .writable = true, .name = "memory of the process"};
  };
  const Memory memory({}, 0, false, nullptr, find, WatchedAccesses::None);
  for (int i = 0; i < 3; ++i) expect(memory.covers(AddressSpan(kMapped, 4), true), "mapped memory is not covered");
  expect(searches == 1, "memory that was found is searched again");
  // LDS and scratch, of which FLAT and buffer instructions ask at each access.
  for (const uint64_t begin : {kSharedAperture, kPrivateAperture, kScratchWindow}) {
    expect(!memory.covers(AddressSpan(begin + 16, 4), false), "LDS or scratch is covered");
    expect(!memory.covers_watched(AddressSpan(begin + 16, 4), true), "LDS or scratch is covered where it is watched");
  }
  expect(searches == 1, "LDS and scratch are searched for in the process");
  return failures != 0;
}
