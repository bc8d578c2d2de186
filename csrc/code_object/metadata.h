// What a file says of its kernels: the metadata note of AMD code objects (LLVM AMDGPU usage guide, "Code Object V3
// Metadata" to V5), in whose terms cubins and PTX are described, too.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"

namespace wave {

/// `.value_kind`. Hidden arguments are filled by the runtime, never passed by the caller.
enum class ValueKind : uint8_t {
  ByValue,
  GlobalBuffer,
  DynamicSharedPointer,
  Sampler,
  Image,
  Pipe,
  Queue,
  HiddenGlobalOffsetX,
  HiddenGlobalOffsetY,
  HiddenGlobalOffsetZ,
  HiddenNone,
  HiddenPrintfBuffer,
  HiddenHostcallBuffer,
  HiddenDefaultQueue,
  HiddenCompletionAction,
  HiddenMultigridSyncArg,
  HiddenBlockCountX,
  HiddenBlockCountY,
  HiddenBlockCountZ,
  HiddenGroupSizeX,
  HiddenGroupSizeY,
  HiddenGroupSizeZ,
  HiddenRemainderX,
  HiddenRemainderY,
  HiddenRemainderZ,
  HiddenGridDims,
  HiddenHeapV1,
  HiddenDynamicLdsSize,
  HiddenPrivateBase,
  HiddenSharedBase,
  HiddenQueuePtr,
  HiddenUnknown,  ///< a kind "hidden_..." that this version does not know; `kind_name` keeps it
  Unknown,        ///< any other kind that this version does not know; `kind_name` keeps it
};

/// `.access` and `.actual_access`.
enum class Access : uint8_t { Unstated, ReadOnly, WriteOnly, ReadWrite };
/// As it is written; empty where it is unstated.
std::string_view name(Access access);

/// Whether the runtime fills the argument.
bool is_hidden(ValueKind kind);

struct ArgumentMetadata {
  std::string name;          ///< often empty; may repeat
  std::string type_name;     ///< often empty
  std::string value_type{};  ///< of PTX, as signatures write it: "f32"; empty where the file does not say
  ValueKind kind = ValueKind::Unknown;
  std::string kind_name;  ///< as written
  uint32_t offset = 0;    ///< bytes
  uint32_t size = 0;      ///< bytes
  uint32_t pointee_align = 0;
  std::string address_space;
  Access access = Access::Unstated;
  Access actual_access = Access::Unstated;
  /// 8 bytes of which an NVIDIA file does not say whether they are a pointer: "pointer_or_value".
  bool may_be_pointer = false;
  bool is_const = false;
  bool is_restrict = false;
  bool is_volatile = false;
};

/// Bytes: far beyond what any compiler passes, and small enough for a launch to allocate.
constexpr uint32_t kMaxKernargSize = 1u << 20;

/// What a file says of a kernel, in AMD's words. For NVIDIA: kernarg segment for parameter space, group segment for
/// static shared memory, private segment for local memory, VGPRs for registers, wavefront for warp.
struct KernelMetadata {
  std::string name;
  std::string symbol;                                      ///< of the descriptor: "name.kd"; NVIDIA: the name
  std::optional<std::vector<ArgumentMetadata>> arguments;  ///< absent where the file has no `.args`
  std::optional<std::array<uint32_t, 3>> reqd_workgroup_size;
  std::optional<std::array<uint32_t, 3>> cluster_size{};  ///< NVIDIA: blocks of a cluster, where the kernel fixes it
  uint32_t kernarg_segment_size = 0;                      ///< bytes, at least up to the end of the last argument
  uint32_t kernarg_segment_align = 0;
  uint32_t group_segment_fixed_size = 0;
  uint32_t private_segment_fixed_size = 0;
  uint32_t wavefront_size = 0;
  uint32_t sgpr_count = 0;
  uint32_t vgpr_count = 0;
  std::optional<uint32_t> agpr_count;
  std::optional<uint32_t> sgpr_spill_count;
  std::optional<uint32_t> vgpr_spill_count;
  uint32_t max_flat_workgroup_size = 0;
  bool uniform_work_group_size = false;
  bool uses_dynamic_stack = false;
};

struct Metadata {
  std::string target;  ///< `amdhsa.target`; empty where the file has none
  uint32_t version_major = 0;
  uint32_t version_minor = 0;
  std::vector<KernelMetadata> kernels;
};

/// Makes the argument a pointer, a value, or either of them, and says so in `kind_name`.
void set_kind(ArgumentMetadata& argument, bool is_pointer, bool may_be_pointer);

/// Reads the MessagePack document of an NT_AMDGPU_METADATA note. Unknown keys are skipped. Throws FormatError, also
/// where a kernel lacks its name or symbol, an argument lacks its offset, size or kind, or a kernarg segment is larger
/// than 1 MiB.
Metadata parse_metadata(const Bytes& note);

}  // namespace wave
