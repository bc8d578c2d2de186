#include "op/threads.h"

#include <ATen/Parallel.h>
#include <pthread.h>

#include <atomic>

// OpenMP's entry point for a parallel region, found in the runtime that torch has loaded (GNU's; LLVM's and Intel's
// have it, too). Linking a runtime with -fopenmp could load a second one beside it, since some builds of torch bring
// theirs under another name; and threads of our own would compete with torch's, which spin for a while after each of
// its operators.
extern "C" __attribute__((weak)) void GOMP_parallel(void (*function)(void*), void* data, unsigned threads,
                                                    unsigned flags);
extern "C" __attribute__((weak)) int omp_get_thread_num();

namespace wave {

namespace {

/// Of the threads that OpenMP has started none is in a child made by fork(), and GNU's runtime waits for them for ever.
std::atomic<bool> has_forked{false};
[[maybe_unused]] const int watching = pthread_atfork(nullptr, nullptr, [] { has_forked.store(true); });

void run_worker(void* worker) { (*static_cast<const Parallel::Worker*>(worker))(omp_get_thread_num()); }

}  // namespace

Parallel torch_threads() {
  const int threads = at::get_num_threads();
  if (threads == 1 || at::in_parallel_region() || GOMP_parallel == nullptr || has_forked) return {};
  const auto run = [](const Parallel::Worker& worker) {
    constexpr unsigned kAsManyAsSet = 0;
    GOMP_parallel(run_worker, const_cast<Parallel::Worker*>(&worker), kAsManyAsSet, 0);
  };
  return {threads, run};
}

}  // namespace wave
