// Compiles the including source once for each SIMD level of the host, each time in a namespace of its own. Use:
//
//   #define WAVE_SOURCE "emulator/exec_x.cpp"      // the file's own name
//   #include "emulator/each_simd_level.h"
//   namespace wave::emulator::WAVE_SIMD { ... }    // avx512, avx2, portable
//
// The standard headers must be included before this one, so that their functions are compiled for the base level only.
// Not guarded: the first inclusion includes WAVE_SOURCE again for the other levels, and then leaves the rest of the
// file to the portable one.
#if !defined(WAVE_SIMD)

/// Before a loop over lanes: iterations do not depend on each other, even where rows are the same row.
#if defined(__clang__)
#define WAVE_LANES _Pragma("clang loop vectorize(assume_safety)")
#else
#define WAVE_LANES _Pragma("GCC ivdep")
#endif

#if defined(__x86_64__)

#define WAVE_SIMD avx512
#define WAVE_SIMD_AVX512 1
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("arch=x86-64-v4"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("arch=x86-64-v4,prefer-vector-width=512")
#endif
#include WAVE_SOURCE
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#undef WAVE_SIMD
#undef WAVE_SIMD_AVX512

#define WAVE_SIMD avx2
#define WAVE_SIMD_AVX2 1
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("arch=x86-64-v3"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("arch=x86-64-v3")
#endif
#include WAVE_SOURCE
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#undef WAVE_SIMD
#undef WAVE_SIMD_AVX2

#endif

#define WAVE_SIMD portable
#if defined(__x86_64__) && !defined(__clang__)
// For few hosts, x86-64 without AVX2: -O3 would take a tenth of a build's time, and a seventh of the library.
#pragma GCC optimize("O2")
#endif

#endif
