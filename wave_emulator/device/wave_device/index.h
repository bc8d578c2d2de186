// Where a work-item is: threadIdx, blockIdx, blockDim, gridDim.
#pragma once

#include "wave_device/vector_types.h"

struct dim3 {
  unsigned x, y, z;
  __host__ __device__ constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};

// Members that are read by a builtin, and are plain numbers to templates.
#define WAVE_INDEX(name, read_x, read_y, read_z)                                   \
  struct name##_t {                                                                \
    __declspec(property(get = get_x)) unsigned x;                                  \
    __declspec(property(get = get_y)) unsigned y;                                  \
    __declspec(property(get = get_z)) unsigned z;                                  \
    static __device__ __forceinline__ unsigned get_x() { return read_x; }          \
    static __device__ __forceinline__ unsigned get_y() { return read_y; }          \
    static __device__ __forceinline__ unsigned get_z() { return read_z; }          \
    __device__ operator dim3() const { return dim3(get_x(), get_y(), get_z()); }   \
    __device__ operator uint3() const { return uint3{get_x(), get_y(), get_z()}; } \
  };                                                                               \
  extern const __device__ __attribute__((weak)) name##_t name;

#if defined(WAVE_DEVICE_GRID_IN_PACKET)
// Of code object version 4 the dispatch packet has the grid's size, in work-items.
#define WAVE_GRID(axis, i) ((__builtin_amdgcn_grid_size_##axis() - 1) / __builtin_amdgcn_workgroup_size_##axis() + 1)
#else
// The hidden arguments of code object version 5 begin with the grid's workgroups, three dwords.
#define WAVE_GRID(axis, i) (((const __attribute__((address_space(4))) unsigned*)__builtin_amdgcn_implicitarg_ptr())[i])
#endif

WAVE_INDEX(threadIdx, __builtin_amdgcn_workitem_id_x(), __builtin_amdgcn_workitem_id_y(),
           __builtin_amdgcn_workitem_id_z())
WAVE_INDEX(blockIdx, __builtin_amdgcn_workgroup_id_x(), __builtin_amdgcn_workgroup_id_y(),
           __builtin_amdgcn_workgroup_id_z())
WAVE_INDEX(blockDim, __builtin_amdgcn_workgroup_size_x(), __builtin_amdgcn_workgroup_size_y(),
           __builtin_amdgcn_workgroup_size_z())
WAVE_INDEX(gridDim, WAVE_GRID(x, 0), WAVE_GRID(y, 1), WAVE_GRID(z, 2))

#undef WAVE_GRID
#undef WAVE_INDEX

// The older names.
#define hipThreadIdx_x threadIdx.x
#define hipThreadIdx_y threadIdx.y
#define hipThreadIdx_z threadIdx.z
#define hipBlockIdx_x blockIdx.x
#define hipBlockIdx_y blockIdx.y
#define hipBlockIdx_z blockIdx.z
#define hipBlockDim_x blockDim.x
#define hipBlockDim_y blockDim.y
#define hipBlockDim_z blockDim.z
#define hipGridDim_x gridDim.x
#define hipGridDim_y gridDim.y
#define hipGridDim_z gridDim.z
