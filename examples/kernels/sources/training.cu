// What a layer gelu(x @ w.T) and its gradients are computed with, in one source for AMD and NVIDIA GPUs.
#include "product.h"

// c = a @ b, for any strides of a and b: a transpose is a matrix with its strides exchanged.
KERNEL(kThreads)
matmul(const float* a, const float* b, float* c, int m, int n, int k, long long a_row_stride, long long a_column_stride,
       long long b_row_stride, long long b_column_stride) {
  const Matrix<float> left{a, m, k, a_row_stride, a_column_stride}, right{b, k, n, b_row_stride, b_column_stride};
  multiply(left, right, [=](int row, int column, float sum) { c[(long long)row * n + column] = sum; });
}

// GELU in its approximation by tanh is x s(x), where s is the logistic function of 2 u(x).
struct Gelu {
  float s, s_slope;

  __device__ explicit Gelu(float x) {
    constexpr float kRoot = 0.797884561f, kCube = 0.044715f;  // sqrt(2 / pi)
    s = 1 / (1 + exp2f(-2 * kLog2E * kRoot * (x + kCube * x * x * x)));
    s_slope = s * (1 - s) * 2 * kRoot * (1 + 3 * kCube * x * x);
  }
};

KERNEL(256) gelu(const float* x, float* y, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) y[i] = x[i] * Gelu(x[i]).s;
}

KERNEL(256) gelu_backward(const float* x, const float* y_grad, float* x_grad, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= n) return;
  const Gelu at(x[i]);
  x_grad[i] = y_grad[i] * (at.s + x[i] * at.s_slope);
}
