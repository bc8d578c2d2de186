// What torch allocates on the CPU, made known to the sanitizer.
#pragma once

#include "base/tools.h"

namespace wave {

/// From now on allocations are made known, for the tools that want to know of them. Each begin has its end.
void begin_watching_allocations(Tools tools);
/// What was allocated until then is still known when it is freed.
void end_watching_allocations(Tools tools);

}  // namespace wave
