// The types of HIP's interface that the driver does not use but the emulator offers.
#pragma once

#include "driver/hip/hip_types.h"

namespace wave::hip {

using Event = struct ihipEvent_t*;       ///< hipEvent_t
using Graph = struct ihipGraph*;         ///< hipGraph_t
using GraphExec = struct hipGraphExec*;  ///< hipGraphExec_t
using GraphNode = struct hipGraphNode*;  ///< hipGraphNode_t
using Context = struct ihipCtx_t*;       ///< hipCtx_t
using HostSource = const void*;          ///< `void*` before ROCm 6
enum JitOption : int {};                 ///< hipJitOption

/// dim3
struct Dim3 {
  uint32_t x, y, z;
};

/// hipLaunchConfig_t
struct ProgramLaunchConfig {
  Dim3 grid;
  Dim3 block;
  size_t shared_memory;
  Stream stream;
  LaunchAttribute* attributes;
  uint32_t attribute_count;
};

/// hipFuncAttributes
struct FunctionAttributes {
  int binary_version;
  int cache_mode;
  size_t constant_bytes;
  size_t local_bytes;  ///< of scratch memory, for each work-item
  int max_dynamic_shared_bytes;
  int max_threads_per_block;
  int registers;
  int shared_carveout;
  int ptx_version;
  size_t shared_bytes;
};

/// hipFuncAttribute, of hipFuncSetAttribute
enum FunctionSetting : int { kMaxDynamicSharedMemory = 8, kSharedMemoryCarveout = 9 };
enum CacheConfig : int {};         ///< hipFuncCache_t
enum SharedMemoryConfig : int {};  ///< hipSharedMemConfig

/// hipMemcpyKind
enum MemcpyKind : int {
  kHostToHost = 0,
  kHostToDevice = 1,
  kDeviceToHost = 2,
  kDeviceToDevice = 3,
  kCopyDefault = 4,
};

enum MemoryType : int {};  ///< hipMemoryType: Release::memory_type has its numbers, which changed with ROCm 6

/// hipPointerAttribute_t
struct PointerAttributes {
  MemoryType type;
  int device;
  void* device_pointer;
  void* host_pointer;
  int is_managed;
  unsigned allocation_flags;
};

/// hipDriverProcAddressQueryResult, since ROCm 6.2.
enum ProcAddressStatus : int { kProcAddressFound = 0, kProcAddressNotFound = 1 };

constexpr int kNoDevice = -2;  ///< hipInvalidDeviceId

enum : unsigned { kStreamNonBlocking = 1, kEventDisableTiming = 2 };

}  // namespace wave::hip
