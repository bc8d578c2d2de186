// Conversions between 32 values of FP6 or BF6, which fill six registers, and as many of f32, f16 or bf16, with a scale
// (CDNA4 ISA document, "VOP3 Instructions": V_CVT_SCALEF32_*PK16_* and *PK32_*).
#include "emulator/bodies.h"
#include "emulator/vector.h"

namespace wave::emulator {

namespace {

constexpr int kValues = 32;

/// How one of 32 values stands in consecutive registers.
struct F32Values {
  static f64 get(const LaneRow* rows, int index, int lane) { return __builtin_bit_cast(f32, rows[index].lane[lane]); }
  static void set(LaneRow* rows, int index, int lane, f32 value) {
    rows[index].lane[lane] = __builtin_bit_cast(u32, value);
  }
};
/// Of 16 bits, as a type that converts them.
template <f32 (*kToF32)(u32), u32 (*kFromF32)(f32)>
struct HalfValues {
  static f64 get(const LaneRow* rows, int index, int lane) {
    return kToF32(rows[index / 2].lane[lane] >> 16 * (index % 2) & 0xffffu);
  }
  static void set(LaneRow* rows, int index, int lane, f32 value) {
    u32& both = rows[index / 2].lane[lane];
    const int shift = 16 * (index % 2);
    both = (both & ~(0xffffu << shift)) | kFromF32(value) << shift;
  }
};
u32 to_f16(f32 value) { return f32_to_f16(value); }
using F16Values = HalfValues<f16_to_f32, to_f16>;
using Bf16Values = HalfValues<bf16_to_f32, f32_to_bf16>;

/// The rows of a source of one register, or of several in the register file.
const LaneRow* source(Wave& wave, const Op* op, int index) {
  const uintptr_t rows = op->vector.rows[index];
  if (rows & kSourceScalar) return broadcast_source(wave, op, index, LaneType::B32);
  if (rows & kSourceConstant) return reinterpret_cast<const LaneRow*>(rows - kSourceConstant);
  return reinterpret_cast<const LaneRow*>(reinterpret_cast<uintptr_t>(wave.v) + rows);
}

f64 scale_in(const LaneRow* row, int lane) { return scale_of(row->lane[lane] >> 23 & 0xff); }

/// The codes of 32 values, as they stand in six registers: the first in the lowest bits.
struct Codes {
  u32 dwords[6] = {};
  u32 get(int index) const {
    const int bit = 6 * index, at = bit / 32, shift = bit % 32;
    const u64 both = dwords[at] | (at < 5 ? u64{dwords[at + 1]} << 32 : 0);
    return static_cast<u32>(both >> shift) & 63;
  }
  void set(int index, u32 code) {
    const int bit = 6 * index, at = bit / 32, shift = bit % 32;
    dwords[at] |= code << shift;
    if (shift > 32 - 6) dwords[at + 1] |= code >> (32 - shift);
  }
  void load(const LaneRow* rows, int lane) {
    for (int i = 0; i < 6; ++i) dwords[i] = rows[i].lane[lane];
  }
  void store(LaneRow* rows, int lane) const {
    for (int i = 0; i < 6; ++i) rows[i].lane[lane] = dwords[i];
  }
};

/// Calls `convert` for each enabled lane. A lane is read whole before it is written, so results may overwrite sources.
template <class Convert>
const Op* for_each_lane(Wave& wave, const Op* op, Convert convert) {
  for (int lane = 0; lane < kLanes; ++lane) {
    if (wave.exec_lanes.lane[lane] != 0) convert(lane);
  }
  return go_on(wave, op);
}

template <class Small, class Values>
const Op* narrow(Wave& wave, const Op* op) {
  const LaneRow *values = source(wave, op, 0), *scales = source(wave, op, 1);
  return for_each_lane(wave, op, [&](int lane) {
    const f64 scale = scale_in(scales, lane);
    Codes codes;
    for (int i = 0; i < kValues; ++i) codes.set(i, Small::from_f64(Values::get(values, i, lane) / scale, true));
    codes.store(&wave.v[op->vector.dst], lane);
  });
}

/// From two sources in turn.
template <class Small>
const Op* narrow_both(Wave& wave, const Op* op) {
  const LaneRow* values[] = {source(wave, op, 0), source(wave, op, 1)};
  const LaneRow* scales = source(wave, op, 2);
  return for_each_lane(wave, op, [&](int lane) {
    const f64 scale = scale_in(scales, lane);
    Codes codes;
    for (int i = 0; i < kValues; ++i)
      codes.set(i, Small::from_f64(F32Values::get(values[i % 2], i / 2, lane) / scale, true));
    codes.store(&wave.v[op->vector.dst], lane);
  });
}

/// Each value is rounded with the random number that V_PRNG_B32 makes of the one before.
template <class Small, class Values>
const Op* narrow_stochastic(Wave& wave, const Op* op) {
  const LaneRow *values = source(wave, op, 0), *seeds = source(wave, op, 1), *scales = source(wave, op, 2);
  return for_each_lane(wave, op, [&](int lane) {
    const f64 scale = scale_in(scales, lane);
    u32 seed = seeds->lane[lane];
    Codes codes;
    for (int i = 0; i < kValues; ++i) {
      codes.set(i, Small::from_f64_stochastic(Values::get(values, i, lane) / scale, seed, true));
      seed = next_random(seed);
    }
    codes.store(&wave.v[op->vector.dst], lane);
  });
}

template <class Small, class Values>
const Op* widen(Wave& wave, const Op* op) {
  const LaneRow *packed = source(wave, op, 0), *scales = source(wave, op, 1);
  return for_each_lane(wave, op, [&](int lane) {
    const f64 scale = scale_in(scales, lane);
    Codes codes;
    codes.load(packed, lane);
    for (int i = 0; i < kValues; ++i)
      Values::set(&wave.v[op->vector.dst], i, lane, static_cast<f32>(Small::to_f32(codes.get(i)) * scale));
  });
}

constexpr Body kBodies[] = {
#define WAVE_SIX_BITS(name, Small)                                                    \
  {"v_cvt_scalef32_2xpk16_" name "_f32", narrow_both<Small>},                         \
      {"v_cvt_scalef32_pk32_" name "_f16", narrow<Small, F16Values>},                 \
      {"v_cvt_scalef32_pk32_" name "_bf16", narrow<Small, Bf16Values>},               \
      {"v_cvt_scalef32_sr_pk32_" name "_f32", narrow_stochastic<Small, F32Values>},   \
      {"v_cvt_scalef32_sr_pk32_" name "_f16", narrow_stochastic<Small, F16Values>},   \
      {"v_cvt_scalef32_sr_pk32_" name "_bf16", narrow_stochastic<Small, Bf16Values>}, \
      {"v_cvt_scalef32_pk32_f32_" name, widen<Small, F32Values>},                     \
      {"v_cvt_scalef32_pk32_f16_" name, widen<Small, F16Values>}, {                   \
    "v_cvt_scalef32_pk32_bf16_" name, widen<Small, Bf16Values>                        \
  }
    WAVE_SIX_BITS("fp6", OcpFp6),
    WAVE_SIX_BITS("bf6", OcpBf6),
#undef WAVE_SIX_BITS
};

}  // namespace

std::span<const Body> scaled_conversion_bodies() { return kBodies; }

}  // namespace wave::emulator
