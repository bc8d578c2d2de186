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

/// hipMemcpyKind
enum MemcpyKind : int {
  kHostToHost = 0,
  kHostToDevice = 1,
  kDeviceToHost = 2,
  kDeviceToDevice = 3,
  kCopyDefault = 4,
};

/// hipMemoryType, since ROCm 6.
enum MemoryType : int { kMemoryUnregistered = 0, kMemoryHost = 1, kMemoryDevice = 2 };

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

enum : unsigned { kStreamNonBlocking = 1, kEventDisableTiming = 2 };

}  // namespace wave::hip
