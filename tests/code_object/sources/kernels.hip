// Kernels that the corpus is built from. Compiled without any HIP header, so that clang alone is enough.

#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))

// Pointers, a scalar, and (through the workgroup size) hidden arguments.
extern "C" __global__ void scale(const float* x, float* y, float a, int n) {
  int i = __builtin_amdgcn_workgroup_id_x() * __builtin_amdgcn_workgroup_size_x() + __builtin_amdgcn_workitem_id_x();
  if (i < n) y[i] = a * x[i];
}

// LDS, scratch (an array with a variable index), a limited workgroup size, by-value structures.
struct Shape {
  long rows;
  short columns;
};

extern "C" __global__ void __attribute__((amdgpu_flat_work_group_size(64, 64)))
shuffle(const int* __restrict__ in, volatile int* out, Shape shape) {
  __shared__ int tile[64];
  int lane = __builtin_amdgcn_workitem_id_y() * 16 + __builtin_amdgcn_workitem_id_x();
  volatile int scratch[8];
#pragma clang loop unroll(disable)
  for (int i = 0; i < 8; ++i) scratch[i] = in[i * shape.rows + lane];
  tile[lane] = scratch[shape.columns & 7];
  __builtin_amdgcn_s_barrier();
  out[lane] = tile[63 - lane];
}
