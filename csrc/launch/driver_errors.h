// What helps beside a driver's error.
#pragma once

#include <string>

#include "base/error.h"

namespace wave {

enum class During { Load, Launch };

/// Throws the error with a message that says more, and advice behind it: where a kernel that ran before has failed, and
/// where a graph that is being captured forbids to load code. A DriverError stays one.
[[noreturn]] void rethrow_with_advice(const RuntimeError& error, const std::string& message, During during);

}  // namespace wave
