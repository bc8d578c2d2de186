#include "code_object/cubin.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "code_object/cuda_kernel.h"

namespace wave {
namespace {

// EI_ABIVERSION from which on e_flags has the processor in bits 8 to 15 (EF_CUDA_SM_MASK) instead of 0 to 7
// (EF_CUDA_SM), and EF_CUDA_ACCELERATORS instead of EF_CUDA_ACCELERATORS_V1.
constexpr uint8_t kAbiWithMask = 8;
constexpr uint32_t kAccelerators = 0x8, kAcceleratorsV1 = 0x800;

// EICOMPAT_ATTR_CUDA_ACCELERATOR_TARGET of the section .nv.compat: CUDA 13 states "a" there and no longer in e_flags.
constexpr uint8_t kAcceleratorTarget = 0x09;

// Attributes of .nv.info (of the whole file, with a symbol's index each) and .nv.info.KERNEL.
enum InfoAttribute : uint8_t {
  EIATTR_MAX_THREADS = 0x05,
  EIATTR_REQNTID = 0x10,
  EIATTR_FRAME_SIZE = 0x11,
  EIATTR_MIN_STACK_SIZE = 0x12,
  EIATTR_KPARAM_INFO = 0x17,
  EIATTR_CBANK_PARAM_SIZE = 0x19,
  EIATTR_REGCOUNT = 0x2f,
  EIATTR_CTA_PER_CLUSTER = 0x3d,
  EIATTR_KPARAM_INFO_V2 = 0x45,  // of kernels with more than 4 KiB of parameters
};

// How an attribute's value is stored: in the two bytes behind the attribute, or, after a size, in as many bytes.
enum ValueFormat : uint8_t { EIFMT_NVAL = 1, EIFMT_BVAL = 2, EIFMT_HVAL = 3, EIFMT_SVAL = 4 };

// "Space" of a parameter's information: of a pointer that the PTX declared with .ptr.
enum PointerSpace : uint32_t { kGlobalSpace = 4, kGenericSpace = 5 };

// Sections may overlap: the .nv.info.KERNEL together get twice the file's size.
constexpr uint64_t kInfoBytesPerByte = 2;

// From sm_90 on every block has this much shared memory reserved for the system; it counts in the size of the section
// of kernels that use any, and not in what ptxas and the driver report.
constexpr uint64_t kReservedShared = 1024;

// Calls visit(attribute, value) for all attributes of a section.
template <class Visit>
void each_attribute(const Bytes& section, const Visit& visit) {
  for (uint64_t at = 0; at < section.size();) {
    const auto format = section.read<uint8_t>(at), attribute = section.read<uint8_t>(at + 1);
    if (format < EIFMT_NVAL || format > EIFMT_SVAL) section.fail(at, text("an attribute in format ", unsigned{format}));
    const uint64_t value_at = format == EIFMT_SVAL ? at + 4 : at + 2;
    const uint64_t size = format == EIFMT_SVAL ? section.read<uint16_t>(at + 2) : 2;
    visit(attribute, section.slice(value_at, size));
    at = value_at + size;
  }
}

std::array<uint32_t, 3> read_dimensions(const Bytes& value) {
  return {value.read<uint32_t>(0), value.read<uint32_t>(4), value.read<uint32_t>(8)};
}

struct NumberedArgument {
  uint16_t ordinal;
  ArgumentMetadata metadata;
};

NumberedArgument read_argument(const Bytes& value, bool is_v2) {
  const auto packed = value.read<uint32_t>(8);
  NumberedArgument argument{value.read<uint16_t>(4), {}};
  ArgumentMetadata& metadata = argument.metadata;
  metadata.offset = value.read<uint16_t>(6);
  metadata.size = is_v2 ? packed & 0xffff : packed >> 18;
  const uint32_t space = is_v2 ? packed >> 24 & 0xf : packed >> 8 & 0xf;
  const bool is_pointer = metadata.size == 8 && (space == kGlobalSpace || space == kGenericSpace);
  set_kind(metadata, is_pointer, metadata.size == 8 && space == 0);
  return argument;
}

void read_info(const Bytes& info, KernelMetadata& kernel) {
  std::vector<NumberedArgument> arguments;
  each_attribute(info, [&](uint8_t attribute, const Bytes& value) {
    switch (attribute) {
      case EIATTR_KPARAM_INFO:
      case EIATTR_KPARAM_INFO_V2:
        arguments.push_back(read_argument(value, attribute == EIATTR_KPARAM_INFO_V2));
        break;
      case EIATTR_CBANK_PARAM_SIZE:
        kernel.kernarg_segment_size = value.read<uint16_t>(0);
        break;
      case EIATTR_REQNTID:
        kernel.reqd_workgroup_size = read_dimensions(value);
        break;
      case EIATTR_MAX_THREADS: {
        kernel.max_flat_workgroup_size = threads_of(read_dimensions(value));
        break;
      }
      case EIATTR_CTA_PER_CLUSTER:
        kernel.cluster_size = read_dimensions(value);
        break;
      default:
        break;
    }
  });
  std::ranges::sort(arguments, {}, &NumberedArgument::ordinal);
  kernel.arguments.emplace();
  for (NumberedArgument& argument : arguments) {
    if (argument.ordinal != kernel.arguments->size()) {
      info.fail(
          0, text("kernel ", kernel.name, ": no parameter ", kernel.arguments->size(), " before ", argument.ordinal));
    }
    const uint32_t end = argument.metadata.offset + argument.metadata.size;
    if (end > kernel.kernarg_segment_size) {
      info.fail(0,
                text("kernel ", kernel.name, ": a parameter ends at byte ", end, " of ", kernel.kernarg_segment_size));
    }
    kernel.arguments->push_back(std::move(argument.metadata));
  }
}

// Registers and stack, which .nv.info states for each function by the index of its symbol.
void read_resources(const Bytes& info, std::unordered_map<uint32_t, KernelMetadata*>& kernels) {
  each_attribute(info, [&](uint8_t attribute, const Bytes& value) {
    if (attribute != EIATTR_REGCOUNT && attribute != EIATTR_FRAME_SIZE && attribute != EIATTR_MIN_STACK_SIZE) return;
    const auto found = kernels.find(value.read<uint32_t>(0));
    if (found == kernels.end()) return;
    KernelMetadata& kernel = *found->second;
    const auto number = value.read<uint32_t>(4);
    if (attribute == EIATTR_REGCOUNT) {
      kernel.vgpr_count = number;
    } else {  // the least stack covers the functions that the kernel calls, too
      kernel.private_segment_fixed_size = std::max(kernel.private_segment_fixed_size, number);
    }
  });
}

using SectionsByName = std::unordered_map<std::string_view, const ElfSection*>;

KernelMetadata describe(const Elf& cubin, const SectionsByName& sections, std::string_view name, uint64_t& budget) {
  KernelMetadata kernel;
  kernel.name = kernel.symbol = name;
  kernel.wavefront_size = kWarpSize;
  kernel.max_flat_workgroup_size = kMaxThreads;
  const auto section = [&](std::string_view prefix) {
    const auto found = sections.find(std::string(prefix) + kernel.name);
    return found == sections.end() ? nullptr : found->second;
  };
  if (const ElfSection* info = section(".nv.info.")) {
    if (info->size > budget) cubin.bytes().fail(info->offset, "sections that overlap too much");
    budget -= info->size;
    read_info(cubin.contents(*info).as("cubin"), kernel);
  }
  if (const ElfSection* shared = section(".nv.shared.")) {
    const uint64_t reserved = sections.contains(".nv.shared.reserved.0") ? kReservedShared : 0;
    const uint64_t size = shared->size - std::min(shared->size, reserved);
    if (size > UINT32_MAX) cubin.bytes().fail(shared->offset, text("kernel ", name, " has ", size, " bytes shared"));
    kernel.group_segment_fixed_size = static_cast<uint32_t>(size);
  }
  return kernel;
}

}  // namespace

Target cubin_target(const Elf& cubin) {
  const ElfIdentity& identity = cubin.identity();
  const bool has_mask = identity.abi_version >= kAbiWithMask;
  Sm sm{has_mask ? identity.flags >> 8 & 0xff : identity.flags & 0xff};
  bool is_specific = (identity.flags & (has_mask ? kAccelerators : kAcceleratorsV1)) != 0;
  for (const ElfSection& section : cubin.sections()) {
    if (section.name != ".nv.compat") continue;
    each_attribute(cubin.contents(section).as("cubin"), [&](uint8_t attribute, const Bytes& value) {
      if (attribute == kAcceleratorTarget && value.size() >= 1) is_specific |= value.read<uint8_t>(0) == 1;
    });
  }
  if (is_specific) sm.features = Sm::Features::Architecture;
  Target target{.processor = sm.name()};
  if (!parse_sm(target.processor)) {
    cubin.bytes().fail(kFlagsOffset, text("no processor in e_flags ", hex(identity.flags)));
  }
  return target;
}

std::vector<KernelInfo> read_cubin_kernels(const Elf& cubin) {
  SectionsByName sections;
  for (const ElfSection& section : cubin.sections()) sections.emplace(section.name, &section);
  std::vector<KernelInfo> kernels;
  std::vector<uint32_t> indices;
  std::unordered_set<std::string_view> names;
  uint64_t budget = kInfoBytesPerByte * cubin.bytes().size();
  const std::vector<ElfSymbol>& symbols = cubin.static_symbols();
  for (uint32_t i = 0; i < symbols.size(); ++i) {
    const ElfSymbol& symbol = symbols[i];
    if (symbol.type != STT_FUNC || (symbol.other & STO_CUDA_ENTRY) == 0 || symbol.section == SHN_UNDEF) continue;
    if (symbol.name.empty()) cubin.bytes().fail(0, text("symbol ", i, " is a kernel without a name"));
    if (!names.insert(symbol.name).second) {
      cubin.bytes().fail(0, text("kernel ", symbol.name, " is listed twice"));
    }
    kernels.push_back(
        {.metadata = describe(cubin, sections, symbol.name, budget), .descriptor = {}, .code_size = symbol.size});
    indices.push_back(i);
  }
  std::unordered_map<uint32_t, KernelMetadata*> by_index;
  for (size_t i = 0; i < kernels.size(); ++i) by_index.emplace(indices[i], &kernels[i].metadata);
  const auto info = sections.find(".nv.info");
  if (info != sections.end()) read_resources(cubin.contents(*info->second).as("cubin"), by_index);
  return kernels;
}

std::vector<Symbol> read_cubin_variables(const Elf& cubin) {
  std::vector<Symbol> variables;
  for (const ElfSymbol& symbol : cubin.static_symbols()) {
    if (symbol.type != STT_OBJECT || symbol.name.empty() || symbol.section >= cubin.sections().size()) continue;
    const std::string_view section = cubin.sections()[symbol.section].name;
    if (!section.starts_with(".nv.global") && !section.starts_with(".nv.constant")) continue;
    variables.push_back({std::string(symbol.name), symbol.address, symbol.size, false});
  }
  return variables;
}

}  // namespace wave
