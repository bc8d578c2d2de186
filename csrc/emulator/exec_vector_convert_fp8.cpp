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
  return Float8::from_f32(a, mode.fp16_ovfl()) | Float8::from_f32(b, mode.fp16_ovfl()) << 8;
}
template <class Float8>
u32 v_cvt_sr_ocp(f32 a, u32 seed, Mode mode) {
  return Float8::from_f64_stochastic(a, seed, mode.fp16_ovfl());
}

// Those of gfx1201, as users measured an RX 9070 XT: one NaN, whatever its sign was, and infinities that FP16_OVFL does
// not make finite.
template <class Float8>
constexpr u32 kOneNan = Float8::kSign | (Float8::kOverflow == Float8::kNan ? Float8::kNan : Float8::kNan - 1);

template <class Float8>
f32 to_f32_gfx12(u32 byte) {
  const f32 value = Float8::to_f32(byte);
  return __builtin_bit_cast(f32, value == value ? __builtin_bit_cast(u32, value) : 0xffc00000u);
}
template <class Float8>
f32 v_cvt_f32_gfx12(u32 a) {
  return to_f32_gfx12<Float8>(a & 0xff);
}
template <class Float8>
Float32x2 v_cvt_pk_f32_gfx12(u32 a) {
  return {to_f32_gfx12<Float8>(a & 0xff), to_f32_gfx12<Float8>(a >> 8 & 0xff)};
}

/// `code` is what the value would be elsewhere.
template <class Float8>
u32 code_gfx12(f32 value, u32 code) {
  const u32 bits = __builtin_bit_cast(u32, value), magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return kOneNan<Float8>;
  return magnitude == 0x7f800000u ? (bits >> 24 & Float8::kSign) | Float8::kOverflow : code;
}
template <class Float8>
u32 v_cvt_pk_gfx12(f32 a, f32 b, Mode mode) {
  const u32 low = code_gfx12<Float8>(a, Float8::from_f32(a, mode.fp16_ovfl()));
  return low | code_gfx12<Float8>(b, Float8::from_f32(b, mode.fp16_ovfl())) << 8;
}
template <class Float8>
u32 v_cvt_sr_gfx12(f32 a, u32 seed, Mode mode) {
  return code_gfx12<Float8>(a, Float8::from_f64_stochastic(a, seed, mode.fp16_ovfl()));
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
    {"v_cvt_f32_fp8_gfx12", vector<v_cvt_f32_gfx12<OcpFp8>>},
    {"v_cvt_f32_bf8_gfx12", vector<v_cvt_f32_gfx12<OcpBf8>>},
    {"v_cvt_pk_f32_fp8_gfx12", vector<v_cvt_pk_f32_gfx12<OcpFp8>>},
    {"v_cvt_pk_f32_bf8_gfx12", vector<v_cvt_pk_f32_gfx12<OcpBf8>>},
    {"v_cvt_pk_fp8_f32_gfx12", vector<v_cvt_pk_gfx12<OcpFp8>>},
    {"v_cvt_pk_bf8_f32_gfx12", vector<v_cvt_pk_gfx12<OcpBf8>>},
    {"v_cvt_sr_fp8_f32_gfx12", vector<v_cvt_sr_gfx12<OcpFp8>>},
    {"v_cvt_sr_bf8_f32_gfx12", vector<v_cvt_sr_gfx12<OcpBf8>>},
};

}  // namespace

std::span<const Body> vector_convert_fp8_bodies() { return kBodies; }

}  // namespace wave::emulator::WAVE_SIMD
