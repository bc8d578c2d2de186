// Products of halves that are summed in f32: the sum is clamped to 0 and 1 where the program asks for that, and else is
// not.
// clang-format off: HIP's header of 5.2 comes first
#include <hip/hip_runtime.h>
// clang-format on
#include <hip/hip_fp16.h>

#include "check.h"

__global__ void mixed_dot(const float* added, float* sums) {
  const __half2 a = __floats2half2_rn(2, 3), b = __floats2half2_rn(5, 7);
  for (int i = 0; i < 2; ++i) {
    sums[2 * i] = amd_mixed_dot(a, b, added[i], false);
    sums[2 * i + 1] = amd_mixed_dot(a, b, added[i], true);
  }
}

int main() {
  const float added[] = {0.5f, -32};
  float *device = nullptr, sums[4] = {};
  OK(hipMalloc(&device, sizeof added + sizeof sums));
  OK(hipMemcpy(device, added, sizeof added, hipMemcpyHostToDevice));
  mixed_dot<<<1, 1>>>(device, device + 2);
  OK(hipMemcpy(sums, device + 2, sizeof sums, hipMemcpyDeviceToHost));
  CHECK(sums[0] == 31.5f && sums[1] == 1);
  CHECK(sums[2] < -0.99f && sums[3] == 0);  // RDNA3's -1 is less by a bit
  OK(hipFree(device));
}
