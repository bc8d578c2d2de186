// Clang's containers of code for several targets (clang documentation, "Clang Offload Bundler"): offload bundles,
// compressed ones, and HIP fat binaries, which are bundles in the section .hip_fatbin of a host object or library.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "code_object/code_object.h"
#include "code_object/image.h"

namespace wave {

/// The target that an entry's id names, "hip-amdgcn-amd-amdhsa--gfx942:sramecc+" or "cuda-nvptx64-nvidia-cuda--sm_90",
/// or nothing where it is not for a GPU ("host-x86_64-unknown-linux--") or its processor is not known.
std::optional<Target> bundle_entry_target(std::string_view id);

/// Passes on the entries of the bundles, compressed or not, that follow each other in `bytes`, with zeros between, each
/// a unit of its own from `unit` on; returns how many they are. `origin` is the offset of the bytes in the file.
size_t read_bundles(const Bytes& bytes, uint64_t origin, size_t unit, const EntrySink& sink);

/// How many bytes the bundle at the start of `bytes` takes; all of them where it does not say (compressed, version 1).
uint64_t bundle_size(const Bytes& bytes);

/// A bundle of images, each an entry of its own, in their order.
std::vector<uint8_t> write_bundle(std::span<const std::shared_ptr<const CodeObject>> codes);

}  // namespace wave
