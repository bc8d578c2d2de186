// What the process has mapped: the memory of launches whose arguments are plain addresses.
#pragma once

#include <optional>

#include "base/memory_range.h"

namespace wave {

/// The mapping of the process (/proc/self/maps) that holds `address`, with those of no file that it goes on in, as far
/// as it can be read without a signal: pages beyond the end of a mapped file are left out. Nothing where the address is
/// not mapped or not readable. Thread-safe; what it says is true until the mapping changes.
std::optional<MemoryRange> find_mapping(uint64_t address);

/// Whether the process can read the first and the last of these bytes, which are some. Much cheaper than
/// find_mapping().
bool has_ends_of(AddressSpan bytes);

/// Whether the process may write the first and the last of these bytes, which are some. As cheap, and nobody sees it.
bool may_write_ends_of(AddressSpan bytes);

}  // namespace wave
