#include "code_object/offload_bundle.h"

#include <algorithm>

#include "base/decompress.h"

namespace wave {

using namespace std::string_view_literals;

namespace {

constexpr std::string_view kMagic = "__CLANG_OFFLOAD_BUNDLE__";
constexpr std::string_view kCompressedMagic = "CCOB";
constexpr std::string_view kElfMagic =
    "\x7f"
    "ELF";
constexpr std::string_view kAmdTriple = "amdgcn-amd-amdhsa-";
constexpr std::string_view kNvidiaTriple = "nvptx64-nvidia-cuda-";
// Entries of real bundles do not overlap. Hostile ones could have the same bytes compared over and over.
constexpr uint64_t kEntryBytesPerByte = 2;

// The header of a compressed bundle. Version 1 does not have the file's size, versions 1 and 2 have 32-bit sizes.
struct CompressedHeader {
  uint64_t size;  ///< of header and payload; up to the end of the bytes in version 1
  uint64_t header_size;
  uint64_t uncompressed_size;
  Compression method;
};

CompressedHeader read_compressed_header(const Bytes& bundle) {
  const auto version = bundle.read<uint16_t>(4);
  const auto method = bundle.read<uint16_t>(6);
  if (method > 1) bundle.fail(6, text("unknown compression method ", method));
  CompressedHeader header{bundle.size(), 0, 0, method == 0 ? Compression::Zlib : Compression::Zstd};
  switch (version) {  // each header ends with a 64-bit hash, for which the decompressors' own checks stand in
    case 1:
      header.uncompressed_size = bundle.read<uint32_t>(8);
      header.header_size = 20;
      break;
    case 2:
      header.size = bundle.read<uint32_t>(8);
      header.uncompressed_size = bundle.read<uint32_t>(12);
      header.header_size = 24;
      break;
    case 3:
      header.size = bundle.read<uint64_t>(8);
      header.uncompressed_size = bundle.read<uint64_t>(16);
      header.header_size = 32;
      break;
    default:
      bundle.fail(4, text("compressed bundle of version ", version, "; versions 1 to 3 are known"));
  }
  if (header.size < header.header_size) bundle.fail(8, text("compressed bundle of ", header.size, " bytes"));
  return header;
}

// What an entry holds: an id does not tell cubins from PTX.
Format format_of(const std::optional<Target>& target, const Bytes& contents) {
  if (!target || !parse_sm(target->processor)) return Format::AmdGpu;
  return contents.starts_with(kElfMagic) ? Format::Cubin : Format::Ptx;
}

// Reads the bundle at the start of `bundle`; gives its size. `origin` is the offset that entries are counted from.
uint64_t read_bundle(const Bytes& bundle, uint64_t origin, bool compressed, size_t unit, const EntrySink& sink) {
  const auto count = bundle.read<uint64_t>(kMagic.size());
  uint64_t at = kMagic.size() + 8, end = at;
  uint64_t budget = kEntryBytesPerByte * bundle.size();
  for (uint64_t i = 0; i < count; ++i) {
    const auto offset = bundle.read<uint64_t>(at), size = bundle.read<uint64_t>(at + 8);
    const auto id_size = bundle.read<uint64_t>(at + 16);
    const std::string_view id = bundle.characters(at + 24, id_size);
    const Bytes contents = bundle.slice(offset, size);
    if (size > budget) bundle.fail(at, "bundle entries that overlap too much");
    budget -= size;
    const std::optional<Target> target = bundle_entry_target(id);
    sink({.id = std::string(id),
          .format = format_of(target, contents),
          .target = target,
          .bytes = contents,
          .compressed = compressed,
          .offset = origin + offset},
         unit);
    at += 24 + id_size;
    end = std::max({end, at, offset + size});
  }
  return end;
}

// Reads the bundle at the start of `bundle`, compressed or not; gives the size that it takes there.
uint64_t read_any_bundle(const Bytes& bundle, uint64_t origin, size_t unit, const EntrySink& sink) {
  if (!bundle.starts_with(kCompressedMagic)) return read_bundle(bundle, origin, false, unit, sink);
  const CompressedHeader header = read_compressed_header(bundle);
  const Bytes payload = bundle.slice(header.header_size, header.size - header.header_size);
  const std::vector<uint8_t> inside = decompress(header.method, payload, header.uncompressed_size);
  const Bytes inner(inside, "decompressed offload bundle");
  if (!inner.starts_with(kMagic)) inner.fail(0, "no offload bundle inside");
  read_bundle(inner, 0, true, unit, sink);
  return header.size;
}

}  // namespace

std::optional<Target> bundle_entry_target(std::string_view id) {
  const size_t dash = id.find('-');
  const std::string_view kind = id.substr(0, dash);
  const auto kinds = {"hip"sv, "hipv4"sv, "openmp"sv, "cuda"sv};
  if (dash == id.npos || std::ranges::find(kinds, kind) == kinds.end()) return std::nullopt;
  std::string_view target = id.substr(dash + 1);
  const bool is_nvidia = target.starts_with(kNvidiaTriple);
  if (!is_nvidia && !target.starts_with("amdgcn-") && !target.starts_with("amdgpu")) return std::nullopt;
  if (is_nvidia) target.remove_prefix(std::min(target.find("sm_"), target.size()));
  try {
    return Target::parse(target);
  } catch (const ValueError&) {
    return std::nullopt;  // a processor that this version does not know: it stays listed
  }
}

size_t read_bundles(const Bytes& bytes, uint64_t origin, size_t unit, const EntrySink& sink) {
  size_t count = 0;
  for (uint64_t at = 0; at < bytes.size();) {
    const Bytes rest = bytes.slice(at, bytes.size() - at);
    if (rest.read<uint8_t>(0) == 0) {
      ++at;
    } else if (rest.starts_with(kMagic) || rest.starts_with(kCompressedMagic)) {
      at += read_any_bundle(rest, origin + at, unit + count++, sink);
    } else {
      rest.fail(0, "no offload bundle where one is expected");
    }
  }
  return count;
}

std::vector<uint8_t> write_bundle(std::span<const std::shared_ptr<const CodeObject>> codes) {
  std::vector<std::string> ids;
  uint64_t offset = kMagic.size() + 8;
  for (const auto& code : codes) {
    const bool is_amd = code->format() == Format::AmdGpu;
    ids.push_back(text(is_amd ? "hip-" : "cuda-", is_amd ? kAmdTriple : kNvidiaTriple, "-", code->target().id()));
    offset += 24 + ids.back().size();
  }
  std::vector<uint8_t> bundle(kMagic.begin(), kMagic.end());
  const auto put_number = [&](uint64_t number) {
    for (int shift = 0; shift < 64; shift += 8) bundle.push_back(static_cast<uint8_t>(number >> shift));
  };
  put_number(codes.size());
  for (size_t i = 0; i < codes.size(); ++i) {
    put_number(offset);
    put_number(codes[i]->bytes().size());
    put_number(ids[i].size());
    bundle.insert(bundle.end(), ids[i].begin(), ids[i].end());
    offset += codes[i]->bytes().size();
  }
  for (const auto& code : codes) {
    const std::span<const uint8_t> image = code->bytes().span();
    bundle.insert(bundle.end(), image.begin(), image.end());
  }
  return bundle;
}

uint64_t bundle_size(const Bytes& bytes) {
  return read_any_bundle(bytes, 0, 0, [](auto&&...) {});
}

}  // namespace wave
