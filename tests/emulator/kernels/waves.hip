// What programs do, for processors whose waves have 32 lanes or 64: WAVE says how many.
typedef _Float16 f16;
typedef f16 f16x16 __attribute__((ext_vector_type(16)));
typedef float f32x8 __attribute__((ext_vector_type(8)));

#define KERNEL extern "C" __attribute__((global)) void
#define DEVICE static __attribute__((device))
#define SHARED __attribute__((shared))
#define THREAD_X __builtin_amdgcn_workitem_id_x()
#define THREAD_Y __builtin_amdgcn_workitem_id_y()
#define THREAD_Z __builtin_amdgcn_workitem_id_z()
#define BLOCK_X __builtin_amdgcn_workgroup_id_x()
#define BLOCK_Y __builtin_amdgcn_workgroup_id_y()
#define BLOCK_Z __builtin_amdgcn_workgroup_id_z()

DEVICE void synchronize() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

KERNEL vector_add(const float* a, const float* b, float* c, int n) {
  const int i = BLOCK_X * 256 + THREAD_X;
  if (i < n) c[i] = a[i] + b[i];
}

// One sum for each workgroup of 256, halved step by step in LDS.
KERNEL sum_in_lds(const float* in, float* out, int n) {
  SHARED static float part[256];
  const int thread = THREAD_X, i = BLOCK_X * 256 + thread;
  part[thread] = i < n ? in[i] : 0;
  synchronize();
  for (int half = 128; half != 0; half /= 2) {
    if (thread < half) part[thread] += part[thread + half];
    synchronize();
  }
  if (thread == 0) out[BLOCK_X] = part[0];
}

// The same for each 32 lanes, by exchanges between them.
KERNEL sum_in_waves(const int* in, int* out) {
  int sum = in[BLOCK_X * 64 + THREAD_X];
  for (int step = 16; step != 0; step /= 2)
    sum += __builtin_amdgcn_ds_bpermute((int)((THREAD_X % WAVE) ^ step) * 4, sum);
  out[BLOCK_X * 64 + THREAD_X] = sum;
}

// With the exchanges of RDNA: within rows of 16, and between the rows.
KERNEL sum_in_rows(const int* in, int* out) {
  int sum = in[THREAD_X];
  sum += __builtin_amdgcn_update_dpp(0, sum, 0x161, 15, 15, true);  // row_xmask:1
  sum += __builtin_amdgcn_update_dpp(0, sum, 0x162, 15, 15, true);
  sum += __builtin_amdgcn_update_dpp(0, sum, 0x164, 15, 15, true);
  sum += __builtin_amdgcn_update_dpp(0, sum, 0x168, 15, 15, true);
  out[THREAD_X] = sum + __builtin_amdgcn_permlanex16(sum, sum, 0x76543210, 0xfedcba98, false, false);
}

KERNEL matmul(const float* a, const float* b, float* c, int n) {
  const int column = BLOCK_X * 16 + THREAD_X, row = BLOCK_Y * 16 + THREAD_Y;
  if (row >= n || column >= n) return;
  float sum = 0;
  for (int k = 0; k < n; ++k) sum += a[row * n + k] * b[k * n + column];
  c[row * n + column] = sum;
}

KERNEL matmul_tiled(const float* a, const float* b, float* c, int n) {
  SHARED static float tile_a[16][16], tile_b[16][17];
  const int x = THREAD_X, y = THREAD_Y, column = BLOCK_X * 16 + x, row = BLOCK_Y * 16 + y;
  float sum = 0;
  for (int k = 0; k < n; k += 16) {
    tile_a[y][x] = a[row * n + k + x];
    tile_b[y][x] = b[(k + y) * n + column];
    synchronize();
    for (int i = 0; i < 16; ++i) sum += tile_a[y][i] * tile_b[i][x];
    synchronize();
  }
  c[row * n + column] = sum;
}

