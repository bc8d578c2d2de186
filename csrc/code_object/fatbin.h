// CUDA's fat binaries: containers of cubins and PTX, as files of their own and in host objects (section .nv_fatbin, or
// __nv_relfatbin where they were built with -rdc=true).
//
// NVIDIA documents the tools (fatbinary, cuobjdump), not the format. The header stands in the fatbinary_section.h of
// the toolkit; the fields of an entry were learnt from the public projects n-eiling/cuda-fatbin-decompression and
// GrigoryEvko/nvopen-tools, and checked with what fatbinary 13.5 makes.
#pragma once

#include <optional>
#include <string_view>

#include "code_object/image.h"

namespace wave {

using namespace std::string_view_literals;
inline constexpr std::string_view kFatbinMagic = "\x50\xed\x55\xba"sv;
inline constexpr std::string_view kFatbinWrapperMagic = "\xb1\x43\x62\x46"sv;

/// Passes on the entries of the fat binaries that follow each other in `bytes`, with zeros between, each a unit of its
/// own from `unit` on; returns how many they are. A wrapper before a fat binary is passed over. `origin` is the offset
/// of the bytes in the file. Cubins for another major compute capability than that of `device` are passed on without
/// decompressing them, as code that does not fit.
size_t read_fatbins(const Bytes& bytes, uint64_t origin, size_t unit, const std::optional<Target>& device,
                    const EntrySink& sink);

}  // namespace wave
