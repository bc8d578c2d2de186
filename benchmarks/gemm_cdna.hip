// Products of matrices for bench_emulator.py, C = A * B^T: a wave computes 64 x 64 of C, and reads A and B where they
// are. All sizes are multiples of 64, k of 128. The f16 one is for gfx942, too, where an instruction has half the depth.
typedef int int8v __attribute__((ext_vector_type(8)));
typedef float float4v __attribute__((ext_vector_type(4)));
typedef _Float16 half4v __attribute__((ext_vector_type(4)));
typedef _Float16 half8v __attribute__((ext_vector_type(8)));

constexpr int kTiles = 4;  // of 16 rows or columns

// Where the wave's part of C begins, and the row (column) and the group of 16 lanes that a lane belongs to.
struct Place {
  int row = 64 * blockIdx.y, column = 64 * blockIdx.x, i = threadIdx.x % 16, group = threadIdx.x / 16;
};

__device__ void store(float* c, int n, const Place& at, const float4v (&sums)[kTiles][kTiles]) {
  for (int s = 0; s < kTiles; ++s)
    for (int t = 0; t < kTiles; ++t)
      for (int r = 0; r < 4; ++r) c[(at.row + 16 * s + 4 * at.group + r) * n + at.column + 16 * t + at.i] = sums[s][t][r];
}

extern "C" __global__ void gemm_f16(const half8v* a, const half8v* b, float* c, int n, int k) {
  const Place at;
  float4v sums[kTiles][kTiles] = {};
  for (int from = 0; from < k; from += 32) {
    half8v x[kTiles], y[kTiles];
    for (int t = 0; t < kTiles; ++t) {
      x[t] = a[((at.row + 16 * t + at.i) * k + from) / 8 + at.group];
      y[t] = b[((at.column + 16 * t + at.i) * k + from) / 8 + at.group];
    }
    for (int s = 0; s < kTiles; ++s) {
      for (int t = 0; t < kTiles; ++t) {
#if defined(__gfx950__)
        sums[s][t] = __builtin_amdgcn_mfma_f32_16x16x32_f16(x[s], y[t], sums[s][t], 0, 0, 0);
#else
        sums[s][t] = __builtin_amdgcn_mfma_f32_16x16x16f16(x[s].lo, y[t].lo, sums[s][t], 0, 0, 0);
        sums[s][t] = __builtin_amdgcn_mfma_f32_16x16x16f16(x[s].hi, y[t].hi, sums[s][t], 0, 0, 0);
#endif
      }
    }
  }
  store(c, n, at, sums);
}

#if defined(__gfx950__)
// A lane's 32 values of k from `from` on: FP8 in two halves of the depth, 16 each.
struct Fp8 {
  static constexpr int kFormat = 0;
  static __device__ int8v load(const int4* matrix, int row, int k, int from, int group) {
    const int4* const place = matrix + (row * k + from) / 16 + group;
    const int4 low = place[0], high = place[4];
    return {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
  }
};
struct Fp4 {
  static constexpr int kFormat = 4;
  static __device__ int8v load(const int4* matrix, int row, int k, int from, int group) {
    const int4 all = matrix[(row * k + from) / 32 + group];
    return {all.x, all.y, all.z, all.w};
  }
};

template <class Format>
__device__ void multiply(const int4* a, const int4* b, const unsigned char* a_scales, const unsigned char* b_scales,
                         float* c, int n, int k) {
  const Place at;
  float4v sums[kTiles][kTiles] = {};
  for (int from = 0; from < k; from += 128) {
    int8v x[kTiles], y[kTiles];
    int x_scales[kTiles], y_scales[kTiles];
    for (int t = 0; t < kTiles; ++t) {
      const int row = at.row + 16 * t + at.i, column = at.column + 16 * t + at.i;
      x[t] = Format::load(a, row, k, from, at.group);
      y[t] = Format::load(b, column, k, from, at.group);
      x_scales[t] = a_scales[(row * k + from) / 32 + at.group];
      y_scales[t] = b_scales[(column * k + from) / 32 + at.group];
    }
    for (int s = 0; s < kTiles; ++s)
      for (int t = 0; t < kTiles; ++t)
        sums[s][t] = __builtin_amdgcn_mfma_scale_f32_16x16x128_f8f6f4(x[s], y[t], sums[s][t], Format::kFormat,
                                                                      Format::kFormat, 0, x_scales[s], 0, y_scales[t]);
  }
  store(c, n, at, sums);
}

#define GEMM(name, format)                                                                                     \
  extern "C" __global__ void name(const int4* a, const int4* b, const unsigned char* a_scales,                 \
                                  const unsigned char* b_scales, float* c, int n, int k) {                     \
    multiply<format>(a, b, a_scales, b_scales, c, n, k);                                                       \
  }
GEMM(gemm_mxfp8, Fp8)
GEMM(gemm_mxfp4, Fp4)
#endif
