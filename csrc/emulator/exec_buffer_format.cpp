// Buffer memory with conversions: BUFFER_LOAD_FORMAT_*, TBUFFER_LOAD_FORMAT_* and their stores (ISA document, "Vector
// Memory Buffer Instructions"). buffer.h has the operands. A TBUFFER instruction has its format itself, and no DST_SEL.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>

#include "base/error.h"
#include "emulator/bodies.h"
#include "emulator/buffer.h"
#include "emulator/isa/buffer_formats.h"
#include "emulator/small_float.h"
#include "emulator/workgroup.h"

namespace wave::emulator {

namespace {

using isa::NumberFormat;
using enum isa::NumberFormat;

/// The bits of an element's components, the lowest component first, by DATA_FORMAT (whose names list the highest
/// first).
constexpr u8 kComponents[16][4] = {
    {},
    {8},
    {16},
    {8, 8},
    {32},
    {16, 16},
    {11, 11, 10},
    {10, 11, 11},
    {2, 10, 10, 10},
    {10, 10, 10, 2},
    {8, 8, 8, 8},
    {32, 32},
    {16, 16, 16, 16},
    {32, 32, 32},
    {32, 32, 32, 32},
    {},
};

/// What a component of an element, or a register of the data, is.
enum Selector : u32 { kZero = 0, kOne = 1, kFirst = 4, kLast = 7 };

struct ElementFormat {
  const u8* bits;  ///< of the four components
  NumberFormat numbers;
  Selector registers[4];  ///< which component each register has (DST_SEL)

  /// Of a buffer that has nothing in range the format does not matter.
  ElementFormat(const Wave& wave, const BufferOperands& operands, const BufferRules& rules, const Buffer& buffer) {
    const bool is_typed = operands.has_format;
    const u32 word = wave.s[operands.descriptor + 3];
    u32 data = is_typed ? operands.data_format : word >> 15 & 15;
    numbers = static_cast<NumberFormat>(is_typed ? operands.number_format : word >> 12 & 7);
    if (rules.has_range_modes) {
      const u32 format = is_typed ? operands.format : word >> 12 & (rules.has_element_sizes ? 63u : 127u);
      const auto generation = rules.has_element_sizes ? isa::Generation::GFX11 : isa::Generation::GFX10;
      const isa::BufferFormat found = isa::unified_format(generation, format);
      data = found.data;
      numbers = found.number;
      if (data == 0 && !buffer.is_empty) fault(text("buffer format ", format, ", which is not defined"));
    }
    bits = kComponents[data];
    for (u32 i = 0; i < 4; ++i) {
      const Selector identity = bits[i] != 0 ? static_cast<Selector>(kFirst + i) : kZero;
      registers[i] = is_typed ? identity : static_cast<Selector>(word >> 3 * i & 7);
    }
    if (!is_defined() && !buffer.is_empty)
      fault(text("data format ", data, " with number format ", u32(numbers), ", which is not defined"));
  }

  bool has_integers() const { return numbers == Uint || numbers == Sint; }
  u32 bytes() const { return (bits[0] + bits[1] + bits[2] + bits[3]) / 8u; }
  u32 components() const { return u32{bits[0] != 0} + (bits[1] != 0) + (bits[2] != 0) + (bits[3] != 0); }

