// What a transformer is trained with, in one source for AMD and NVIDIA GPUs: matrix products of bf16, forward and
// backward, and RMSNorm with its gradients, from and to f32.
#include "product.h"

// c[i] = a[i] @ b[i], where i is blockIdx.z, for any strides of rows and columns: a transpose has them exchanged. The
// matrices of a batch follow each other.
KERNEL(kThreads)
batched_matmul(const bf16* a, const bf16* b, bf16* c, int m, int n, int k, long long a_row_stride, long long a_column_stride,
       long long b_row_stride, long long b_column_stride) {
  const long long i = blockIdx.z;
  const Matrix<bf16> left{a + i * m * k, m, k, a_row_stride, a_column_stride};
  const Matrix<bf16> right{b + i * k * n, k, n, b_row_stride, b_column_stride};
  bf16* const result = c + i * m * n;
  multiply(left, right, [=](int row, int column, float sum) { result[(long long)row * n + column] = bf16(sum); });
}

constexpr int kRowThreads = 128;  // of the workgroup that has a row

// The sum of what the threads of a workgroup have, for each of them. The workgroup has written to no `parts` since it
// last synchronised.
static __device__ float sum_of_all(float own, float* parts) {
  const int thread = threadIdx.x;
  parts[thread] = own;
  __syncthreads();
  for (int half = kRowThreads / 2; half > 0; half /= 2) {
    if (thread < half) parts[thread] += parts[thread + half];
    __syncthreads();
  }
  return parts[0];
}

// y = x / sqrt(mean(x^2) + epsilon) * weight
KERNEL(kRowThreads) rmsnorm_forward(const float* x, const float* weight, bf16* y, int columns, float epsilon) {
  __shared__ float parts[kRowThreads];
  const long long start = (long long)blockIdx.x * columns;

  float squares = 0;
  for (int i = threadIdx.x; i < columns; i += kRowThreads) squares += x[start + i] * x[start + i];
  const float root = 1 / sqrtf(sum_of_all(squares, parts) / columns + epsilon);
  for (int i = threadIdx.x; i < columns; i += kRowThreads) y[start + i] = bf16(x[start + i] * root * weight[i]);
}

// The gradient of x, and each row's part of that of the weight.
KERNEL(kRowThreads)
rmsnorm_backward(const bf16* y_grad, const float* x, const float* weight, float* x_grad, float* weight_grads,
                 int columns, float epsilon) {
  __shared__ float squares_parts[kRowThreads], products_parts[kRowThreads];
  const long long start = (long long)blockIdx.x * columns;

  float squares = 0, products = 0;
  for (int i = threadIdx.x; i < columns; i += kRowThreads) {
    squares += x[start + i] * x[start + i];
    products += float(y_grad[start + i]) * weight[i] * x[start + i];
  }
  const float root = 1 / sqrtf(sum_of_all(squares, squares_parts) / columns + epsilon);
  const float mean = sum_of_all(products, products_parts) * root / columns;
  for (int i = threadIdx.x; i < columns; i += kRowThreads) {
    const float grad = float(y_grad[start + i]), normed = x[start + i] * root;
    weight_grads[start + i] = grad * normed;
    x_grad[start + i] = root * (grad * weight[i] - normed * mean);
  }
}
