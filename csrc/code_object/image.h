// What containers hold: images, each code for one target.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "code_object/file_kind.h"
#include "code_object/format.h"
#include "code_object/target.h"

namespace wave {

/// An entry of a container, as the container describes it. Lives as long as the call that it is passed to.
struct Entry {
  std::string id;                ///< for messages: "hipv4-amdgcn-amd-amdhsa--gfx942:sramecc+", "sm_90a (cubin)"
  Format format;
  std::optional<Target> target;  ///< nothing where it is not code for a known GPU
  Bytes bytes;
  bool compressed = false;  ///< then offsets count in what was decompressed
  uint64_t offset = 0;      ///< of the bytes, in the file or in what was decompressed
};

/// Receives the entries of a container, one after another. `unit` counts the translation units: a library has a bundle
/// or fat binary for each.
using EntrySink = std::function<void(const Entry& entry, size_t unit)>;

/// An image that was taken out of a file, and where it lay.
struct Image {
  std::vector<uint8_t> bytes;
  Format format = Format::AmdGpu;
  std::string entry{};      ///< of the container; empty for a file that is itself an image
  Target entry_target{};    ///< what the container says
  bool compressed = false;  ///< then offsets count in what was decompressed
  uint64_t offset = 0;      ///< of the image

  /// The bytes, reporting offsets of the file.
  Bytes view() const;
};

/// Whether there may be code for several GPUs among the images that are taken without a target.
enum class SeveralTargets : bool { Refused, Taken };

/// The images in a file. With a target: of each translation unit the entry that suits it best, see select.h; those of
/// one unit with equal targets are all taken. Without: all that are for a known GPU. Entries with equal bytes count as
/// one. Throws ValueError that lists the entries where none fits, where several of a unit fit equally well but differ in
/// their targets, or where they are refused.
std::vector<Image> take_images(const Bytes& file, const std::optional<Target>& target, SeveralTargets several);

}  // namespace wave
