#include "code_object/offload_bundle.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/decompress.h"
#include "base/sha256.h"
#include "code_object/elf.h"

namespace wave {
namespace {

constexpr std::string_view kMagic = "__CLANG_OFFLOAD_BUNDLE__";
constexpr std::string_view kCompressedMagic = "CCOB";
constexpr size_t kEntriesShown = 32;
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
  const auto method = static_cast<Compression>(bundle.read<uint16_t>(6));
  CompressedHeader header{bundle.size(), 0, 0, method};
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

// How well an entry suits a device that it runs on; features count less than the processor.
int rank(const Target& entry, const Target& device) {
  const auto feature_rank = [](Feature in_entry, Feature in_device) {
    const auto is_fixed = [](Feature feature) { return feature == Feature::On || feature == Feature::Off; };
    return is_fixed(in_entry) == is_fixed(in_device) ? 1 : 0;
  };
  return (entry.processor == device.processor ? 4 : 0) + feature_rank(entry.sramecc, device.sramecc) +
         feature_rank(entry.xnack, device.xnack);
}

// Sees one entry after another and keeps those that suit best, so that one bundle at a time is in memory.
class Selection {
 public:
  explicit Selection(const std::optional<Target>& target) : target_(target) {}

  void offer(std::string_view id, const Bytes& bytes, uint64_t offset, bool compressed) {
    ++seen_[std::string(id)];
    const std::optional<Target> entry = bundle_entry_target(id);
    if (!entry || bytes.size() == 0 || (target_ && !entry->runs_on(*target_))) return;
    const int entry_rank = target_ ? rank(*entry, *target_) : 0;
    if (!best_.empty() && entry_rank < best_rank_) return;
    if (entry_rank > best_rank_) {
      best_.clear();
      digests_.clear();
      targets_.clear();
    }
    best_rank_ = entry_rank;
    targets_.insert(entry->id());
    if (!digests_.insert(sha256(bytes.span())).second) return;
    best_.push_back({{bytes.span().begin(), bytes.span().end()}, std::string(id), *entry, compressed, offset});
  }

  std::vector<BundleImage> take() {
    if (best_.empty()) {
      throw ValueError(text("no entry ", target_ ? "runs on " + target_->id() : "is for a known AMD GPU", list()));
    }
    if (best_.size() == 1 || targets_.size() == 1) return std::move(best_);
    if (!target_) throw ValueError(text("there is code for several GPUs: say which target", list()));
    throw ValueError(text("several entries run on ", target_->id(), " equally well: say its features", list()));
  }

 private:
  // "; the entries are A, B (3 times)".
  std::string list() const {
    std::string result;
    size_t shown = 0;
    for (const auto& [id, count] : seen_) {
      if (++shown > kEntriesShown) break;
      result += text(shown == 1 ? "; the entries are " : ", ", id.substr(0, 100));
      if (count > 1) result += text(" (", count, " times)");
    }
    if (seen_.size() > kEntriesShown) result += text(" and ", seen_.size() - kEntriesShown, " more");
    return seen_.empty() ? "; it has no entries" : result;
  }

  const std::optional<Target>& target_;
  std::map<std::string, size_t> seen_;
  std::vector<BundleImage> best_;
  int best_rank_ = 0;
  std::set<std::string> digests_;  ///< of best_: equal entries count as one
  std::set<std::string> targets_;  ///< of the entries of the best rank
};

// Reads the bundle at the start of `bundle`; gives its size. `origin` is the offset that entries are counted from.
uint64_t read_bundle(const Bytes& bundle, uint64_t origin, bool compressed, Selection& selection) {
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
    selection.offer(id, contents, origin + offset, compressed);
    at += 24 + id_size;
    end = std::max({end, at, offset + size});
  }
  return end;
}

// Reads the bundle at the start of `bundle`, compressed or not; gives the size that it takes there.
uint64_t read_any_bundle(const Bytes& bundle, uint64_t origin, Selection& selection) {
  if (!bundle.starts_with(kCompressedMagic)) return read_bundle(bundle, origin, false, selection);
  const CompressedHeader header = read_compressed_header(bundle);
  const Bytes payload = bundle.slice(header.header_size, header.size - header.header_size);
  const std::vector<uint8_t> inside = decompress(header.method, payload, header.uncompressed_size);
  const Bytes inner(inside, "decompressed offload bundle");
  if (!inner.starts_with(kMagic)) inner.fail(0, "no offload bundle inside");
  read_bundle(inner, 0, true, selection);
  return header.size;
}

// The bundles of several translation units follow each other, each aligned with zeros between.
void read_fat_binary(const Bytes& section, uint64_t origin, Selection& selection) {
  for (uint64_t at = 0; at < section.size();) {
    if (section.read<uint8_t>(at) == 0) {
      ++at;
      continue;
    }
    const Bytes rest = section.slice(at, section.size() - at);
    if (!rest.starts_with(kMagic) && !rest.starts_with(kCompressedMagic)) {
      rest.fail(0, "no offload bundle where one is expected in .hip_fatbin");
    }
    at += read_any_bundle(rest, origin + at, selection);
  }
}

void read_host_object(const Elf& elf, Selection& selection) {
  bool found = false, is_nvidia = false;
  for (const ElfSection& section : elf.sections()) {
    if (section.name == ".nv_fatbin") is_nvidia = true;
    if (section.name != ".hip_fatbin") continue;
    found = true;
    read_fat_binary(elf.contents(section), section.offset, selection);
  }
  if (found) return;
  throw ValueError(
      text("an ELF for machine ", elf.identity().machine, " without HIP fat binaries (section .hip_fatbin)",
           is_nvidia ? ", but with NVIDIA fat binaries (.nv_fatbin)" : "", is_nvidia ? kNvidiaSupport : ""));
}

}  // namespace

std::optional<Target> bundle_entry_target(std::string_view id) {
  const size_t dash = id.find('-');
  const std::string_view kind = id.substr(0, dash);
  if (dash == id.npos || (kind != "hip" && kind != "hipv4" && kind != "openmp")) return std::nullopt;
  const std::string_view triple = id.substr(dash + 1);
  if (!triple.starts_with("amdgcn-amd-amdhsa-")) return std::nullopt;
  const size_t processor = triple.find("gfx");
  if (processor == triple.npos) return std::nullopt;
  try {
    return Target::parse(triple.substr(processor));
  } catch (const ValueError&) {
    return std::nullopt;  // a processor that this version does not know: it stays listed
  }
}

std::vector<BundleImage> select_images(const Bytes& file, FileKind kind, const std::optional<Target>& target) {
  Selection selection(target);
  if (kind == FileKind::HostObject) {
    read_host_object(Elf(file, Elf::Depth::Sections), selection);
  } else {
    read_any_bundle(file, 0, selection);
  }
  return selection.take();
}

}  // namespace wave
