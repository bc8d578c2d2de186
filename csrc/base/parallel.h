// Work on several host threads, which the caller provides.
#pragma once

#include <functional>

namespace wave {

/// Runs `worker` on the calling thread and on as many others as the provider has, all at once, and returns when each
/// has returned. The worker does not throw.
using Parallel = std::function<void(const std::function<void()>& worker)>;

}  // namespace wave
