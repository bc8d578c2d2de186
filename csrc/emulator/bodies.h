// The instruction bodies by family. Those that work on lanes are compiled for each SIMD level; the level's namespace
// declares them in bodies.cpp.
#pragma once

#if defined(__x86_64__)
#include <immintrin.h>  // before each_simd_level.h
#endif

#include <span>

#include "emulator/op.h"

namespace wave::emulator {

std::span<const Body> scalar_bodies();
std::span<const Body> scalar_bit_bodies();
std::span<const Body> control_bodies();
std::span<const Body> hardware_register_bodies();
std::span<const Body> scalar_memory_bodies();
std::span<const Body> lane_bodies();
std::span<const Body> buffer_format_bodies();

/// All bodies of this host's SIMD level, sorted by name.
std::span<const Body> bodies();

}  // namespace wave::emulator
