// Clang's containers of code for several targets (clang documentation, "Clang Offload Bundler"): offload bundles,
// compressed ones, and HIP fat binaries, which are bundles in the section .hip_fatbin of a host object or library.
#pragma once

#include <optional>
#include <string_view>

#include "code_object/image.h"

namespace wave {

/// The target that an entry's id names, or nothing where it is not for an AMD GPU ("host-x86_64-unknown-linux--") or
/// its processor is not known.
std::optional<Target> bundle_entry_target(std::string_view id);

/// Passes on the entries of the bundles, compressed or not, that follow each other in `bytes`, with zeros between, each
/// a unit of its own from `unit` on; returns how many they are. `origin` is the offset of the bytes in the file.
size_t read_bundles(const Bytes& bytes, uint64_t origin, size_t unit, const EntrySink& sink);

/// How many bytes the bundle at the start of `bytes` takes; all of them where it does not say (compressed, version 1).
uint64_t bundle_size(const Bytes& bytes);

}  // namespace wave
