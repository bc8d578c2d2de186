// Functions of the host in a stream that call HIP. tests/test_hip_programs.py runs it on the emulator: without an
// argument, or with "exit", by which such a function ends the program.
// clang-format off: HIP's header of 5.2 comes first
#include <hip/hip_runtime.h>
// clang-format on

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include "check.h"

__global__ void increment(int* value) { ++*value; }

struct Work {
  hipStream_t stream, other;
  hipEvent_t event;
  int *device, *host, calls = 0;
};

/// What waits for the device, which waits for the function, is an error; all else does what it does elsewhere.
void work(void* data) {
  Work& of = *static_cast<Work*>(data);
  int value = 0, ordinal = -1;
  OK(hipGetDevice(&ordinal));
  CHECK(hipStreamQuery(of.stream) == hipErrorNotReady);
  const hipError_t errors[] = {hipStreamSynchronize(of.stream),
                               hipStreamSynchronize(of.other),
                               hipDeviceSynchronize(),
                               hipEventSynchronize(of.event),
                               hipMemcpy(&value, of.device, sizeof value, hipMemcpyDeviceToHost),
                               hipMemcpy(of.device, &value, sizeof value, hipMemcpyHostToDevice),
                               hipMemcpyAsync(&value, of.device, sizeof value, hipMemcpyDeviceToHost, of.other),
                               hipFree(of.device),
                               hipHostFree(of.host),
                               hipStreamDestroy(of.stream),
                               hipDeviceReset()};
  for (const hipError_t error : errors) CHECK(error == hipErrorIllegalState);
  increment<<<1, 1, 0, of.other>>>(of.device);
  OK(hipMemcpyAsync(of.host, of.device, sizeof(int), hipMemcpyDeviceToHost, of.other));
  ++of.calls;
}

void callback(hipStream_t, hipError_t status, void* data) {
  OK(status);
  work(data);
}

/// While the program gives the device more to do, and would wait.
void end(void* is_submitted) {
  while (!*static_cast<std::atomic<bool>*>(is_submitted)) std::this_thread::yield();
  std::exit(7);
}

int main(int count, char** arguments) {
  Work of{};
  OK(hipStreamCreate(&of.stream));
  OK(hipStreamCreate(&of.other));
  OK(hipEventCreate(&of.event));
  OK(hipMalloc(&of.device, sizeof(int)));
  OK(hipHostMalloc(&of.host, sizeof(int)));
  OK(hipMemset(of.device, 0, sizeof(int)));
  OK(hipDeviceSynchronize());
  if (count == 2 && std::strcmp(arguments[1], "exit") == 0) {
    static std::atomic<bool> is_submitted{false};
    OK(hipLaunchHostFunc(of.stream, end, &is_submitted));
    OK(hipEventRecord(of.event, of.stream));
    OK(hipStreamWaitEvent(of.other, of.event, 0));
    increment<<<1, 1, 0, of.other>>>(of.device);
    is_submitted = true;
    for (;;) std::this_thread::sleep_for(std::chrono::seconds(1));
  }

  OK(hipLaunchHostFunc(of.stream, work, &of));
  OK(hipStreamAddCallback(of.stream, callback, &of, 0));
  OK(hipStreamSynchronize(of.stream));
  OK(hipStreamSynchronize(of.other));
  CHECK(of.calls == 2 && *of.host == 2);

  hipGraph_t graph;
  hipGraphNode_t node;
  hipGraphExec_t ready;
  const hipHostNodeParams parameters{work, &of};
  OK(hipGraphCreate(&graph, 0));
  OK(hipGraphAddHostNode(&node, graph, nullptr, 0, &parameters));
  OK(hipGraphInstantiate(&ready, graph, nullptr, nullptr, 0));
  OK(hipGraphLaunch(ready, of.stream));
  OK(hipStreamSynchronize(of.stream));
  OK(hipStreamSynchronize(of.other));
  CHECK(of.calls == 3 && *of.host == 3);
  OK(hipGraphExecDestroy(ready));
  OK(hipGraphDestroy(graph));
  OK(hipFree(of.device));
  OK(hipHostFree(of.host));
  OK(hipStreamDestroy(of.stream));
  OK(hipStreamDestroy(of.other));
}
