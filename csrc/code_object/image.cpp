#include "code_object/image.h"

#include <map>
#include <set>
#include <string_view>

#include "code_object/elf.h"
#include "code_object/fatbin.h"
#include "code_object/offload_bundle.h"
#include "code_object/select.h"

namespace wave {
namespace {

constexpr size_t kEntriesShown = 32;
constexpr uint64_t kMaxBytes = uint64_t{4}
                               << 30;  // of all images that are taken, which a small file may have compressed

// Sees one entry after another and keeps those that are wanted, so that one container at a time is in memory.
class Selection {
 public:
  Selection(const std::optional<Target>& target, SeveralTargets several) : target_(target), several_(several) {}

  void offer(const Entry& entry, size_t unit) {
    ++seen_[entry.id];
    if (!entry.target || entry.bytes.size() == 0) return;
    const std::optional<int> rank = target_ ? suitability(entry.format, *entry.target, *target_) : 0;
    if (!rank) return;
    Best& best = units_[unit];
    if (!best.images.empty() && *rank < best.rank) return;
    if (*rank > best.rank) best.images.clear();
    best.rank = *rank;
    bytes_ += entry.bytes.size();
    if (bytes_ > kMaxBytes) entry.bytes.fail(0, "the images take more than the limit of 4 GiB");
    best.images.push_back({.bytes = {entry.bytes.span().begin(), entry.bytes.span().end()},
                           .format = entry.format,
                           .entry = entry.id,
                           .entry_target = *entry.target,
                           .compressed = entry.compressed,
                           .offset = entry.offset});
  }

  std::vector<Image> take() {
    std::vector<Image> images;
    std::set<std::string> targets;
    std::set<std::string_view> contents;
    for (auto& [unit, best] : units_) {
      std::set<std::string> of_unit;
      for (Image& image : best.images) {
        of_unit.insert(image.entry_target.id());
        const std::string_view content(reinterpret_cast<const char*>(image.bytes.data()), image.bytes.size());
        if (contents.insert(content).second) images.push_back(std::move(image));  // whose bytes stay where they are
      }
      if (target_ && of_unit.size() > 1) {
        throw ValueError(text("several entries run on ", target_->id(), " equally well: say its features", list()));
      }
      targets.merge(of_unit);
    }
    if (images.empty()) {
      if (!target_) throw ValueError(text("no entry is for a known GPU", list()));
      throw ValueError(text("no entry runs on ", target_->id(), list(), ": compile for ", target_->id(),
                            ", too, or choose a target that there is code for"));
    }
    if (!target_ && targets.size() > 1 && several_ == SeveralTargets::Refused) {
      throw ValueError(text("there is code for several GPUs: say which target", list()));
    }
    return images;
  }

 private:
  struct Best {
    int rank = 0;
    std::vector<Image> images;
  };

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
  SeveralTargets several_;
  std::map<std::string, size_t> seen_;
  uint64_t bytes_ = 0;
  std::map<size_t, Best> units_;
};

void read_host_object(const Elf& elf, const std::optional<Target>& target, const EntrySink& sink) {
  size_t unit = 0;
  bool found = false;
  for (const ElfSection& section : elf.sections()) {
    const bool is_hip = section.name == ".hip_fatbin";
    if (!is_hip && section.name != ".nv_fatbin" && section.name != "__nv_relfatbin") continue;
    found = true;
    const Bytes contents = elf.contents(section);
    unit += is_hip ? read_bundles(contents, section.offset, unit, sink)
                   : read_fatbins(contents, section.offset, unit, target, sink);
  }
  if (found) return;
  throw ValueError(text("an ELF for machine ", elf.identity().machine,
                        " without HIP or CUDA fat binaries (sections .hip_fatbin, .nv_fatbin)"));
}

Image whole_file(const Bytes& file, Format format) {
  return {.bytes = {file.span().begin(), file.span().end()}, .format = format};
}

}  // namespace

Bytes Image::view() const {
  const char* what = name(format);
  if (format == Format::AmdGpu) what = compressed ? "code object in a decompressed bundle" : "code object";
  if (format != Format::AmdGpu && compressed) what = "image in a decompressed fat binary entry";
  return Bytes(bytes, what, offset);
}

std::vector<Image> take_images(const Bytes& file, const std::optional<Target>& target, SeveralTargets several) {
  Selection selection(target, several);
  const EntrySink sink = [&](const Entry& entry, size_t unit) { selection.offer(entry, unit); };
  switch (classify(file)) {
    case FileKind::CodeObject:
      return {whole_file(file, Format::AmdGpu)};
    case FileKind::Cubin:
      return {whole_file(file, Format::Cubin)};
    case FileKind::Ptx:
      return {whole_file(file, Format::Ptx)};
    case FileKind::HostObject:
      read_host_object(Elf(file, Elf::Depth::Sections), target, sink);
      break;
    case FileKind::OffloadBundle:
    case FileKind::CompressedBundle:
      read_bundles(file, 0, 0, sink);
      break;
    case FileKind::Fatbin:
    case FileKind::FatbinWrapper:
      read_fatbins(file, 0, 0, target, sink);
      break;
  }
  return selection.take();
}

}  // namespace wave
