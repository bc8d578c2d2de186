#include "base/host_threads.h"

#include <cstdlib>
#include <iterator>
#include <system_error>
#include <thread>
#include <vector>

namespace wave {

namespace {

int thread_count() {
  const char* value = std::getenv("WAVE_RUNTIME_EMULATOR_THREADS");
  return value == nullptr ? static_cast<int>(std::thread::hardware_concurrency()) : std::atoi(value);
}

}  // namespace

// A launch that needs them takes far longer than they take to start.
Parallel host_threads() {
  static const int count = thread_count();
  if (count <= 1) return {};
  return [](const std::function<void()>& worker) {
    std::vector<std::jthread> helpers;
    try {
      while (std::ssize(helpers) < count - 1) helpers.emplace_back(worker);
    } catch (const std::system_error&) {  // no more threads: those that there are do it
    }
    worker();
  };
}

}  // namespace wave
