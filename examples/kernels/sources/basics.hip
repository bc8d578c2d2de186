// Five kernels in HIP C++ that need neither ROCm nor its headers, only clang with the AMDGPU target.
#define KERNEL extern "C" __attribute__((global)) void
#define THREAD_X __builtin_amdgcn_workitem_id_x()
#define THREAD_Y __builtin_amdgcn_workitem_id_y()
#define BLOCK_X __builtin_amdgcn_workgroup_id_x()
#define BLOCK_Y __builtin_amdgcn_workgroup_id_y()
#define BLOCK_SIZE_X __builtin_amdgcn_workgroup_size_x()

static __attribute__((device)) void barrier() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

// c = a + b, n elements.
KERNEL vector_add(const float* a, const float* b, float* c, int n) {
  const int i = BLOCK_X * BLOCK_SIZE_X + THREAD_X;
  if (i < n) c[i] = a[i] + b[i];
}

// c = a @ b for square matrices; blocks of 16 by 16, an element for each work-item.
KERNEL matmul_naive(const float* a, const float* b, float* c, int n) {
  const int row = BLOCK_Y * 16 + THREAD_Y, column = BLOCK_X * 16 + THREAD_X;
  if (row >= n || column >= n) return;
  float sum = 0;
  for (int k = 0; k < n; ++k) sum += a[row * n + k] * b[k * n + column];
  c[row * n + column] = sum;
}

// The same for sizes that are a multiple of 16, with tiles in LDS.
KERNEL matmul_tiled(const float* a, const float* b, float* c, int n) {
  static __attribute__((shared)) float a_tile[16][16], b_tile[16][16];
  const int tx = THREAD_X, ty = THREAD_Y;
  const int row = BLOCK_Y * 16 + ty, column = BLOCK_X * 16 + tx;
  float sum = 0;
  for (int k = 0; k < n; k += 16) {
    a_tile[ty][tx] = a[row * n + k + tx];
    b_tile[ty][tx] = b[(k + ty) * n + column];
    barrier();
    for (int i = 0; i < 16; ++i) sum += a_tile[ty][i] * b_tile[i][tx];
    barrier();
  }
  c[row * n + column] = sum;
}

// The number of steps to 1 in the Collatz sequence: lanes leave the loop at different times.
KERNEL collatz(const unsigned* start, unsigned* steps, int n) {
  const int i = BLOCK_X * BLOCK_SIZE_X + THREAD_X;
  if (i >= n) return;
  unsigned value = start[i], count = 0;
  while (value != 1) {
    if (value & 1) {
      value = 3 * value + 1;
    } else {
      value >>= 1;
    }
    ++count;
  }
  steps[i] = count;
}

// How often each byte occurs, by atomic additions.
KERNEL histogram(const unsigned char* values, unsigned* counts, int n) {
  const int i = BLOCK_X * BLOCK_SIZE_X + THREAD_X;
  if (i < n) __atomic_fetch_add(&counts[values[i]], 1u, __ATOMIC_RELAXED);
}
