#include "driver/fork.h"

#include <pthread.h>

#include <atomic>

#include "base/error.h"

namespace wave {

namespace {
std::atomic<bool> forked{false};
}

void watch_forks() {
  static constinit std::atomic<bool> is_watching{false};
  if (!is_watching.exchange(true)) pthread_atfork(nullptr, nullptr, [] { forked.store(true); });
}

bool is_forked() { return forked.load(std::memory_order_relaxed); }

void check_not_forked() {
  if (!is_forked()) return;
  throw RuntimeError(
      "this process was forked after its parent had used the GPU, whose driver does not work in children: start "
      "workers "
      "with the method \"spawn\" or \"forkserver\", or keep GPU tensors out of them (CPU tensors work)");
}

}  // namespace wave
