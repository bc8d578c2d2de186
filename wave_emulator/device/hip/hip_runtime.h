// The part of HIP's device interface that kernels need, for clang without ROCm. Where ROCm is installed, its own
// headers are used. Only kernels are compiled: of the host's interface there is what host code needs to be left out.
#pragma once

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

// From the options or from lines before an #include: -DN=4 must not change what is called N here.
#include "wave_device/set_macros_aside.h"

#define __host__ __attribute__((__host__))
#define __device__ __attribute__((__device__))
#define __global__ __attribute__((__global__))
#define __shared__ __attribute__((__shared__))
#define __constant__ __attribute__((__constant__))
#define __managed__ __attribute__((__managed__))
#define __forceinline__ inline __attribute__((__always_inline__))
#undef __noinline__  // a keyword of clang; where it is a macro, libstdc++'s attributes of that name do not compile
#define __align__(bytes) __attribute__((__aligned__(bytes)))

// As in HIP, the second argument is a number of waves for each SIMD.
#define WAVE_LAUNCH_BOUNDS_1(threads) __attribute__((__amdgpu_flat_work_group_size__(1, threads)))
#define WAVE_LAUNCH_BOUNDS_2(threads, waves) \
  __attribute__((__amdgpu_flat_work_group_size__(1, threads), __amdgpu_waves_per_eu__(waves)))
#define WAVE_LAUNCH_BOUNDS(_1, _2, macro, ...) macro
#define __launch_bounds__(...) \
  WAVE_LAUNCH_BOUNDS(__VA_ARGS__, WAVE_LAUNCH_BOUNDS_2, WAVE_LAUNCH_BOUNDS_1, )(__VA_ARGS__)

#ifndef __HIP_PLATFORM_AMD__
#define __HIP_PLATFORM_AMD__ 1
#endif

#define HIP_DYNAMIC_SHARED(type, name) extern __shared__ type name[];

typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;

#include "hip/hip_version.h"
#include "wave_device/atomics.h"
#include "wave_device/complex_runtime.h"
#include "wave_device/features.h"
#include "wave_device/host.h"
#include "wave_device/index.h"
#include "wave_device/integers.h"
#include "wave_device/lanes.h"
#include "wave_device/loads.h"
#include "wave_device/math.h"
#include "wave_device/memory.h"
#include "wave_device/new.h"
#include "wave_device/print.h"
#include "wave_device/synchronize.h"
#include "wave_device/vector_types.h"

// clang-format off: this one is the last
#include "wave_device/bring_macros_back.h"
// clang-format on

// HIP's header brings these to host code. compile() says whether a source has any: they take longer than all of ours.
#ifdef WAVE_DEVICE_HOST_CODE
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmath>
#endif
