#include "hip_emulator/module.h"

#include <algorithm>
#include <cstring>

#include "base/bytes.h"
#include "base/error.h"
#include "base/process_memory.h"
#include "code_object/elf.h"
#include "code_object/file_kind.h"
#include "code_object/managed.h"
#include "code_object/offload_bundle.h"
#include "emulator/loaded_modules.h"
#include "emulator/processor.h"
#include "hip_emulator/device_memory.h"
#include "hip_emulator/errors.h"
#include "hip_emulator/runtime.h"

namespace wave::hip_emulator {

namespace {

/// Up to the last header, section or segment, all of which must lie in `file`.
uint64_t elf_size(const Bytes& file, Elf::Depth depth) {
  constexpr uint64_t kSegmentTable = 32, kSectionTable = 40, kSegmentSize = 54, kSectionSize = 58;  // in the header
  uint64_t size = 0;
  const auto reach = [&](uint64_t offset, uint64_t bytes) {
    file.slice(offset, bytes);
    size = std::max(size, offset + bytes);
  };
  const auto reach_table = [&](uint64_t offset_at, uint64_t size_at) {
    const uint64_t bytes = uint64_t{file.read<uint16_t>(size_at)} * file.read<uint16_t>(size_at + 2);
    if (bytes != 0) reach(file.read<uint64_t>(offset_at), bytes);
  };
  const Elf elf(file, depth);
  reach_table(kSegmentTable, kSegmentSize);
  reach_table(kSectionTable, kSectionSize);
  for (const ElfSegment& segment : elf.segments()) reach(segment.offset, segment.file_size);
  for (const ElfSection& section : elf.sections()) {
    if (section.type != SHT_NOBITS) reach(section.offset, section.size);
  }
  return size;
}

uint64_t image_size(const Bytes& file, FileKind kind) {
  switch (kind) {
    case FileKind::CodeObject:
      return elf_size(file, Elf::Depth::All);
    case FileKind::HostObject:
      return elf_size(file, Elf::Depth::Sections);
    case FileKind::OffloadBundle:
    case FileKind::CompressedBundle:
      return bundle_size(file);
    default:
      throw Failure(hipErrorInvalidImage, "an image for another vendor's GPU");
  }
}

}  // namespace

EmulatedModule::EmulatedModule(std::shared_ptr<const CodeObject> code, int device)
    : shared(emulator::load_module(std::move(code))), device(device) {
  for (const Symbol& symbol : emulated.code().symbols()) {
    // clang marks each translation unit by a variable of its own, which no program means.
    if (symbol.is_function || symbol.size == 0 || symbol.name.starts_with("__hip_cuid_")) continue;
    const AddressSpan bytes(emulated.load_address(symbol.address), symbol.size);
    if (emulated.bytes().contains(bytes)) runtime().memory.add_variable(symbol.name, bytes, device);
  }
}

void EmulatedModule::unload() {
  is_unloaded = true;
  std::lock_guard lock(mutex);
  for (const auto& [name, function] : functions) runtime().functions.remove(function);
  functions.clear();
}

const KernelInfo* EmulatedModule::kernel(std::string_view name) const {
  for (const KernelInfo& kernel : emulated.code().kernels()) {
    if (kernel.metadata.name == name) return &kernel;
  }
  return nullptr;
}

EmulatedModule::~EmulatedModule() {
  runtime().memory.remove_variables(emulated.bytes());
  for (const auto& [name, variable] : managed_) runtime().memory.free(variable.address);
}

/// As clang names what they begin with (CGCUDANV.cpp, transformManagedVars).
void EmulatedModule::allocate_managed_variables() {
  for (const Symbol& symbol : emulated.code().symbols()) {
    const std::string_view initial = symbol.name;
    if (!initial.ends_with(kManagedValue)) continue;
    const std::string name(initial.substr(0, initial.size() - kManagedValue.size()));
    const DeviceVariable values = variable(initial), pointer = variable(name);
    require(pointer.size == sizeof(void*), hipErrorInvalidImage, "a managed variable has no pointer");
    void* const memory = runtime().memory.allocate(values.size, device, AllocationKind::Managed);
    managed_[name] = {memory, values.size};
    std::memcpy(memory, values.address, values.size);
    std::memcpy(pointer.address, &memory, sizeof(memory));
  }
}

DeviceVariable EmulatedModule::variable(std::string_view name) const {
  if (const auto found = managed_.find(name); found != managed_.end()) return found->second;
  try {
    const Symbol* const variable = emulated.code().variable(name);
    require(variable != nullptr, hipErrorNotFound);
    return {reinterpret_cast<void*>(emulator::variable_bytes(emulated, *variable).begin()), variable->size};
  } catch (const ValueError& error) {
    throw Failure(hipErrorNotFound, error.what());
  }
}

std::span<const uint8_t> image_bytes(const void* image) {
  const auto begin = reinterpret_cast<uint64_t>(image);
  const std::optional<MemoryRange> mapping = find_mapping(begin);
  require(mapping.has_value(), hipErrorInvalidValue, "the image does not lie in memory");
  const std::span<const uint8_t> rest(static_cast<const uint8_t*>(image), mapping->bytes.left_from(begin));
  try {
    const Bytes file(rest, "image");
    return rest.subspan(0, image_size(file, classify(file)));
  } catch (const ValueError& error) {
    throw Failure(hipErrorInvalidImage, error.what());
  }
}

std::shared_ptr<EmulatedModule> load_module(std::span<const uint8_t> image, int device) {
  try {
    return std::make_shared<EmulatedModule>(CodeObject::parse(image, emulator::device_processor().target()), device);
  } catch (const FormatError& error) {
    throw Failure(hipErrorInvalidImage, error.what());
  } catch (const ValueError& error) {
    throw Failure(hipErrorNoBinaryForGpu, error.what());
  }
}

}  // namespace wave::hip_emulator
