// Objects that workgroups allocate side by side, and that later launches use and delete. tests/test_hip_programs.py
// runs it under the sanitizer, which has nothing to find.
// clang-format off: HIP's header of 5.2 comes first
#include <hip/hip_runtime.h>
// clang-format on

#include "check.h"

struct Shape {
  __device__ virtual int area() const = 0;
  __device__ virtual ~Shape() {}
};
struct Square : Shape {
  int side;
  __device__ explicit Square(int side) : side(side) {}
  __device__ int area() const override { return side * side; }
};
struct Triangle : Shape {
  int base, height;
  __device__ Triangle(int base, int height) : base(base), height(height) {}
  __device__ int area() const override { return base * height / 2; }
};

__device__ int number() { return blockIdx.x * blockDim.x + threadIdx.x; }

__global__ void make(Shape** shapes) {
  const int i = number();
  if (i % 2 == 0) {
    shapes[i] = new Square(i);
  } else {
    shapes[i] = new Triangle(i, 4);
  }
}

__global__ void measure(Shape* const* shapes, int* areas) { areas[number()] = shapes[number()]->area(); }

__global__ void end(Shape** shapes) { delete shapes[number()]; }

int main() {
  constexpr int kBlocks = 4, kThreads = 64, kCount = kBlocks * kThreads;
  Shape** shapes = nullptr;
  int *device = nullptr, areas[kCount] = {};
  OK(hipMalloc(&shapes, kCount * sizeof(*shapes)));
  OK(hipMalloc(&device, sizeof areas));
  make<<<kBlocks, kThreads>>>(shapes);
  measure<<<kBlocks, kThreads>>>(shapes, device);
  end<<<kBlocks, kThreads>>>(shapes);
  OK(hipMemcpy(areas, device, sizeof areas, hipMemcpyDeviceToHost));
  for (int i = 0; i < kCount; ++i) CHECK(areas[i] == (i % 2 == 0 ? i * i : 2 * i));
  OK(hipFree(shapes));
  OK(hipFree(device));
}
