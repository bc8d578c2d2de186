#include "code_object/code_object.h"

#include <algorithm>
#include <iterator>
#include <unordered_map>
#include <unordered_set>

#include "base/sha256.h"
#include "code_object/cubin.h"
#include "code_object/elf.h"
#include "code_object/image.h"
#include "code_object/loadable.h"
#include "code_object/ptx.h"
#include "code_object/select.h"

namespace wave {
namespace {

constexpr uint64_t kAbiVersionOffset = 8;
constexpr uint64_t kEntryAlignment = 256;  // AMDGPU usage guide, "Kernel Descriptor": of the kernel's entry

// What all steps of reading the kernels look at.
struct Parts {
  const Elf& elf;
  const Target& target;
  const std::vector<Segment>& segments;
  const std::vector<Symbol>& symbols;
  std::unordered_map<std::string_view, const Symbol*> by_name{};   ///< exported, or the only one; else nullptr
  std::unordered_map<uint64_t, const Symbol*> sized_by_address{};  ///< the first one that has a size
};

Parts index_symbols(Parts parts) {
  for (const Symbol& symbol : parts.symbols) {
    const auto [named, is_new] = parts.by_name.emplace(symbol.name, &symbol);
    const Symbol*& known = named->second;
    if (!is_new && (known == nullptr || !known->is_exported)) known = symbol.is_exported ? &symbol : nullptr;
    if (symbol.size != 0) parts.sized_by_address.emplace(symbol.address, &symbol);
  }
  return parts;
}

// EI_ABIVERSION 1 to 4 are code object v3 to v6.
unsigned read_version(const Elf& elf) {
  const unsigned abi = elf.identity().abi_version;
  if (abi < 1 || abi > 4) {
    elf.bytes().fail(kAbiVersionOffset, text("code object version ", abi + 2, "; versions 3 to 6 are supported"));
  }
  return abi + 2;
}

// Whether flags and text can mean the same setting; a feature that is not fixed is Any or Unsupported.
bool same_setting(Feature a, Feature b) {
  const auto normal = [](Feature feature) { return feature == Feature::Unsupported ? Feature::Any : feature; };
  return normal(a) == normal(b);
}

void check_metadata_target(const Bytes& note, const std::string& id, const Target& target) {
  Target stated;
  try {
    stated = Target::parse(id);
  } catch (const ValueError& error) {
    note.fail(0, text("amdhsa.target: ", error.what()));
  }
  if (stated.processor != target.processor || !same_setting(stated.sramecc, target.sramecc) ||
      !same_setting(stated.xnack, target.xnack)) {
    note.fail(0, text("amdhsa.target says ", id, ", the ELF header's flags say ", target.id()));
  }
}

// Of all notes: a linker that compiles in parts (lld's --lto-partitions, which clang passes with -fgpu-rdc) leaves one
// of each, with that part's kernels.
std::optional<Metadata> read_metadata(const Elf& elf, const Target& target) {
  std::optional<Metadata> all;
  for (const ElfNote& note : elf.notes()) {
    if (note.type != NT_AMDGPU_METADATA || note.owner != "AMDGPU") continue;
    Metadata metadata = parse_metadata(note.contents.as("code object metadata"));
    if (!metadata.target.empty()) check_metadata_target(note.contents, metadata.target, target);
    if (all) {
      std::ranges::move(metadata.kernels, std::back_inserter(all->kernels));
    } else {
      all = std::move(metadata);
    }
  }
  return all;
}

[[noreturn]] void refuse_ambiguous(const Parts& parts, std::string_view symbol) {
  parts.elf.bytes().fail(0, text("several symbols ", symbol, ", none of them exported: which is the kernel's?"));
}

// The size of the kernel's symbol, or of another one at its entry; up to the end of the segment where there is none.
uint64_t find_code_size(const Parts& parts, const KernelInfo& kernel, const Segment& segment) {
  const uint64_t left = segment.address + segment.memory_size - kernel.entry_address;
  const auto named = parts.by_name.find(kernel.metadata.name);
  const Symbol* symbol = named == parts.by_name.end() ? nullptr : named->second;
  if (symbol != nullptr && symbol->address == kernel.entry_address && symbol->size != 0) {
    return std::min(symbol->size, left);
  }
  const auto sized = parts.sized_by_address.find(kernel.entry_address);
  return sized == parts.sized_by_address.end() ? left : std::min(sized->second->size, left);
}

KernelInfo read_kernel(const Parts& parts, KernelMetadata metadata, uint64_t descriptor_address) {
  const Bytes bytes = parts.elf.at_address(descriptor_address, KernelDescriptor::kSize);
  KernelInfo kernel{std::move(metadata), KernelDescriptor::parse(bytes, parts.target), descriptor_address, 0, 0};
  if (kernel.descriptor->kernarg_size > kMaxKernargSize) {
    bytes.fail(8, text("kernel ", kernel.metadata.name, " has a kernarg segment of ", kernel.descriptor->kernarg_size,
                       " bytes, the limit is ", kMaxKernargSize));
  }
  kernel.entry_address = descriptor_address + static_cast<uint64_t>(kernel.descriptor->kernel_code_entry_byte_offset);
  if (kernel.entry_address % kEntryAlignment != 0) {
    bytes.fail(16, text("the entry ", hex(kernel.entry_address), " of kernel ", kernel.metadata.name,
                        " is not a multiple of ", kEntryAlignment));
  }
  const Segment* segment = find_segment(parts.segments, kernel.entry_address, 4);
  if (segment == nullptr || !segment->executable) {
    bytes.fail(16,
               text("the entry ", hex(kernel.entry_address), " of kernel ", kernel.metadata.name, " is not in code"));
  }
  kernel.code_size = find_code_size(parts, kernel, *segment);
  return kernel;
}

// Facts of a kernel whose file has no metadata, as far as the descriptor tells them.
void describe_from_descriptor(KernelInfo& kernel, const Target& target) {
  const KernelDescriptor& descriptor = *kernel.descriptor;
  KernelMetadata& metadata = kernel.metadata;
  const Processor* processor = find_processor(target.processor);
  metadata.kernarg_segment_size = descriptor.kernarg_size;
  metadata.kernarg_segment_align = 8;
  metadata.group_segment_fixed_size = descriptor.group_segment_fixed_size;
  metadata.private_segment_fixed_size = descriptor.private_segment_fixed_size;
  metadata.wavefront_size = descriptor.enable_wavefront_size32 ? 32 : 64;
  metadata.sgpr_count = descriptor.sgprs;
  metadata.vgpr_count = descriptor.vgprs;
  if (processor != nullptr && processor->has_unified_vgprs()) {
    metadata.agpr_count = metadata.vgpr_count - std::min(metadata.vgpr_count, descriptor.accum_offset);
  }
  metadata.max_flat_workgroup_size = kMostWorkItems;
  metadata.uses_dynamic_stack = descriptor.uses_dynamic_stack;
}

std::vector<KernelInfo> read_stated_kernels(const Parts& parts, Metadata metadata) {
  std::unordered_set<std::string> names;
  std::unordered_set<const Symbol*> symbols;
  std::vector<KernelInfo> kernels;
  for (KernelMetadata& kernel : metadata.kernels) {
    const auto found = parts.by_name.find(kernel.symbol);
    if (found == parts.by_name.end()) {
      parts.elf.bytes().fail(0, text("kernel ", kernel.name, ": no symbol ", kernel.symbol, " in .dynsym or .symtab"));
    }
    if (found->second == nullptr) refuse_ambiguous(parts, kernel.symbol);
    if (!names.insert(kernel.name).second || !symbols.insert(found->second).second) {
      parts.elf.bytes().fail(0, text("kernel ", kernel.name, " (", kernel.symbol, ") is listed twice"));
    }
    kernels.push_back(read_kernel(parts, std::move(kernel), found->second->address));
  }
  return kernels;
}

// Each symbol "name.kd" of a descriptor's size is a kernel.
std::vector<KernelInfo> find_unstated_kernels(const Parts& parts) {
  std::vector<KernelInfo> kernels;
  for (const Symbol& symbol : parts.symbols) {
    const std::string_view name = symbol.name;
    if (!name.ends_with(".kd") || name == ".kd" || symbol.is_function || symbol.size != KernelDescriptor::kSize)
      continue;
    const Symbol* const named = parts.by_name.at(name);
    if (named == nullptr) refuse_ambiguous(parts, name);
    if (named != &symbol) continue;
    KernelMetadata metadata;
    metadata.name = name.substr(0, name.size() - 3);
    metadata.symbol = name;
    kernels.push_back(read_kernel(parts, std::move(metadata), symbol.address));
    describe_from_descriptor(kernels.back(), parts.target);
  }
  if (kernels.empty()) throw ValueError("a code object without kernels: no metadata note and no symbols NAME.kd");
  return kernels;
}

// The id of an entry is not always as precise as the code's own target, but it names the same processor.
void check_target(const Image& image, const CodeObject& code, const std::optional<Target>& wanted) {
  if (!image.entry.empty() && image.entry_target.processor != code.target().processor) {
    throw ValueError(text("bundle entry ", image.entry, " holds code for ", code.target().id()));
  }
  if (wanted && !runs_on(code, *wanted)) {
    const char* what = code.format() == Format::AmdGpu ? "code object" : name(code.format());
    throw ValueError(text(what, " built for ", code.target().id(), " does not run on ", wanted->id()));
  }
}

// "(add, mul), (gemm and 12 more)": the first kernels of the first few.
std::string list_kernels(const std::vector<std::shared_ptr<const CodeObject>>& objects) {
  constexpr size_t kObjectsShown = 8, kShown = 4;
  std::string result;
  for (size_t object = 0; object < std::min(kObjectsShown, objects.size()); ++object) {
    const std::vector<KernelInfo>& kernels = objects[object]->kernels();
    result += object == 0 ? "(" : ", (";
    for (size_t i = 0; i < std::min(kShown, kernels.size()); ++i) {
      result += (i == 0 ? "" : ", ") + kernels[i].metadata.name;
    }
    if (kernels.empty()) result += "none";
    if (kernels.size() > kShown) result += text(" and ", kernels.size() - kShown, " more");
    result += ")";
  }
  return objects.size() > kObjectsShown ? result + ", ..." : result;
}

}  // namespace

std::shared_ptr<const CodeObject> CodeObject::parse(std::span<const uint8_t> file,
                                                    const std::optional<Target>& target) {
  std::vector<std::shared_ptr<const CodeObject>> objects;
  for (Image& image : take_images(Bytes(file, "file"), target, SeveralTargets::Refused)) {
    objects.push_back(parse_image(std::move(image), target));
  }
  if (objects.size() == 1) return objects.front();
  throw ValueError(text("the file holds ", objects.size(), " code objects for ", objects.front()->target().id(),
                        ", of several translation units, and one is wanted; their kernels are ",
                        list_kernels(objects)));
}

std::vector<std::shared_ptr<const CodeObject>> CodeObject::parse_all(std::span<const uint8_t> file,
                                                                     const std::optional<Target>& target) {
  std::vector<std::shared_ptr<const CodeObject>> objects;
  for (Image& image : take_images(Bytes(file, "file"), target, SeveralTargets::Taken)) {
    objects.push_back(parse_image(std::move(image), target));
  }
  return objects;
}

std::shared_ptr<const CodeObject> CodeObject::parse_image(Image image, const std::optional<Target>& target) {
  std::shared_ptr<CodeObject> result(new CodeObject);
  result->format_ = image.format;
  const Bytes bytes = image.view();
  switch (image.format) {
    case Format::AmdGpu:
      if (!image.entry.empty() && classify(bytes) != FileKind::CodeObject) {
        throw ValueError(text("bundle entry ", image.entry, " holds another container instead of a code object"));
      }
      result->read_amd(bytes);
      break;
    case Format::Cubin:
      result->read_cubin(bytes);
      break;
    case Format::Ptx:
      result->read_ptx(bytes);
      break;
  }
  check_target(image, *result, target);
  result->sha256_ = wave::sha256(image.bytes);
  result->bytes_ = std::move(image.bytes);
  return result;
}

void CodeObject::read_amd(const Bytes& image) {
  const Elf elf(image);
  version_ = read_version(elf);
  target_ = Target::from_elf_flags(elf.identity().flags, elf.identity().abi_version);
  segments_ = read_segments(elf);
  symbols_ = read_symbols(elf);
  relocations_ = read_relocations(elf, segments_);
  const Parts parts = index_symbols({elf, target_, segments_, symbols_});
  std::optional<Metadata> metadata = read_metadata(elf, target_);
  kernels_ = metadata ? read_stated_kernels(parts, std::move(*metadata)) : find_unstated_kernels(parts);
}

void CodeObject::read_cubin(const Bytes& image) {
  const Elf elf(image, Elf::Depth::Symbols);
  version_ = elf.identity().abi_version;
  target_ = cubin_target(elf);
  symbols_ = read_cubin_variables(elf);
  kernels_ = read_cubin_kernels(elf);
}

void CodeObject::read_ptx(const Bytes& image) {
  Ptx ptx = parse_ptx(image);
  version_ = ptx.version;
  target_ = ptx.target;
  for (PtxVariable& variable : ptx.variables) symbols_.push_back({std::move(variable.name), 0, variable.size, false});
  for (KernelMetadata& kernel : ptx.kernels) kernels_.push_back({.metadata = std::move(kernel), .descriptor = {}});
}

const KernelInfo& CodeObject::kernel(std::string_view name) const {
  const auto found =
      std::ranges::find_if(kernels_, [&](const KernelInfo& kernel) { return kernel.metadata.name == name; });
  if (found != kernels_.end()) return *found;
  std::string names;
  for (const KernelInfo& kernel : kernels_) names += (names.empty() ? "" : ", ") + kernel.metadata.name;
  throw ValueError(text("no kernel \"", name, "\" in the code object for ", target_.id(), "; it has ",
                        names.empty() ? "none" : names));
}

const Symbol* CodeObject::variable(std::string_view name) const {
  const Symbol* local = nullptr;
  size_t locals = 0;
  for (const Symbol& symbol : symbols_) {
    if (symbol.is_function || symbol.size == 0 || symbol.name != name) continue;
    if (symbol.is_exported) return &symbol;
    local = &symbol;
    ++locals;
  }
  if (locals < 2) return local;
  throw ValueError(text("the module has ", locals, " variables '", name, "', none of them exported, so that it cannot ",
                        "be told which is meant: give the one to be found another name, or external linkage"));
}

}  // namespace wave
