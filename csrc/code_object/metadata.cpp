#include "code_object/metadata.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "code_object/msgpack.h"

namespace wave {
namespace {

struct KindName {
  std::string_view name;
  ValueKind kind;
};

// AMDGPU usage guide, "AMDHSA Code Object V3 Kernel Argument Metadata Map" and its additions in V4 and V5.
constexpr KindName kKinds[] = {
    {"by_value", ValueKind::ByValue},
    {"global_buffer", ValueKind::GlobalBuffer},
    {"dynamic_shared_pointer", ValueKind::DynamicSharedPointer},
    {"sampler", ValueKind::Sampler},
    {"image", ValueKind::Image},
    {"pipe", ValueKind::Pipe},
    {"queue", ValueKind::Queue},
    {"hidden_global_offset_x", ValueKind::HiddenGlobalOffsetX},
    {"hidden_global_offset_y", ValueKind::HiddenGlobalOffsetY},
    {"hidden_global_offset_z", ValueKind::HiddenGlobalOffsetZ},
    {"hidden_none", ValueKind::HiddenNone},
    {"hidden_printf_buffer", ValueKind::HiddenPrintfBuffer},
    {"hidden_hostcall_buffer", ValueKind::HiddenHostcallBuffer},
    {"hidden_default_queue", ValueKind::HiddenDefaultQueue},
    {"hidden_completion_action", ValueKind::HiddenCompletionAction},
    {"hidden_multigrid_sync_arg", ValueKind::HiddenMultigridSyncArg},
    {"hidden_block_count_x", ValueKind::HiddenBlockCountX},
    {"hidden_block_count_y", ValueKind::HiddenBlockCountY},
    {"hidden_block_count_z", ValueKind::HiddenBlockCountZ},
    {"hidden_group_size_x", ValueKind::HiddenGroupSizeX},
    {"hidden_group_size_y", ValueKind::HiddenGroupSizeY},
    {"hidden_group_size_z", ValueKind::HiddenGroupSizeZ},
    {"hidden_remainder_x", ValueKind::HiddenRemainderX},
    {"hidden_remainder_y", ValueKind::HiddenRemainderY},
    {"hidden_remainder_z", ValueKind::HiddenRemainderZ},
    {"hidden_grid_dims", ValueKind::HiddenGridDims},
    {"hidden_heap_v1", ValueKind::HiddenHeapV1},
    {"hidden_dynamic_lds_size", ValueKind::HiddenDynamicLdsSize},
    {"hidden_private_base", ValueKind::HiddenPrivateBase},
    {"hidden_shared_base", ValueKind::HiddenSharedBase},
    {"hidden_queue_ptr", ValueKind::HiddenQueuePtr},
};

constexpr std::string_view kHidden = "hidden_";

ValueKind parse_kind(std::string_view name) {
  const auto* found = std::ranges::find(kKinds, name, &KindName::name);
  if (found != std::end(kKinds)) return found->kind;
  return name.starts_with(kHidden) ? ValueKind::HiddenUnknown : ValueKind::Unknown;
}

uint32_t read_u32(MsgpackReader& reader) {
  const uint64_t value = reader.read_uint();
  if (value > UINT32_MAX) reader.fail(text(value, " does not fit into 32 bits"));
  return static_cast<uint32_t>(value);
}

std::string_view read_string(MsgpackReader& reader) { return reader.read_string(); }

// A flag that compilers write as a Boolean or as 0 and 1.
bool read_flag(MsgpackReader& reader) {
  return reader.type() == MsgpackReader::Type::Boolean ? reader.read_bool() : reader.read_uint() != 0;
}

constexpr std::string_view kAccessNames[] = {"", "read_only", "write_only", "read_write"};

Access read_access(MsgpackReader& reader) {
  const auto* const found = std::ranges::find(kAccessNames, reader.read_string());
  return found == std::end(kAccessNames) ? Access::Unstated : static_cast<Access>(found - kAccessNames);
}

std::array<uint32_t, 3> read_dimensions(MsgpackReader& reader) {
  if (reader.read_array() != 3) reader.fail("a workgroup size has three dimensions");
  std::array<uint32_t, 3> size;
  for (uint32_t& dimension : size) dimension = read_u32(reader);
  return size;
}

// A key of a map and the member that takes its value.
template <class Object, class Value>
struct MapField {
  std::string_view key;
  Value Object::* member;
};

constexpr MapField<ArgumentMetadata, std::string> kArgumentStrings[] = {
    {".name", &ArgumentMetadata::name},
    {".type_name", &ArgumentMetadata::type_name},
    {".value_kind", &ArgumentMetadata::kind_name},
    {".address_space", &ArgumentMetadata::address_space},
};

constexpr MapField<ArgumentMetadata, bool> kArgumentFlags[] = {
    {".is_const", &ArgumentMetadata::is_const},
    {".is_restrict", &ArgumentMetadata::is_restrict},
    {".is_volatile", &ArgumentMetadata::is_volatile},
};

constexpr MapField<ArgumentMetadata, Access> kArgumentAccesses[] = {
    {".access", &ArgumentMetadata::access},
    {".actual_access", &ArgumentMetadata::actual_access},
};

constexpr MapField<KernelMetadata, std::string> kKernelStrings[] = {
    {".name", &KernelMetadata::name},
    {".symbol", &KernelMetadata::symbol},
};

constexpr MapField<KernelMetadata, uint32_t> kKernelNumbers[] = {
    {".kernarg_segment_size", &KernelMetadata::kernarg_segment_size},
    {".kernarg_segment_align", &KernelMetadata::kernarg_segment_align},
    {".group_segment_fixed_size", &KernelMetadata::group_segment_fixed_size},
    {".private_segment_fixed_size", &KernelMetadata::private_segment_fixed_size},
    {".wavefront_size", &KernelMetadata::wavefront_size},
    {".sgpr_count", &KernelMetadata::sgpr_count},
    {".vgpr_count", &KernelMetadata::vgpr_count},
    {".max_flat_workgroup_size", &KernelMetadata::max_flat_workgroup_size},
};

constexpr MapField<KernelMetadata, std::optional<uint32_t>> kKernelCounts[] = {
    {".agpr_count", &KernelMetadata::agpr_count},
    {".sgpr_spill_count", &KernelMetadata::sgpr_spill_count},
    {".vgpr_spill_count", &KernelMetadata::vgpr_spill_count},
};

constexpr MapField<KernelMetadata, bool> kKernelFlags[] = {
    {".uniform_work_group_size", &KernelMetadata::uniform_work_group_size},
    {".uses_dynamic_stack", &KernelMetadata::uses_dynamic_stack},
};

// Reads the value of `key` into its member; false where no field has this key.
template <class Object, class Value, size_t N, class Result>
bool read_field(const MapField<Object, Value> (&fields)[N], Object& object, std::string_view key, MsgpackReader& reader,
                Result (*read)(MsgpackReader&)) {
  for (const MapField<Object, Value>& field : fields) {
    if (field.key != key) continue;
    object.*field.member = read(reader);
    return true;
  }
  return false;
}

ArgumentMetadata read_argument(MsgpackReader& reader) {
  ArgumentMetadata argument;
  std::optional<uint32_t> offset, size;
  const uint32_t pairs = reader.read_map();
  for (uint32_t i = 0; i < pairs; ++i) {
    const std::string_view key = reader.read_string();
    if (read_field(kArgumentStrings, argument, key, reader, read_string)) continue;
    if (read_field(kArgumentFlags, argument, key, reader, read_flag)) continue;
    if (read_field(kArgumentAccesses, argument, key, reader, read_access)) continue;
    if (key == ".offset") {
      offset = read_u32(reader);
    } else if (key == ".size") {
      size = read_u32(reader);
    } else if (key == ".pointee_align") {
      argument.pointee_align = read_u32(reader);
    } else {
      reader.skip();
    }
  }
  if (!offset || !size || argument.kind_name.empty()) {
    reader.fail("a kernel argument without .offset, .size or .value_kind");
  }
  argument.offset = *offset;
  argument.size = *size;
  argument.kind = parse_kind(argument.kind_name);
  return argument;
}

std::vector<ArgumentMetadata> read_arguments(MsgpackReader& reader) {
  std::vector<ArgumentMetadata> arguments;
  const uint32_t count = reader.read_array();
  for (uint32_t i = 0; i < count; ++i) arguments.push_back(read_argument(reader));
  return arguments;
}

// A launch writes the arguments into a buffer of `kernarg_segment_size` bytes. Hand-written kernels exist (AITER's fmoe
// with block scales) whose last argument ends past the size that they state.
void settle_kernarg_size(KernelMetadata& kernel, const MsgpackReader& reader) {
  uint64_t size = kernel.kernarg_segment_size;
  if (kernel.arguments) {
    for (const ArgumentMetadata& argument : *kernel.arguments) {
      size = std::max(size, uint64_t{argument.offset} + argument.size);
    }
  }
  if (size > kMaxKernargSize) {
    reader.fail(
        text("kernel ", kernel.name, " has a kernarg segment of ", size, " bytes, the limit is ", kMaxKernargSize));
  }
  kernel.kernarg_segment_size = static_cast<uint32_t>(size);
}

KernelMetadata read_kernel(MsgpackReader& reader) {
  KernelMetadata kernel;
  const uint32_t pairs = reader.read_map();
  for (uint32_t i = 0; i < pairs; ++i) {
    const std::string_view key = reader.read_string();
    if (read_field(kKernelStrings, kernel, key, reader, read_string)) continue;
    if (read_field(kKernelNumbers, kernel, key, reader, read_u32)) continue;
    if (read_field(kKernelCounts, kernel, key, reader, read_u32)) continue;
    if (read_field(kKernelFlags, kernel, key, reader, read_flag)) continue;
    if (key == ".args") {
      kernel.arguments = read_arguments(reader);
    } else if (key == ".reqd_workgroup_size") {
      kernel.reqd_workgroup_size = read_dimensions(reader);
    } else {
      reader.skip();
    }
  }
  if (kernel.name.empty() || kernel.symbol.empty()) reader.fail("a kernel without .name or .symbol");
  settle_kernarg_size(kernel, reader);
  return kernel;
}

void read_version(Metadata& metadata, MsgpackReader& reader) {
  if (reader.read_array() != 2) reader.fail("amdhsa.version has two numbers");
  metadata.version_major = read_u32(reader);
  metadata.version_minor = read_u32(reader);
}

}  // namespace

std::string_view name(Access access) { return kAccessNames[static_cast<size_t>(access)]; }

bool is_hidden(ValueKind kind) {
  static constexpr auto kIsHidden = [] {
    std::array<bool, 256> hidden{};
    for (const KindName& row : kKinds) hidden[static_cast<uint8_t>(row.kind)] = row.name.starts_with(kHidden);
    hidden[static_cast<uint8_t>(ValueKind::HiddenUnknown)] = true;
    return hidden;
  }();
  return kIsHidden[static_cast<uint8_t>(kind)];
}

void set_kind(ArgumentMetadata& argument, bool is_pointer, bool may_be_pointer) {
  argument.kind = is_pointer ? ValueKind::GlobalBuffer : ValueKind::ByValue;
  argument.kind_name = is_pointer ? "global_buffer" : may_be_pointer ? "pointer_or_value" : "by_value";
  argument.may_be_pointer = may_be_pointer;
}

Metadata parse_metadata(const Bytes& note) {
  Metadata metadata;
  MsgpackReader reader(note);
  const uint32_t pairs = reader.read_map();
  for (uint32_t i = 0; i < pairs; ++i) {
    const std::string_view key = reader.read_string();
    if (key == "amdhsa.version") {
      read_version(metadata, reader);
    } else if (key == "amdhsa.target") {
      metadata.target = reader.read_string();
    } else if (key == "amdhsa.kernels") {
      const uint32_t kernels = reader.read_array();
      for (uint32_t k = 0; k < kernels; ++k) metadata.kernels.push_back(read_kernel(reader));
    } else {
      reader.skip();
    }
  }
  return metadata;
}

}  // namespace wave