 private:
  bool is_defined() const {
    if (bits[0] == 0 || numbers == Reserved) return false;
    if (numbers == Float) return bits[0] == 16 || bits[0] == 32 || components() == 3;
    return bits[0] != 32 || numbers >= Uint;
  }
};

u32 mask(u32 bits) { return ~u32{0} >> (32 - bits); }
i32 extended(u32 value, u32 bits) { return static_cast<i32>(value << (32 - bits)) >> (32 - bits); }

/// Floats of 10 and 11 bits are those of f16 without its sign and its last bits.
f32 to_float(u32 value, u32 bits) {
  if (bits == 32) return __builtin_bit_cast(f32, value);
  return f16_to_f32(bits == 16 ? value : value << (15 - bits));
}

/// A component as the register gets it: an f32, or an integer.
u32 decode(u32 value, u32 bits, NumberFormat numbers) {
  const f64 largest = numbers == Snorm ? mask(bits - 1) : mask(bits), whole = extended(value, bits);
  switch (numbers) {
    case Uint:
      return value;
    case Sint:
      return static_cast<u32>(extended(value, bits));
    case Unorm:
      return __builtin_bit_cast(u32, static_cast<f32>(value / largest));
    case Snorm:
      return __builtin_bit_cast(u32, static_cast<f32>(std::fmax(whole / largest, -1.0)));
    case Uscaled:
      return __builtin_bit_cast(u32, static_cast<f32>(value));
    case Sscaled:
      return __builtin_bit_cast(u32, static_cast<f32>(whole));
    default:
      return __builtin_bit_cast(u32, to_float(value, bits));
  }
}

/// Back. Floats are rounded to nearest even and limited to what the component holds, a NaN becomes 0.
u32 encode(u32 value, u32 bits, NumberFormat numbers) {
  const f64 number = __builtin_bit_cast(f32, value);
  const auto fixed = [&](f64 scaled, f64 low, f64 high) {
    const f64 limited = std::fmin(std::fmax(scaled, low), high);
    return static_cast<u32>(static_cast<i64>(number == number ? std::nearbyint(limited) : 0.0)) & mask(bits);
  };
  const f64 largest = mask(bits), half = mask(bits - 1);
  switch (numbers) {
    case Unorm:
      return fixed(number * largest, 0, largest);
    case Snorm:
      return fixed(number * half, -half, half);
    case Uscaled:
      return fixed(number, 0, largest);
    case Sscaled:
      return fixed(number, -half - 1, half);
    case Float:
      if (bits < 16) fault("a store of floats of 10 or 11 bits, whose rounding is not documented");
      return bits == 16 ? f64_to_f16(number) : value;
    default:
      return value & mask(bits);
  }
}

/// What registers hold: dwords, or halves, packed two by two, the first in the low or in the high half.
enum class Packing { Dword, Half, HighHalf };

/// Of floats of 32 bits f16 are cut off, all else is rounded to nearest even (ROCm/rocm-systems, emulation/rocjitsu,
/// buffer_format.cpp; Mesa's radv says so, too).
u32 to_part(u32 value, const ElementFormat& format) {
  if (format.has_integers()) return value & 0xffff;
  const f32 number = __builtin_bit_cast(f32, value);
  return f32_to_f16(format.numbers == Float && format.bits[0] == 32 ? cut_to_f16(number) : number);
}
u32 from_part(u32 half, NumberFormat numbers) {
  if (numbers == Sint) return static_cast<u32>(extended(half, 16));
  return numbers == Uint ? half : __builtin_bit_cast(u32, f16_to_f32(half));
}

/// The half that has register `k` of the data.
template <Packing kPacking>
int shift_of(int k) {
  return kPacking == Packing::HighHalf ? 16 : 16 * (k % 2);
}

/// The first half that is set of a register makes the other one zero where that is not kept.
template <Packing kPacking, bool kKeepsOtherHalf>
void set_register(LaneRow* rows, int k, int lane, u32 value, const ElementFormat& format) {
  if constexpr (kPacking == Packing::Dword) {
    rows[k].lane[lane] = value;
  } else {
    u32& dword = rows[k / 2].lane[lane];
    const int shift = shift_of<kPacking>(k);
    const u32 kept = kKeepsOtherHalf || k % 2 != 0 ? dword & ~(0xffffu << shift) : 0;
    dword = kept | to_part(value, format) << shift;
  }
}

template <Packing kPacking>
u32 get_register(const LaneRow* rows, int k, int lane, NumberFormat numbers) {
  if constexpr (kPacking == Packing::Dword) return rows[k].lane[lane];
  return from_part(rows[k / 2].lane[lane] >> shift_of<kPacking>(k) & 0xffff, numbers);
}

using ElementDwords = u32[4];

/// Reads or writes an element of which each dword may lie elsewhere (swizzled buffers). `access` takes where it lies,
/// and its value.
template <class Access>
void for_each_dword(const Buffer& buffer, u64 index, u64 byte, u32 size, u32* element, Access access) {
  for (u32 at = 0; at < size; at += 4)
    access(AddressSpan(buffer.address(index, byte, at), std::min(size - at, 4u)), &element[at / 4]);
}

/// The bits of component `i` of an element; none crosses a dword.
u32 get_component(const ElementDwords& element, const ElementFormat& format, u32 i) {
  u32 at = 0;
  for (u32 k = 0; k < i; ++k) at += format.bits[k];
  return element[at / 32] >> at % 32 & mask(format.bits[i]);
}
void set_component(ElementDwords& element, const ElementFormat& format, u32 i, u32 value) {
  u32 at = 0;
  for (u32 k = 0; k < i; ++k) at += format.bits[k];
  element[at / 32] |= value << at % 32;
}

/// What register `k` gets of an element: a component, or a constant; a component that there is none of is zero.
u32 selected(const ElementDwords* element, const ElementFormat& format, int k) {
  const Selector selector = format.registers[k];
  if (selector == kOne) return format.has_integers() ? 1 : __builtin_bit_cast(u32, 1.0f);
  if (element == nullptr || selector < kFirst || format.bits[selector - kFirst] == 0) return 0;
  const u32 i = selector - kFirst;
  return decode(get_component(*element, format, i), format.bits[i], format.numbers);
}

/// Out of the buffer's range components are zero, and constants what they are (ISA document, "Range Checking"); of a
/// buffer without a format all is zero.
template <int kCount, Packing kPacking, const BufferRules& kRules>
const Op* load_format(Wave& wave, const Op* op) {
  const Buffer buffer(wave, op->buffer, kRules);
  const ElementFormat format(wave, op->buffer, kRules, buffer);
  const LaneRow* address = &wave.v[op->buffer.address];
  LaneRow values[kCount];
  for (int lane = 0; lane < kLanes; ++lane) {
    if (wave.exec_lanes.lane[lane] == 0) continue;
    const u64 index = buffer.index(address, lane), byte = buffer.byte(address, lane);
    const bool in_range = buffer.contains(index, byte, format.bytes());
    ElementDwords element{};
    if (in_range) {
      for_each_dword(buffer, index, byte, format.bytes(), element,
                     [&](AddressSpan at, u32* to) { wave.group->read_memory(at, to, lane); });
    }
    for (int k = 0; k < kCount; ++k)
      values[k].lane[lane] = format.bytes() == 0 ? 0 : selected(in_range ? &element : nullptr, format, k);
  }
  for (int lane = 0; lane < kLanes; ++lane) {
    if (wave.exec_lanes.lane[lane] == 0) continue;
    if (op->buffer.to_lds) {
      write_lds_slot(wave, op->buffer.offset, values[0].lane[lane], lane);
      continue;
    }
    for (int k = 0; k < kCount; ++k)
      set_register<kPacking, kRules.keeps_other_half>(&wave.v[op->buffer.data], k, lane, values[k].lane[lane], format);
  }
  return next(op);
}

/// A component whose register the instruction does not have is zero, or since GFX12 that of the first: LLVM's
/// default-component-zero and -broadcast.
template <int kCount, Packing kPacking, const BufferRules& kRules>
const Op* store_format(Wave& wave, const Op* op) {
  const Buffer buffer(wave, op->buffer, kRules);
  const ElementFormat format(wave, op->buffer, kRules, buffer);
  const LaneRow* address = &wave.v[op->buffer.address];
  for (int lane = 0; lane < kLanes; ++lane) {
    if (wave.exec_lanes.lane[lane] == 0) continue;
    const u64 index = buffer.index(address, lane), byte = buffer.byte(address, lane);
    if (!buffer.contains(index, byte, format.bytes())) continue;
    ElementDwords element{};
    for (u32 i = 0; i < format.components(); ++i) {
      int k = 0;  // the register that has component i
      while (k < 4 && format.registers[k] != kFirst + i) ++k;
      if (k == 4 || (k >= kCount && !kRules.repeats_first_component)) continue;
      if (k >= kCount) k = 0;
      const u32 value = get_register<kPacking>(&wave.v[op->buffer.data], k, lane, format.numbers);
      set_component(element, format, i, encode(value, format.bits[i], format.numbers));
    }
    for_each_dword(buffer, index, byte, format.bytes(), element,
                   [&](AddressSpan at, const u32* from) { wave.group->write_memory(at, from, lane); });
  }
  return next(op);
}

// clang-format off
#define WAVE_FORMATS(prefix, rules)                                                 \
  {prefix "_load_format_x", load_format<1, Packing::Dword, rules>},                 \
  {prefix "_load_format_xy", load_format<2, Packing::Dword, rules>},                \
  {prefix "_load_format_xyz", load_format<3, Packing::Dword, rules>},               \
  {prefix "_load_format_xyzw", load_format<4, Packing::Dword, rules>},              \
  {prefix "_load_format_d16_x", load_format<1, Packing::Half, rules>},              \
  {prefix "_load_format_d16_xy", load_format<2, Packing::Half, rules>},             \
  {prefix "_load_format_d16_xyz", load_format<3, Packing::Half, rules>},            \
  {prefix "_load_format_d16_xyzw", load_format<4, Packing::Half, rules>},           \
  {prefix "_load_format_d16_hi_x", load_format<1, Packing::HighHalf, rules>},       \
  {prefix "_store_format_x", store_format<1, Packing::Dword, rules>},               \
  {prefix "_store_format_xy", store_format<2, Packing::Dword, rules>},              \
  {prefix "_store_format_xyz", store_format<3, Packing::Dword, rules>},             \
  {prefix "_store_format_xyzw", store_format<4, Packing::Dword, rules>},            \
  {prefix "_store_format_d16_x", store_format<1, Packing::Half, rules>},            \
  {prefix "_store_format_d16_xy", store_format<2, Packing::Half, rules>},           \
  {prefix "_store_format_d16_xyz", store_format<3, Packing::Half, rules>},          \
  {prefix "_store_format_d16_xyzw", store_format<4, Packing::Half, rules>},         \
  {prefix "_store_format_d16_hi_x", store_format<1, Packing::HighHalf, rules>}
// clang-format on

constexpr Body kBodies[] = {
    WAVE_FORMATS("buffer", kGfx9Buffers),
    WAVE_FORMATS("buffer_gfx10", kGfx10Buffers),
    WAVE_FORMATS("buffer_gfx11", kGfx11Buffers),
    WAVE_FORMATS("buffer_gfx12", kGfx12Buffers),
};

}  // namespace

std::span<const Body> buffer_format_bodies() { return kBodies; }

}  // namespace wave::emulator
