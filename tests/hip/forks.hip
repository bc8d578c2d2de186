// Processes that programs fork, with and without a device: tests/test_hip_programs.py runs it on the emulator.
#include <hip/hip_runtime.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <thread>

#include "check.h"

// Which is registered, and has memory, before main.
__managed__ int the_answer = 42;

__global__ void answer(int* out) { *out = the_answer; }

/// Ends a process that was forked, with 0 where it may use the device.
void use_and_end() {
  int *out = nullptr, got = 0;
  if (hipMalloc(&out, sizeof(int)) != hipSuccess) _exit(1);
  answer<<<1, 1>>>(out);
  if (hipMemcpy(&got, out, sizeof(int), hipMemcpyDeviceToHost) != hipSuccess) _exit(2);
  _exit(got == 42 ? 0 : 3);
}

int status_of(pid_t child) {
  int status = -1;
  for (int i = 0; i < 20000 && waitpid(child, &status, WNOHANG) == 0; ++i) usleep(1000);
  if (status == -1) kill(child, SIGKILL);
  return status;
}

// Of a process that has not used HIP, each with a device of its own; later ones have none.
void children() {
  for (int i = 0; i < 2; ++i) {
    const pid_t child = fork();
    if (child == 0) use_and_end();
    CHECK(status_of(child) == 0);
  }
  int* out = nullptr;
  OK(hipMalloc(&out, sizeof(int)));
  const pid_t child = fork();
  if (child == 0) _exit(hipMalloc(&out, sizeof(int)) == hipErrorNotInitialized ? 0 : 1);
  CHECK(status_of(child) == 0);
}

// Whatever another thread of the parent was about to do.
void children_that_only_end() {
  std::atomic<bool> stops{false};
  std::thread other([&] {
    int* memory = nullptr;
    while (!stops) {
      OK(hipMalloc(&memory, 64));
      OK(hipFree(memory));
    }
  });
  for (int i = 0; i < 60; ++i) {
    const pid_t child = fork();
    if (child == 0) exit(0);
    CHECK(status_of(child) == 0);
  }
  stops = true;
  other.join();
}

int main() {
  children();
  children_that_only_end();
  return 0;
}
