// The kernel, in CMake's language HIP, with one of torch's headers for GPUs.
#include <c10/hip/HIPException.h>
#include <hip/hip_runtime.h>

#include <cstdint>

namespace {

__global__ void double_one(const float* values, float* doubled, int64_t count) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < count) doubled[i] = values[i] * 2;
}

}  // namespace

void double_values(const float* values, float* doubled, int64_t count, hipStream_t stream) {
  double_one<<<(count + 255) / 256, 256, 0, stream>>>(values, doubled, count);
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}
