// The types of HIP's interface that the driver does not use but the emulator offers.
#pragma once

#include "driver/hip/hip_types.h"

namespace wave::hip {

using Event = struct ihipEvent_t*;         ///< hipEvent_t
using Graph = struct ihipGraph*;           ///< hipGraph_t
using GraphExec = struct hipGraphExec*;    ///< hipGraphExec_t
using GraphNode = struct hipGraphNode*;    ///< hipGraphNode_t
using UserObject = struct hipUserObject*;  ///< hipUserObject_t
using Context = struct ihipCtx_t*;         ///< hipCtx_t
using HostSource = const void*;            ///< `void*` before ROCm 6
using ApiVersion = unsigned;               ///< of hipCtxGetApiVersion; int before ROCm 7

/// hipLinkState_t, hipJitOption and hipJitInputType, and the same of hipRTC.
using LinkState = struct ihipLinkState_t*;
enum JitOption : int { kCompilerOptions = 10000, kCompilerOptionCount = 10001 };
enum JitInput : int { kBitcode = 100, kBundledBitcode = 101, kBitcodeArchive = 102, kSpirv = 103 };

using Library = struct ihipLibrary_t*;       ///< hipLibrary_t
using LibraryKernel = struct ihipKernel_t*;  ///< hipKernel_t: a hipFunction_t, which launches take
enum LibraryOption : int {};                 ///< hipLibraryOption

/// hipIpcMemHandle_t
struct IpcMemHandle {
  char reserved[64];
};

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

using Array = struct hipArray*;                  ///< hipArray_t
using ConstArray = const struct hipArray*;       ///< hipArray_const_t
using MemoryPool = struct ihipMemPoolHandle_t*;  ///< hipMemPool_t

/// hipExtent, hipPos, hipPitchedPtr
struct Extent {
  size_t width;  ///< in bytes, where no array says otherwise
  size_t height;
  size_t depth;
};
struct BoxPosition {
  size_t x, y, z;
};
struct PitchedPointer {
  void* pointer;
  size_t pitch;
  size_t width;
  size_t height;
};

/// hipChannelFormatDesc: bits of four channels, and what they are.
struct ChannelFormat {
  int x, y, z, w;
  int kind;
};

enum ArrayFormat : int {};  ///< hipArray_Format

/// HIP_ARRAY_DESCRIPTOR, HIP_ARRAY3D_DESCRIPTOR
struct ArrayDescriptor {
  size_t width, height;
  ArrayFormat format;
  unsigned channels;
};
struct ArrayDescriptor3d {
  size_t width, height, depth;
  ArrayFormat format;
  unsigned channels;
  unsigned flags;
};

/// hipMemcpyKind
enum MemcpyKind : int {
  kHostToHost = 0,
  kHostToDevice = 1,
  kDeviceToHost = 2,
  kDeviceToDevice = 3,
  kCopyDefault = 4,
};

enum MemoryType : int {};  ///< hipMemoryType: Release::memory_type has its numbers, which changed with ROCm 6

/// hipMemcpy3DParms
struct Copy3d {
  Array from_array;
  BoxPosition from_position;
  PitchedPointer from;
  Array to_array;
  BoxPosition to_position;
  PitchedPointer to;
  Extent extent;
  MemcpyKind kind;
};

/// hipMemcpy3DPeerParms
struct PeerCopy3d {
  struct Side {
    Array array;
    BoxPosition position;
    PitchedPointer memory;
    int device;
  };
  Side from, to;
  Extent extent;
};

/// hip_Memcpy2D
struct Copy2d {
  struct Side {
    size_t x;  ///< in bytes
    size_t y;
    MemoryType type;
    void* host;
    DevicePointer device;
    Array array;
    size_t pitch;
  };
  Side from;
  Side to;
  size_t width;
  size_t height;
};

/// HIP_MEMCPY3D, whose numbers have 32 bits before ROCm 6 and 64 since.
struct DriverCopy3d;
template <class Number>
struct DriverCopyLayout {
  struct Side {
    Number x, y, z;  ///< x in bytes
    Number level;    ///< of a mipmapped array
    MemoryType type;
    void* host;
    DevicePointer device;
    Array array;
    Number pitch, height;
  };
  Side from, to;
  Number width, height, depth;  ///< the width in bytes
};

/// hipMemsetParams
struct FillParameters {
  void* to;
  unsigned element_size;
  size_t height;
  size_t pitch;
  unsigned value;
  size_t width;  ///< elements
};

/// hipKernelNodeParams
struct KernelParameters {
  Dim3 block;
  void** extra;
  void* function;  ///< a host function, or hipFunction_t
  Dim3 grid;
  void** parameters;
  unsigned shared_memory;
};

using StreamCallback = void (*)(Stream stream, Error error, void* data);  ///< hipStreamCallback_t
using HostFunction = void (*)(void* data);                                ///< hipHostFn_t

/// hipHostNodeParams
struct HostParameters {
  HostFunction function;
  void* data;
};

/// hipGraphNodeParams: which of these it has is in the type.
struct AnyNodeParameters {
  int type;  ///< hipGraphNodeType
  int reserved[3];
  union {
    long long bytes[29];
    KernelParameters kernel;
    struct {
      int flags;
      int reserved[3];
      Copy3d copy;
    } copy;  ///< hipMemcpyNodeParams
    FillParameters fill;
    HostParameters host;
    Graph child;
    Event event;
  };
  long long reserved_behind;
};

/// hipKernelNodeAttrID, hipKernelNodeAttrValue
using KernelAttributeId = LaunchAttributeId;
using KernelAttributeValue = decltype(LaunchAttribute::value);

using EdgeData = struct hipGraphEdgeData;  ///< of which nothing is taken
/// hipGraphInstantiateParams
struct InstantiateParameters {
  GraphNode error_node;
  unsigned long long flags;
  int result;  ///< hipGraphInstantiateResult
  Stream upload;
};

enum NodeType : int {};  ///< hipGraphNodeType: by type_of(NodeWork), from Release::first_node_type on

/// hipGraphExecUpdateResult
enum UpdateResult : int {
  kUpdateSuccess = 0,
  kUpdateTopologyChanged = 2,
  kUpdateNodeTypeChanged = 3,
  kUpdateParametersChanged = 5
};

/// hipMemLocation, hipMemAccessDesc, hipMemPoolProps
enum MemoryLocationType : int { kLocationDevice = 1 };
struct MemoryLocation {
  MemoryLocationType type;
  int id;
};
enum PoolAccess : int { kNoAccess = 0, kReadWrite = 3 };
struct AccessDescription {
  MemoryLocation location;
  PoolAccess flags;
};
enum AllocationType : int { kPinned = 1 };
struct PoolProperties {
  AllocationType allocation_type;
  int handle_types;
  MemoryLocation location;
  void* security;
  size_t size_limit;  ///< in bytes; 0: none
  char reserved[56];
};

/// hipMemPoolAttr
enum PoolAttribute : int {
  kReuseFollowEventDependencies = 1,
  kReuseAllowOpportunistic = 2,
  kReuseAllowInternalDependencies = 3,
  kReleaseThreshold = 4,
  kReservedCurrent = 5,
  kReservedHigh = 6,
  kUsedCurrent = 7,
  kUsedHigh = 8,
};

/// hipMemAllocNodeParams
struct AllocationParameters {
  PoolProperties pool;
  const AccessDescription* access;
  size_t access_count;
  size_t size;
  void* pointer;  ///< which the function writes
};
/// hipGraphMemAttributeType
enum GraphMemoryAttribute : int { kGraphUsed = 0, kGraphUsedHigh = 1, kGraphReserved = 2, kGraphReservedHigh = 3 };

enum MemoryAdvice : int {};  ///< hipMemoryAdvise
/// hipMemRangeAttribute
enum RangeAttribute : int {
  kRangeReadMostly = 1,
  kRangePreferredLocation = 2,
  kRangeAccessedBy = 3,
  kRangeLastPrefetchLocation = 4,
  kRangeCoherencyMode = 100,
};
enum DeviceLimit : int {};    ///< hipLimit_t: 0 to 2
enum PeerAttribute : int {};  ///< hipDeviceP2PAttr: 0 to 3

/// hipUUID
struct Uuid {
  char bytes[16];
};

/// What hipStreamWaitValue32 compares: `flags` of it.
enum : unsigned { kWaitAtLeast = 0, kWaitEqual = 1, kWaitAnd = 2, kWaitNor = 3 };

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

/// hipDeviceAttribute_t: the last that CUDA has, too, and AMD's own.
constexpr int kPciBusId = 67, kLastAttribute = 91, kFirstOwnAttribute = 10000, kLastOwnAttribute = 10020;

constexpr int kNoDevice = -2;  ///< hipInvalidDeviceId

enum : unsigned { kStreamNonBlocking = 1, kEventDisableTiming = 2 };

}  // namespace wave::hip
