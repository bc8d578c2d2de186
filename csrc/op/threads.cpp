#include "op/threads.h"

#include <ATen/Parallel.h>

// OpenMP's entry point for a parallel region, found in the runtime that torch has loaded (GNU's; LLVM's and Intel's
// have it, too). Linking a runtime with -fopenmp could load a second one beside it, since some builds of torch bring
// theirs under another name; and threads of our own would compete with torch's, which spin for a while after each of
// its operators.
extern "C" __attribute__((weak)) void GOMP_parallel(void (*function)(void*), void* data, unsigned threads,
                                                    unsigned flags);

namespace wave {

namespace {

void run_worker(void* worker) { (*static_cast<const std::function<void()>*>(worker))(); }

}  // namespace

Parallel torch_threads() {
  if (at::get_num_threads() == 1 || at::in_parallel_region() || GOMP_parallel == nullptr) return {};
  return [](const std::function<void()>& worker) {
    constexpr unsigned kAsManyAsSet = 0;
    GOMP_parallel(run_worker, const_cast<std::function<void()>*>(&worker), kAsManyAsSet, 0);
  };
}

}  // namespace wave
