#include "base/host_threads.h"

#include <system_error>
#include <thread>
#include <vector>

#include "base/environment.h"
#include "base/fork_safe.h"

namespace wave {

namespace {

const Variable& variable = at_load("WAVE_RUNTIME_EMULATOR_THREADS");
Lazy<int>& known_count = *new Lazy<int>();

int thread_count() {
  constexpr uint64_t kMost = 1024;
  return static_cast<int>(variable.integer(std::thread::hardware_concurrency(), 1, kMost));
}

}  // namespace

// A launch that needs them takes far longer than they take to start.
Parallel host_threads() {
  const int count = known_count.get(thread_count);
  if (count <= 1) return {};
  const auto run = [count](const Parallel::Worker& worker) {
    std::vector<std::jthread> helpers;
    try {
      for (int thread = 1; thread < count; ++thread) helpers.emplace_back(worker, thread);
    } catch (const std::system_error&) {  // no more threads: those that there are do it
    }
    worker(0);
  };
  return {count, run};
}

}  // namespace wave
