// Clang's containers of code for several targets (clang documentation, "Clang Offload Bundler"): offload bundles,
// compressed ones, and HIP fat binaries, which are bundles in the section .hip_fatbin of a host object or library.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "code_object/file_kind.h"
#include "code_object/target.h"

namespace wave {

/// The image that was taken out of a container, and where it lay.
struct BundleImage {
  std::vector<uint8_t> bytes;
  std::string entry{};      ///< the entry's id, "hipv4-amdgcn-amd-amdhsa--gfx942:sramecc+"
  Target entry_target{};    ///< what the id says
  bool compressed = false;  ///< then offsets count in the decompressed bundle
  uint64_t offset = 0;      ///< of the image

  /// The bytes, reporting offsets of the container.
  Bytes view() const {
    return Bytes(bytes, compressed ? "code object in a decompressed bundle" : "code object", offset);
  }
};

/// The target that an entry's id names, or nothing where it is not for an AMD GPU ("host-x86_64-unknown-linux--") or
/// its processor is not known.
std::optional<Target> bundle_entry_target(std::string_view id);

/// Takes the entry that runs on `target` out of a container: the same processor before a generic one, then the entry
/// that fixes the features which the target fixes and leaves open those which it leaves open. Without a target there
/// must be entries for one GPU only. A HIP library has such an entry for each of its translation units: then there are
/// several images. Entries with equal bytes count as one. Throws ValueError that lists the entries where none fits, or
/// where entries for several targets fit equally well.
std::vector<BundleImage> select_images(const Bytes& file, FileKind kind, const std::optional<Target>& target);

}  // namespace wave
