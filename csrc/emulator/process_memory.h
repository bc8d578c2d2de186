// What the process has mapped: the memory of launches whose arguments are plain addresses.
#pragma once

#include <optional>

#include "base/memory_range.h"
#include "emulator/wave.h"

namespace wave::emulator {

/// The mapping of the process (/proc/self/maps) that holds `address`, as far as it can be read without a signal: pages
/// beyond the end of a mapped file are left out. Nothing where the address is not mapped or not readable. Thread-safe;
/// what it says is true until the mapping changes.
std::optional<MemoryRange> find_mapping(u64 address);

}  // namespace wave::emulator
