// Conversions between f32 and the float types of one byte (ISA document, "V_CVT_*_FP8_*").
#include <limits>
#include <type_traits>
#include <utility>

#include "emulator/bodies.h"
#include "emulator/vector.h"

#define WAVE_SOURCE "emulator/exec_vector_convert_fp8.cpp"
#include "emulator/each_simd_level.h"
#include "emulator/vector.inl"

namespace wave::emulator::WAVE_SIMD {

namespace {

template <class Float8>
f32 v_cvt_f32(u32 a) {
  return Float8::to_f32(a & 0xff);
}
template <class Float8>
Float32x2 v_cvt_pk_f32(u32 a) {
  return {Float8::to_f32(a & 0xff), Float8::to_f32(a >> 8 & 0xff)};
}

// OP_SEL says which half or byte of the destination is written. Neither MODE's rounding nor its denormals count.
template <class Float8>
u32 v_cvt_pk(f32 a, f32 b, Mode mode) {
  return Float8::from_f32(a, mode.fp16_ovfl()) | Float8::from_f32(b, mode.fp16_ovfl()) << 8;
}
template <class Float8>
u32 v_cvt_sr(f32 a, u32 seed, Mode mode) {
  return Float8::from_f32_stochastic(a, seed, mode.fp16_ovfl());
}

// Those of gfx950.
template <class Float8>
u32 v_cvt_pk_ocp(f32 a, f32 b, Mode mode) {
  return Float8::from_f64(a, mode.fp16_ovfl()) | Float8::from_f64(b, mode.fp16_ovfl()) << 8;
}
template <class Float8>
u32 v_cvt_sr_ocp(f32 a, u32 seed, Mode mode) {
  return Float8::from_f64_stochastic(a, seed, mode.fp16_ovfl());
}

constexpr Body kBodies[] = {
    {"v_cvt_f32_fp8", vector<v_cvt_f32<Fp8>>},
    {"v_cvt_f32_bf8", vector<v_cvt_f32<Bf8>>},
    {"v_cvt_pk_f32_fp8", vector<v_cvt_pk_f32<Fp8>>},
    {"v_cvt_pk_f32_bf8", vector<v_cvt_pk_f32<Bf8>>},
    {"v_cvt_pk_fp8_f32", vector<v_cvt_pk<Fp8>>},
    {"v_cvt_pk_bf8_f32", vector<v_cvt_pk<Bf8>>},
    {"v_cvt_sr_fp8_f32", vector<v_cvt_sr<Fp8>>},
    {"v_cvt_sr_bf8_f32", vector<v_cvt_sr<Bf8>>},
    {"v_cvt_f32_fp8_ocp", vector<v_cvt_f32<OcpFp8>>},
    {"v_cvt_f32_bf8_ocp", vector<v_cvt_f32<OcpBf8>>},
    {"v_cvt_pk_f32_fp8_ocp", vector<v_cvt_pk_f32<OcpFp8>>},
    {"v_cvt_pk_f32_bf8_ocp", vector<v_cvt_pk_f32<OcpBf8>>},
    {"v_cvt_pk_fp8_f32_ocp", vector<v_cvt_pk_ocp<OcpFp8>>},
    {"v_cvt_pk_bf8_f32_ocp", vector<v_cvt_pk_ocp<OcpBf8>>},
    {"v_cvt_sr_fp8_f32_ocp", vector<v_cvt_sr_ocp<OcpFp8>>},
    {"v_cvt_sr_bf8_f32_ocp", vector<v_cvt_sr_ocp<OcpBf8>>},
};

}  // namespace

std::span<const Body> vector_convert_fp8_bodies() { return kBodies; }

}  // namespace wave::emulator::WAVE_SIMD
