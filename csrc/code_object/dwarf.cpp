#include "code_object/dwarf.h"

#include <utility>

#include "base/decompress.h"

namespace wave {

namespace {

constexpr uint64_t kCompressed = 0x800;  // SHF_COMPRESSED

/// Elf64_Chdr of the generic ABI, behind which the stream lies.
struct CompressionHeader {
  uint32_t type, reserved;
  uint64_t size, align;
};

std::vector<uint8_t> decompressed(const Bytes& section) {
  const auto header = section.read<CompressionHeader>(0);
  constexpr uint32_t kZlib = 1, kZstd = 2;  // ELFCOMPRESS_ZLIB, ELFCOMPRESS_ZSTD
  if (header.type != kZlib && header.type != kZstd) section.fail(0, text("unknown compression method ", header.type));
  const Bytes stream = section.slice(sizeof(header), section.size() - sizeof(header));
  return decompress(header.type == kZlib ? Compression::Zlib : Compression::Zstd, stream, header.size);
}

}  // namespace

Bytes DwarfSections::get(std::string_view name, const char* what) {
  for (const ElfSection& section : elf_.sections()) {
    if (section.name != name) continue;
    const Bytes contents = elf_.contents(section).as(what);
    if ((section.flags & kCompressed) == 0) return contents;
    size_ += decompressed_.emplace_back(decompressed(contents)).size();
    return Bytes(decompressed_.back(), what);
  }
  return Bytes({}, what);
}

}  // namespace wave
