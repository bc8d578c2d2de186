// How memory is kept apart that different threads write.
#pragma once

#include <cstddef>

namespace wave {

/// Bytes of a cache line of the host, or a multiple.
inline constexpr size_t kHostLine = 64;

}  // namespace wave
