#include "work_item.h"

extern "C" __global__ void scale(const float* x, float* out, float factor, int n) {
  const int i = work_item();
  if (i < n) out[i] = factor * x[i];
}

template <class T>
__global__ void fill(T* out, T value, int n) {
  const int i = work_item();
  if (i < n) out[i] = value;
}
template __global__ void fill<float>(float*, float, int);
template __global__ void fill<int>(int*, int, int);
