// Streams that are destroyed while their own work asks about them, and about others that wait for it: the last to let go
// of one is a stream's thread then. tests/test_hip_programs.py runs it on the emulator.
// clang-format off: HIP's header of 5.2 comes first
#include <hip/hip_runtime.h>
// clang-format on

#include <atomic>

#include "check.h"

struct Asked {
  hipStream_t stream;
  std::atomic<bool> has_begun{false};
};

void ask(void* given) {
  Asked& asked = *static_cast<Asked*>(given);
  do {
    asked.has_begun = true;
  } while (hipStreamQuery(asked.stream) == hipErrorNotReady);
}

__global__ void count(int* counter) { atomicAdd(counter, 1); }

int main() {
  int* counter = nullptr;
  OK(hipMalloc(&counter, sizeof(int)));
  OK(hipMemset(counter, 0, sizeof(int)));
  constexpr int kTimes = 300;
  for (int i = 0; i < kTimes; ++i) {
    hipStream_t asking = nullptr, waiting = nullptr;
    hipEvent_t event = nullptr;
    OK(hipStreamCreate(&asking));
    OK(hipStreamCreate(&waiting));
    OK(hipEventCreate(&event));
    Asked asked{i % 2 ? asking : waiting};
    OK(hipLaunchHostFunc(asking, ask, &asked));
    OK(hipEventRecord(event, asking));
    OK(hipStreamWaitEvent(waiting, event, 0));
    count<<<1, 1, 0, waiting>>>(counter);
    while (!asked.has_begun) continue;
    OK(hipStreamDestroy(asked.stream));
    OK(hipDeviceSynchronize());
    OK(hipStreamDestroy(i % 2 ? waiting : asking));
    OK(hipEventDestroy(event));
  }
  int counted = 0;
  OK(hipMemcpy(&counted, counter, sizeof(int), hipMemcpyDeviceToHost));
  CHECK(counted == kTimes);
  return 0;
}
