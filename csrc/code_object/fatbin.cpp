#include "code_object/fatbin.h"

#include "base/decompress.h"
#include "code_object/cubin.h"
#include "code_object/elf.h"
#include "code_object/ptx.h"

namespace wave {
namespace {

constexpr uint64_t kWrapperSize = 24;  // magic, version, and two pointers, which are zero in a file
constexpr uint64_t kSmallestEntryHeader = 64;

enum EntryKind : uint16_t { kPtx = 1, kElf = 2 };

// Flags of an entry.
constexpr uint64_t kLz4 = 0x2000, kZstd = 0x8000;

// The beginning of the header of an entry, as it lies in the file.
struct EntryHeader {
  uint16_t kind, version;
  uint32_t header_size;
  uint64_t size;             ///< of what follows the header, with padding
  uint32_t compressed_size;  ///< without padding; 0 where it is not compressed
  uint32_t options_offset;
  uint16_t minor, major;  ///< of the format
  uint32_t processor;     ///< 90 for sm_90
  uint32_t name_offset, name_size;
  uint64_t flags, reserved, uncompressed_size;
};
static_assert(sizeof(EntryHeader) == kSmallestEntryHeader);

// An entry that is not code for a GPU that could be launched, or not for this one: listed in errors.
Entry unusable(const EntryHeader& header, const char* what) {
  return {.id = text("sm_", header.processor, " (", what, ")"), .format = Format::Cubin, .target = {}, .bytes = {{}, what}};
}

bool is_for_another_major(const EntryHeader& header, const std::optional<Target>& device) {
  if (!device || header.kind != kElf) return false;
  const std::optional<Sm> sm = parse_sm(device->processor);
  return !sm || sm->major() != header.processor / 10;
}

// The target that the image itself states, which is more than the entry does; nothing where it cannot be loaded.
Entry describe(const EntryHeader& header, const Bytes& bytes, bool compressed, uint64_t offset) {
  Entry entry{.id = {}, .format = Format::Ptx, .target = {}, .bytes = bytes, .compressed = compressed, .offset = offset};
  if (header.kind == kPtx) {
    entry.target = parse_ptx(bytes.as("PTX")).target;
  } else {
    const Elf elf(bytes.as("cubin"), Elf::Depth::Sections);
    if (elf.identity().machine != EM_CUDA) return unusable(header, "an ELF for another machine");
    if (elf.identity().type != ET_EXEC) return unusable(header, "relocatable cubin");
    entry.format = Format::Cubin;
    entry.target = cubin_target(elf);
  }
  entry.id = text(entry.target->id(), " (", name(entry.format), ")");
  return entry;
}

void read_entry(const EntryHeader& header, const Bytes& contents, uint64_t offset, const std::optional<Target>& device,
                const EntrySink& sink, size_t unit) {
  if (header.kind != kPtx && header.kind != kElf) return sink(unusable(header, "neither cubin nor PTX"), unit);
  if (is_for_another_major(header, device)) return sink(unusable(header, "cubin"), unit);
  if ((header.flags & (kLz4 | kZstd)) == 0) {
    // The padding behind PTX is not part of the text.
    uint64_t size = contents.size();
    while (header.kind == kPtx && size > 0 && contents.read<uint8_t>(size - 1) == 0) --size;
    return sink(describe(header, contents.slice(0, size), false, offset), unit);
  }
  const Compression method = (header.flags & kZstd) != 0 ? Compression::Zstd : Compression::Lz4;
  const Bytes payload = contents.slice(0, header.compressed_size);
  const std::vector<uint8_t> inside = decompress(method, payload, header.uncompressed_size);
  sink(describe(header, Bytes(inside, "decompressed fat binary entry"), true, 0), unit);
}

// Reads the fat binary at the start of `bytes`; returns its size.
uint64_t read_fatbin(const Bytes& bytes, uint64_t origin, const std::optional<Target>& device, const EntrySink& sink,
                     size_t unit) {
  const auto version = bytes.read<uint16_t>(4);
  if (version != 1) bytes.fail(4, text("fat binary of version ", version, "; version 1 is known"));
  const uint64_t header_size = bytes.read<uint16_t>(6), size = bytes.read<uint64_t>(8);
  if (header_size < 16) bytes.fail(6, text("a header of ", header_size, " bytes"));
  const Bytes entries = bytes.slice(header_size, size);
  for (uint64_t at = 0; at < size;) {
    const auto header = entries.read<EntryHeader>(at);
    if (header.header_size < kSmallestEntryHeader) entries.fail(at + 4, text("a header of ", header.header_size, " bytes"));
    const uint64_t contents_at = at + header.header_size;
    const Bytes contents = entries.slice(contents_at, header.size);
    read_entry(header, contents, origin + header_size + contents_at, device, sink, unit);
    at = contents_at + header.size;
  }
  return header_size + size;
}

}  // namespace

size_t read_fatbins(const Bytes& bytes, uint64_t origin, size_t unit, const std::optional<Target>& device,
                    const EntrySink& sink) {
  size_t count = 0;
  for (uint64_t at = 0; at < bytes.size();) {
    const Bytes rest = bytes.slice(at, bytes.size() - at);
    if (rest.read<uint8_t>(0) == 0) {
      ++at;
    } else if (rest.starts_with(kFatbinWrapperMagic)) {
      rest.slice(0, kWrapperSize);
      at += kWrapperSize;
    } else if (rest.starts_with(kFatbinMagic)) {
      at += read_fatbin(rest, origin + at, device, sink, unit + count++);
    } else {
      rest.fail(0, "no fat binary where one is expected");
    }
  }
  return count;
}

}  // namespace wave
