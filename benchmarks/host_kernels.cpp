// Kernels of examples/kernels/sources/basics.hip compiled for the host: work-items one after the other, on one core.
// What an emulator of their code objects is measured against. And a loop that says what cores have together.
// bench_emulator.py compiles and calls it.
namespace {

struct Point {
  unsigned x, y;
};
Point work_item, workgroup, workgroup_size;

}  // namespace

#define __builtin_amdgcn_workitem_id_x() work_item.x
#define __builtin_amdgcn_workitem_id_y() work_item.y
#define __builtin_amdgcn_workgroup_id_x() workgroup.x
#define __builtin_amdgcn_workgroup_id_y() workgroup.y
#define __builtin_amdgcn_workgroup_size_x() workgroup_size.x
// Only of matmul_tiled, whose work-items cannot run one after the other.
#define __builtin_amdgcn_fence(order, scope)
#define __builtin_amdgcn_s_barrier()

#include "basics.hip"

/// Launches a kernel on one-dimensional or two-dimensional extents.
#define HOST_KERNEL(kernel, parameters, ...)                                               \
  extern "C" void host_##kernel parameters {                                               \
    workgroup_size = {block_x, block_y};                                                   \
    for (workgroup.y = 0; workgroup.y < grid_y; ++workgroup.y)                             \
      for (workgroup.x = 0; workgroup.x < grid_x; ++workgroup.x)                           \
        for (work_item.y = 0; work_item.y < block_y; ++work_item.y)                        \
          for (work_item.x = 0; work_item.x < block_x; ++work_item.x) kernel(__VA_ARGS__); \
  }

#define EXTENTS unsigned grid_x, unsigned grid_y, unsigned block_x, unsigned block_y

HOST_KERNEL(vector_add, (EXTENTS, const float* a, const float* b, float* c, int n), a, b, c, n)
HOST_KERNEL(matmul_naive, (EXTENTS, const float* a, const float* b, float* c, int n), a, b, c, n)
HOST_KERNEL(collatz, (EXTENTS, const unsigned* start, unsigned* steps, int n), start, steps, n)
HOST_KERNEL(histogram, (EXTENTS, const unsigned char* values, unsigned* counts, int n), values, counts, n)

/// So many steps of 128 multiplications and additions each, in registers. Any thread may call.
extern "C" float host_multiplications(int steps) {
  float values[128], sum = 0;
  for (float& value : values) value = static_cast<float>(steps);
  for (int step = 0; step < steps; ++step)
    for (float& value : values) value = value * 0.999f + 1.0f;
  for (const float value : values) sum += value;
  return sum;
}
