// What helps beside a driver's error.
#pragma once

#include <string>

namespace wave {

enum class During { Load, Launch };

/// The message with advice behind it: where a kernel that ran before has failed, and where a graph that is being
/// captured forbids to load code.
std::string with_advice(std::string message, During during);

}  // namespace wave
