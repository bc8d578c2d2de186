// Work on several host threads, which the caller provides.
#pragma once

#include <functional>

namespace wave {

/// What a provider lends.
struct Parallel {
  /// What a thread runs, which does not throw. `thread` is a number of its own, below that of threads; the calling
  /// thread's is 0.
  using Worker = std::function<void(int thread)>;

  int threads = 1;  ///< with the calling one; there may be fewer
  /// Runs the worker on the calling thread and the others, all at once, and returns when each has returned. Where the
  /// provider keeps its threads, each has the same number in every call. Empty where there is the calling one alone.
  std::function<void(const Worker& worker)> run;
};

}  // namespace wave
