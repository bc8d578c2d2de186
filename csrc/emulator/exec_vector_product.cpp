// Products of integers beyond 32 bits and of mixed widths, and dot products (ISA document, "V_MUL_HI_U32", "V_MAD_*",
// "V_DOT*").
#include <limits>
#include <type_traits>
#include <utility>

#include "emulator/bodies.h"
#include "emulator/vector.h"

#define WAVE_SOURCE "emulator/exec_vector_product.cpp"
#include "emulator/each_simd_level.h"
#include "emulator/vector.inl"

namespace wave::emulator::WAVE_SIMD {

namespace {

u32 v_mul_lo_u32(u32 a, u32 b) { return a * b; }
u32 v_mul_hi_u32(u32 a, u32 b) { return static_cast<u32>(u64{a} * b >> 32); }
u32 v_mul_hi_i32(i32 a, i32 b) { return static_cast<u32>(i64{a} * b >> 32); }

// Factors of 24 bits.
constexpr u32 low24(u32 a) { return a & 0xffffffu; }
u32 v_mul_u32_u24(u32 a, u32 b) { return low24(a) * low24(b); }
u32 v_mad_u32_u24(u32 a, u32 b, u32 c) { return low24(a) * low24(b) + c; }
i32 signed24(u32 a) { return static_cast<i32>(a << 8) >> 8; }
i64 product24(u32 a, u32 b) { return i64{signed24(a)} * signed24(b); }
u32 v_mul_i32_i24(u32 a, u32 b) { return static_cast<u32>(product24(a, b)); }
u32 v_mul_hi_i32_i24(u32 a, u32 b) { return static_cast<u32>(product24(a, b) >> 32); }
u32 v_mul_hi_u32_u24(u32 a, u32 b) { return static_cast<u32>(u64{low24(a)} * low24(b) >> 32); }
u32 v_mad_i32_i24(u32 a, u32 b, u32 c) { return v_mul_i32_i24(a, b) + c; }
u32 mul_i24_clamp(u32 a, u32 b) { return static_cast<u32>(saturated<i32>(product24(a, b))); }
u32 mul_u24_clamp(u32 a, u32 b) { return saturated<u32>(i64{low24(a)} * low24(b)); }
u32 mad_i24_clamp(u32 a, u32 b, i32 c) { return static_cast<u32>(saturated<i32>(product24(a, b) + c)); }
u32 mad_u24_clamp(u32 a, u32 b, u32 c) { return saturated<u32>(i64{low24(a)} * low24(b) + c); }

// Sums wider than their factors.
u32 v_mad_u32_u16(u16 a, u16 b, u32 c) { return u32{a} * b + c; }
u32 v_mad_i32_i16(i16 a, i16 b, u32 c) { return static_cast<u32>(i32{a} * b) + c; }
u32 mad_u16_clamp(u16 a, u16 b, u32 c) { return saturated<u32>(i64{a} * b + c); }
u32 mad_i16_clamp(i16 a, i16 b, i32 c) { return static_cast<u32>(saturated<i32>(i64{a} * b + c)); }
/// The carry is the 65th bit of the exact signed sum: its sign.
Carry<Dwords> v_mad_i64_i32(i32 a, i32 b, Dwords c) {
  const u32 product = static_cast<u32>(a) * static_cast<u32>(b), product_high = v_mul_hi_i32(a, b);
  const u32 low = product + c.low, high = product_high + c.high + (low < product);
  const u32 overflows = (product_high ^ high) & (c.high ^ high);
  return {{low, high}, (high ^ overflows) >> 31};
}
Carry<Dwords> mad_i64_clamp(i32 a, i32 b, Dwords c) {
  const Carry<Dwords> sum = v_mad_i64_i32(a, b, c);
  const bool overflows = sum.value.high >> 31 != sum.carry;
  const Dwords limit = sum.carry ? Dwords{0, 0x80000000u} : Dwords{~0u, 0x7fffffffu};
  return {overflows ? limit : sum.value, sum.carry};
}
Carry<Dwords> v_mad_u64_u32(u32 a, u32 b, Dwords c) {
  const u32 product = a * b, product_high = v_mul_hi_u32(a, b);
  const u32 low = product + c.low, carry = low < product, high = product_high + c.high, sum = high + carry;
  return {{low, sum}, u32{high < c.high} | u32{sum < carry}};
}
Carry<Dwords> mad_u64_clamp(u32 a, u32 b, Dwords c) {
  const Carry<Dwords> sum = v_mad_u64_u32(a, b, c);
  return {sum.carry ? Dwords{~0u, ~0u} : sum.value, sum.carry};
}

// Dot products of packed integers, added to the third operand.
template <class T, int kBits>
u32 dot(u32 a, u32 b, u32 c) {
  for (int i = 0; i < 32; i += kBits) {
    const int up = 32 - kBits - i;
    c += static_cast<u32>(static_cast<T>(a << up) >> (32 - kBits)) *
         static_cast<u32>(static_cast<T>(b << up) >> (32 - kBits));
  }
  return c;
}
template <class T>
u32 dot16(Pair16<T> a, Pair16<T> b, u32 c) {
  return c + static_cast<u32>(a.low) * static_cast<u32>(b.low) + static_cast<u32>(a.high) * static_cast<u32>(b.high);
}
template <class T, int kBits>
T dot_clamp(u32 a, u32 b, T c) {
  i64 sum = c;
  for (int i = 0; i < 32; i += kBits) {
    const int up = 32 - kBits - i;
    sum += i64{static_cast<T>(a << up) >> (32 - kBits)} * (static_cast<T>(b << up) >> (32 - kBits));
  }
  return saturated<T>(sum);
}
template <class T, class Sum>
Sum dot16_clamp(Pair16<T> a, Pair16<T> b, Sum c) {
  return saturated<Sum>(c + i64{a.low} * b.low + i64{a.high} * b.high);
}

constexpr Body kBodies[] = {
    {"v_mul_lo_u32", light<v_mul_lo_u32>},
    {"v_mul_hi_u32", vector<v_mul_hi_u32>},
    {"v_mul_u32_u24", light<v_mul_u32_u24>},
    {"v_mul_u32_u24", vector<mul_u24_clamp>, Variant::Clamp},
    {"v_mad_u32_u24", light<v_mad_u32_u24>},
    {"v_mad_u64_u32", light<v_mad_u64_u32>},
    {"v_mad_u64_u32", vector<mad_u64_clamp>, Variant::Clamp},
    {"v_mul_i32_i24", vector<v_mul_i32_i24>},
    {"v_mul_i32_i24", vector<mul_i24_clamp>, Variant::Clamp},
    {"v_mul_hi_i32_i24", vector<v_mul_hi_i32_i24>},
    {"v_mul_hi_u32_u24", vector<v_mul_hi_u32_u24>},
    {"v_mad_i32_i24", vector<v_mad_i32_i24>},
    {"v_mul_hi_i32", vector<v_mul_hi_i32>},
    {"v_mad_u32_u16", vector<v_mad_u32_u16>},
    {"v_mad_i32_i16", vector<v_mad_i32_i16>},
    {"v_mad_i64_i32", vector<v_mad_i64_i32>},
    {"v_mad_i64_i32", vector<mad_i64_clamp>, Variant::Clamp},
    {"v_mad_i32_i24", vector<mad_i24_clamp>, Variant::Clamp},
    {"v_mad_u32_u24", vector<mad_u24_clamp>, Variant::Clamp},
    {"v_mad_u32_u16", vector<mad_u16_clamp>, Variant::Clamp},
    {"v_mad_i32_i16", vector<mad_i16_clamp>, Variant::Clamp},
    {"v_dot4_i32_i8", vector<dot<i32, 8>>},
    {"v_dot4_i32_i8", vector<dot_clamp<i32, 8>>, Variant::Clamp},
    {"v_dot4_u32_u8", vector<dot<u32, 8>>},
    {"v_dot4_u32_u8", vector<dot_clamp<u32, 8>>, Variant::Clamp},
    {"v_dot8_i32_i4", vector<dot<i32, 4>>},
    {"v_dot8_i32_i4", vector<dot_clamp<i32, 4>>, Variant::Clamp},
    {"v_dot8_u32_u4", vector<dot<u32, 4>>},
    {"v_dot8_u32_u4", vector<dot_clamp<u32, 4>>, Variant::Clamp},
    {"v_dot4c_i32_i8", vector<dot<i32, 8>>},
    {"v_dot4c_i32_i8", vector<dot_clamp<i32, 8>>, Variant::Clamp},
    {"v_dot8c_i32_i4", vector<dot<i32, 4>>},
    {"v_dot8c_i32_i4", vector<dot_clamp<i32, 4>>, Variant::Clamp},
    {"v_dot2_i32_i16", vector<dot16<i16>>},
    {"v_dot2_i32_i16", vector<dot16_clamp<i16, i32>>, Variant::Clamp},
    {"v_dot2_u32_u16", vector<dot16<u16>>},
    {"v_dot2_u32_u16", vector<dot16_clamp<u16, u32>>, Variant::Clamp},
    {"v_dot2c_i32_i16", vector<dot16<i16>>},
    {"v_dot2c_i32_i16", vector<dot16_clamp<i16, i32>>, Variant::Clamp},
};

}  // namespace

std::span<const Body> vector_product_bodies() { return kBodies; }

}  // namespace wave::emulator::WAVE_SIMD
