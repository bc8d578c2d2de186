// Vector floating-point instructions (ISA document, "VOP1 Instructions" to "VOP3P Instructions").
#include <immintrin.h>

#include <type_traits>
#include <utility>

#include "emulator/bodies.h"
#include "emulator/vector.h"

#define WAVE_SOURCE "emulator/exec_vector_float.cpp"
#include "emulator/each_simd_level.h"
#include "emulator/vector.inl"

namespace wave::emulator::WAVE_SIMD {

namespace {

f32 v_add_f32(f32 a, f32 b) { return a + b; }
f32 v_sub_f32(f32 a, f32 b) { return a - b; }
f32 v_subrev_f32(f32 a, f32 b) { return b - a; }
f32 v_mul_f32(f32 a, f32 b) { return a * b; }
f32 v_fma_f32(f32 a, f32 b, f32 c) { return __builtin_fmaf(a, b, c); }

Float32x2 v_pk_add_f32(Float32x2 a, Float32x2 b) { return {a.low + b.low, a.high + b.high}; }
Float32x2 v_pk_mul_f32(Float32x2 a, Float32x2 b) { return {a.low * b.low, a.high * b.high}; }
Float32x2 v_pk_fma_f32(Float32x2 a, Float32x2 b, Float32x2 c) {
  return {__builtin_fmaf(a.low, b.low, c.low), __builtin_fmaf(a.high, b.high, c.high)};
}

constexpr Body kBodies[] = {
    {"v_add_f32", vector<v_add_f32>},       {"v_sub_f32", vector<v_sub_f32>},
    {"v_subrev_f32", vector<v_subrev_f32>}, {"v_mul_f32", vector<v_mul_f32>},
    {"v_fma_f32", vector<v_fma_f32>},       {"v_fmac_f32", vector<v_fma_f32>},
    {"v_pk_add_f32", vector<v_pk_add_f32>}, {"v_pk_mul_f32", vector<v_pk_mul_f32>},
    {"v_pk_fma_f32", vector<v_pk_fma_f32>},
};

}  // namespace

std::span<const Body> vector_float_bodies() { return kBodies; }

}  // namespace wave::emulator::WAVE_SIMD
