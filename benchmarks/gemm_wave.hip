// Products of matrices by WMMA for bench_emulator.py, C = A * B^T in f32 of f16, and on RDNA4 of FP8: a wave computes 64 x 64
// of C, and reads A and B where they are. All sizes are multiples of 64. For waves of 32 lanes.
typedef float float8v __attribute__((ext_vector_type(8)));
typedef _Float16 half16v __attribute__((ext_vector_type(16)));
typedef _Float16 half8v __attribute__((ext_vector_type(8)));
typedef int int2v __attribute__((ext_vector_type(2)));

constexpr int kTiles = 4;  // of 16 rows or columns

// Where the wave's part of C begins, and the row (column) and the group of 16 lanes that a lane belongs to.
struct Place {
  int row = 64 * blockIdx.y, column = 64 * blockIdx.x, i = threadIdx.x % 16, group = threadIdx.x / 16;
};

#if defined(__GFX12__)
// Of 16 consecutive k a group of lanes has eight; of D it has eight consecutive rows.
struct Half {
  using Factor = half8v;
  static __device__ float8v multiply(Factor a, Factor b, float8v c) {
    return __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12(a, b, c);
  }
};
struct Fp8 {
  using Factor = int2v;
  static __device__ float8v multiply(Factor a, Factor b, float8v c) {
    return __builtin_amdgcn_wmma_f32_16x16x16_fp8_fp8_w32_gfx12(a, b, c);
  }
};
__device__ int factor(int first, int group) { return first / 8 + group; }
__device__ int row_of(int group, int r) { return 8 * group + r; }
#else
// Both groups of lanes have all 16; of D one has the even rows, the other the odd ones.
struct Half {
  using Factor = half16v;
  static __device__ float8v multiply(Factor a, Factor b, float8v c) {
    return __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a, b, c);
  }
};
__device__ int factor(int first, int) { return first / 16; }
__device__ int row_of(int group, int r) { return 2 * r + group; }
#endif

// What all lanes add to A and B is added to a scalar address, so that the loop has no vector arithmetic.
template <class Factor>
__device__ Factor load(const Factor* uniform, unsigned byte) {
  return *reinterpret_cast<const Factor*>(reinterpret_cast<const char*>(uniform) + byte);
}

template <class Type>
__device__ void gemm(const typename Type::Factor* a, const typename Type::Factor* b, float* c, int n, int k) {
  using Factor = typename Type::Factor;
  const Place at;
  float8v sums[kTiles][kTiles] = {};
  unsigned rows[kTiles], columns[kTiles];
  for (int t = 0; t < kTiles; ++t) {
    rows[t] = factor((at.row + 16 * t + at.i) * k, at.group) * sizeof(Factor);
    columns[t] = factor((at.column + 16 * t + at.i) * k, at.group) * sizeof(Factor);
  }
  for (int from = 0; from < k; from += 16) {
    Factor x[kTiles], y[kTiles];
    for (int t = 0; t < kTiles; ++t) {
      x[t] = load(a + factor(from, 0), rows[t]);
      y[t] = load(b + factor(from, 0), columns[t]);
    }
    for (int s = 0; s < kTiles; ++s) {
      for (int t = 0; t < kTiles; ++t) sums[s][t] = Type::multiply(x[s], y[t], sums[s][t]);
    }
  }
  for (int s = 0; s < kTiles; ++s)
    for (int t = 0; t < kTiles; ++t)
      for (int r = 0; r < 8; ++r)
        c[(at.row + 16 * s + row_of(at.group, r)) * n + at.column + 16 * t + at.i] = sums[s][t][r];
}

extern "C" __global__ void gemm_f16(const Half::Factor* a, const Half::Factor* b, float* c, int n, int k) {
  gemm<Half>(a, b, c, n, k);
}
#if defined(__GFX12__)
extern "C" __global__ void gemm_fp8(const Fp8::Factor* a, const Fp8::Factor* b, float* c, int n, int k) {
  gemm<Fp8>(a, b, c, n, k);
}
#endif
