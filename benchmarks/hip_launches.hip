// Starts, and tells what a launch of a kernel that does nothing costs the caller, in microseconds. See bench_hip.py.
#include <hip/hip_runtime.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#ifdef WITH_KERNELS
__global__ void nothing() {}
#endif

int main(int argc, char** argv) {
  if (argc < 2) return 0;
#ifdef WITH_KERNELS
  using Clock = std::chrono::steady_clock;
  const int count = std::atoi(argv[1]);
  double least = 1e9;
  for (int round = 0; round < 20; ++round) {
    const auto start = Clock::now();
    for (int i = 0; i < count; ++i) nothing<<<1, 64>>>();
    const std::chrono::duration<double, std::micro> taken = Clock::now() - start;
    least = std::min(least, taken.count() / count);
    if (hipDeviceSynchronize() != hipSuccess) return 1;
  }
  std::printf("%.3f\n", least);
#endif
  return 0;
}