// Lanes take different branches for different times.
KERNEL collatz(const int* in, int* out, int n) {
  const int i = BLOCK_X * 64 + THREAD_X;
  if (i >= n) return;
  int steps = 0;
  for (unsigned long x = in[i]; x != 1; ++steps) x = x & 1 ? 3 * x + 1 : x / 2;
  out[i] = steps;
}

KERNEL histogram(const int* in, unsigned* bins, int n) {
  SHARED static unsigned local[16];
  if (THREAD_X < 16) local[THREAD_X] = 0;
  synchronize();
  const int i = BLOCK_X * 128 + THREAD_X;
  if (i < n) __hip_atomic_fetch_add(&local[in[i] & 15], 1u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
  synchronize();
  if (THREAD_X < 16)
    __hip_atomic_fetch_add(&bins[THREAD_X], local[THREAD_X], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

// All ids, and which lanes are enabled.
KERNEL ids(int* out, unsigned* masks) {
  const int item = (THREAD_Z * 3 + THREAD_Y) * 5 + THREAD_X;
  const int group = (BLOCK_Z * 3 + BLOCK_Y) * 2 + BLOCK_X;
  out[group * 45 + item] = THREAD_X | THREAD_Y << 4 | THREAD_Z << 8 | BLOCK_X << 12 | BLOCK_Y << 16 | BLOCK_Z << 20;
#if WAVE == 64
  const unsigned mask = __builtin_amdgcn_ballot_w64(true) >> (item & 32);
#else
  const unsigned mask = __builtin_amdgcn_ballot_w32(true);
#endif
  if (item % 32 == 0) masks[group * 2 + item / 32] = mask;
}

// An array that is indexed at run time lies in scratch.
KERNEL permute_in_scratch(const int* in, int* out) {
  volatile int values[8];
  for (int i = 0; i < 8; ++i) values[in[i + 8] & 7] = in[i] + (int)THREAD_X;
  for (int i = 0; i < 8; ++i) out[THREAD_X * 8 + i] = values[i];
}

// Halves keep their neighbours.
KERNEL halves(const f16* a, const f16* b, f16* out, int n) {
  const int i = THREAD_X;
  if (i < n) out[i] = a[i] * b[i] + (f16)0.5f > (f16)1 ? a[i] - b[i] : a[i] + b[i] * (f16)3;
}

// What all lanes have alike: scalar floats on GFX12.
KERNEL uniform(const float* in, float* out, float scale, int n) {
  float sum = 0.25f * (float)n;
  for (int i = 0; i < n; ++i) sum = sum * scale + 1.5f;
  out[THREAD_X] = in[THREAD_X] + (sum > 10.0f ? sum : -sum) + (float)(int)sum;
}

// The same in f16.
KERNEL uniform_halves(const f16* in, f16* out, f16 scale, int n) {
  f16 sum = (f16)0.25f * (f16)n, least = sum;
  for (int i = 0; i < n; ++i) {
    sum = sum * scale - (f16)1.5f;
    if (sum < least) least = sum + (f16)0.125f;
  }
  sum = sum != least ? __builtin_floorf16(sum) : -sum;
  sum = sum + (f16)(0.1f * (float)least);
  out[THREAD_X] = in[THREAD_X] + sum;
}

// Of numbers that all lanes have alike: without NaN, and then with it.
KERNEL extremes(float* out, float x, float y) {
#if __GFX12__
  float result[4];
  asm("s_min_num_f32 %0, %1, %2" : "=s"(result[0]) : "s"(x), "s"(y));
  asm("s_max_num_f32 %0, %1, %2" : "=s"(result[1]) : "s"(x), "s"(y));
  asm("s_minimum_f32 %0, %1, %2" : "=s"(result[2]) : "s"(x), "s"(y));
  asm("s_maximum_f32 %0, %1, %2" : "=s"(result[3]) : "s"(x), "s"(y));
  for (int i = 0; i < 4; ++i) out[i] = result[i];
#else
  out[0] = __builtin_fminf(x, y);
  out[1] = __builtin_fmaxf(x, y);
  out[2] = x != x || y != y ? x + y : __builtin_fminf(x, y);
  out[3] = x != x || y != y ? x + y : __builtin_fmaxf(x, y);
#endif
}

KERNEL quotients(const double* a, const double* b, double* out) {
  const int i = BLOCK_X * 64 + THREAD_X;
  out[i] = a[i] / b[i];
}

// Transcendental functions of what all lanes have alike, and another rounding mode for a while.
KERNEL functions(const float* in, float* out, float x) {
  const float all = __builtin_amdgcn_sqrtf(x) + __builtin_amdgcn_rcpf(x) + __builtin_amdgcn_rsqf(x) +
                    __builtin_amdgcn_exp2f(x) + __builtin_amdgcn_logf(x);
  __builtin_amdgcn_s_setreg(1 | 0 << 6 | 1 << 11, 1);  // f32 towards positive infinity
  out[THREAD_X] = in[THREAD_X] + 1e-20f;
  __builtin_amdgcn_s_setreg(1 | 0 << 6 | 1 << 11, 0);
  out[THREAD_X + 32] = all;
}

// Registers that are chosen at run time.
KERNEL chosen(const float* in, float* out, int read, int write) {
  float values[16];
  for (int i = 0; i < 16; ++i) values[i] = in[32 * i + THREAD_X];
  values[write] = values[read] + 1;
  for (int i = 0; i < 16; ++i) out[32 * i + THREAD_X] = values[i];
}

#if WAVE == 64
// A value of the lane in the other half, which GFX10 has no instruction for.
DEVICE int of_other_half(int value) {
#if __GFX10__
  SHARED static int values[64];
  synchronize();
  values[THREAD_X] = value;
  synchronize();
  return values[THREAD_X ^ 32];
#else
  return __builtin_amdgcn_permlane64(value);
#endif
}

// What the halves of a wave have to do with each other. DS_BPERMUTE of GFX10 and GFX11 stays within a half.
KERNEL halves_of_waves(const int* in, int* out) {
  const int lane = THREAD_X, value = in[lane];
  const unsigned long odd = __builtin_amdgcn_ballot_w64(value & 1);
  out[lane] = of_other_half(value);
  out[64 + lane] = __builtin_amdgcn_ds_bpermute((lane ^ 32) * 4, value);
  out[128 + lane] = __builtin_amdgcn_readlane(value, 40);
  out[192 + lane] = __builtin_popcountl(odd);
  out[256 + lane] = __builtin_amdgcn_mbcnt_hi((unsigned)(odd >> 32), __builtin_amdgcn_mbcnt_lo((unsigned)odd, 0));
  out[320 + lane] = lane % 3 == 0 && value > 500 ? 1 : -1;
  // Row by row, then from the other row, then from the other half.
  int sum = value;
  sum += __builtin_amdgcn_update_dpp(0, sum, 0x161, 15, 15, true);  // row_xmask:1
  sum += __builtin_amdgcn_update_dpp(0, sum, 0x162, 15, 15, true);
  sum += __builtin_amdgcn_update_dpp(0, sum, 0x164, 15, 15, true);
  sum += __builtin_amdgcn_update_dpp(0, sum, 0x168, 15, 15, true);
  sum += __builtin_amdgcn_permlanex16(sum, sum, 0x76543210, 0xfedcba98, false, false);
  out[384 + lane] = sum + of_other_half(sum);
}
#elif !__GFX10__
KERNEL matrix(const f16x16* a, f32x8* c) {
#if __GFX12__
  c[THREAD_X] = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12(a[0].lo, a[0].hi, c[THREAD_X]);
#else
  c[THREAD_X] = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a[0], a[1], c[THREAD_X]);
#endif
}
#endif
