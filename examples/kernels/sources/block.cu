// The kernels of a transformer block in one source for AMD and NVIDIA GPUs. Operands are f16, sums f32.
#include "product.h"

// b = a / sqrt(mean(a^2) + epsilon) * weight: a row for each workgroup of 128.
KERNEL(128) rmsnorm(const f16* a, const f16* weight, f16* b, int columns, float epsilon) {
  constexpr int kRowThreads = 128;
  __shared__ float squares[kRowThreads];
  const int thread = threadIdx.x;
  const long long start = (long long)blockIdx.x * columns;

  float sum = 0;
  for (int i = thread; i < columns; i += kRowThreads) sum += float(a[start + i]) * float(a[start + i]);
  squares[thread] = sum;
  __syncthreads();
  for (int half = kRowThreads / 2; half > 0; half /= 2) {
    if (thread < half) squares[thread] += squares[thread + half];
    __syncthreads();
  }

  const float factor = 1 / sqrtf(squares[0] / columns + epsilon);
  for (int i = thread; i < columns; i += kRowThreads)
    b[start + i] = f16(float(a[start + i]) * factor * float(weight[i]));
}

// a of [m, k] and the transpose of b of [n, k], row by row.
static __device__ Matrix<f16> left(const f16* a, int m, int k) { return {a, m, k, k, 1}; }
static __device__ Matrix<f16> right(const f16* b, int n, int k) { return {b, k, n, 1, k}; }

// c = a @ b.T
KERNEL(kThreads) gemm(const f16* a, const f16* b, float* c, int m, int n, int k) {
  multiply(left(a, m, k), right(b, n, k),
           [=](int row, int column, float sum) { c[(long long)row * n + column] = sum; });
}

// c = a @ b.T + bias
KERNEL(kThreads) linear(const f16* a, const f16* b, const float* bias, f16* c, int m, int n, int k) {
  multiply(left(a, m, k), right(b, n, k),
           [=](int row, int column, float sum) { c[(long long)row * n + column] = f16(sum + bias[column]); });
}

// c = gelu(a @ b.T + bias), in GELU's approximation by tanh: x (1 + tanh(u)) / 2 = x / (1 + exp(-2 u)).
KERNEL(kThreads) linear_gelu(const f16* a, const f16* b, const float* bias, f16* c, int m, int n, int k) {
  multiply(left(a, m, k), right(b, n, k), [=](int row, int column, float sum) {
    const float x = sum + bias[column];
    const float u = 0.797884561f * (x + 0.044715f * x * x * x);  // sqrt(2 / pi)
    c[(long long)row * n + column] = f16(x / (1 + exp2f(-2 * kLog2E * u)));
  });
}

// out = softmax(q @ k.T / 8, row i of its columns 0 to i only) @ v for heads of 64, and the log of the sum that softmax
// divides by. q is [heads, m, 64], k and v [heads, n, 64]; blockIdx.x counts tiles of 64 rows, y heads; a thread has a
// row, and its sum over the columns so far, rescaled whenever their maximum grows.
KERNEL(64) attention_causal(const f16* q, const f16* k, const f16* v, float* out, float* lse, int m, int n) {
  constexpr int kHead = 64, kRows = 64, kColumns = 32;
  constexpr float kScale = 0.125f * kLog2E;
  __shared__ float k_tile[kColumns][kHead], v_tile[kColumns][kHead];
  const int thread = threadIdx.x, row = blockIdx.x * kRows + thread;
  const long long head = blockIdx.y, place = head * m + row;

  float query[kHead], total[kHead], maximum = -1e30f, sum = 0;
  for (int i = 0; i < kHead; ++i) {
    query[i] = row < m ? float(q[place * kHead + i]) * kScale : 0.0f;
    total[i] = 0;
  }

  const int past_last_row = (blockIdx.x + 1) * kRows, end = past_last_row < n ? past_last_row : n;
  for (int start = 0; start < end; start += kColumns) {
    for (int i = thread; i < kColumns * kHead; i += kRows) {
      const int column = start + i / kHead;
      const long long from = (head * n + start) * kHead + i;
      k_tile[i / kHead][i % kHead] = column < n ? float(k[from]) : 0.0f;
      v_tile[i / kHead][i % kHead] = column < n ? float(v[from]) : 0.0f;
    }
    __syncthreads();
    for (int j = 0; j < kColumns && start + j < n && start + j <= row; ++j) {
      float score = 0;
      for (int i = 0; i < kHead; ++i) score += query[i] * k_tile[j][i];
      const float larger = fmaxf(maximum, score);
      const float shrink = exp2f(maximum - larger), weight = exp2f(score - larger);
      maximum = larger;
      sum = sum * shrink + weight;
      for (int i = 0; i < kHead; ++i) total[i] = total[i] * shrink + weight * v_tile[j][i];
    }
    __syncthreads();
  }

  if (row >= m) return;
  for (int i = 0; i < kHead; ++i) out[place * kHead + i] = total[i] / sum;
  lse[place] = (maximum + log2f(sum)) / kLog2E;
}
