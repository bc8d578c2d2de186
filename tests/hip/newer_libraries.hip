// What headers and compilers after ROCm 5.2 find in device libraries.
#include <hip/hip_runtime.h>

#include <cstdio>

extern "C" __device__ _Float16 __ocml_cvtrtz_f16_f32(float);
extern "C" __device__ _Float16 __ocml_cvtrtn_f16_f32(float);
extern "C" __device__ _Float16 __ocml_cvtrtp_f16_f32(float);

__global__ void print() {
  const unsigned item = blockIdx.x * blockDim.x + threadIdx.x;
  printf("work-item %u of %s: %.2f\n", item, "a kernel", item / 2.0);
}

struct Values {
  float of[12];
};

__global__ void round(Values values, float* to) {
  const float x = values.of[threadIdx.x];
  to[3 * threadIdx.x] = __ocml_cvtrtz_f16_f32(x);
  to[3 * threadIdx.x + 1] = __ocml_cvtrtn_f16_f32(x);
  to[3 * threadIdx.x + 2] = __ocml_cvtrtp_f16_f32(x);
}

int main() {
  print<<<4, 25>>>();
  if (hipDeviceSynchronize() != hipSuccess) return 1;
  const Values values{{0.1f, -0.1f, 1, 65519, 65520, 1e-9f, -1e-9f, 1e6f, -1e6f, 0, 6.1e-5f, -3.0001f}};
  float* to = nullptr;
  if (hipHostMalloc(reinterpret_cast<void**>(&to), 36 * sizeof(float), 0) != hipSuccess) return 2;
  round<<<1, 12>>>(values, to);
  if (hipDeviceSynchronize() != hipSuccess) return 3;
  for (int i = 0; i < 12; ++i) std::printf("%.17g %.17g %.17g\n", to[3 * i], to[3 * i + 1], to[3 * i + 2]);
}
