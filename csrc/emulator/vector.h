// What the vector executors share over all SIMD levels: types of operands, and the paths that are not the direct one.
#pragma once

#include "emulator/op.h"
#include "emulator/small_float.h"

namespace wave::emulator {

/// How an operand's bits are to be understood: which modifiers, flushing and rounding concern it.
enum class LaneType : u8 {
  B16,      ///< the low half of a register
  F16,      ///< likewise
  F16Bits,  ///< an f16 that takes NEG and ABS but is neither flushed nor rounded
  B16x2,    ///< packed
  F16x2,    ///< packed
  B32,
  F32,
  F32Bits,  ///< as F16Bits
  Mixed,    ///< f32, or an f16 where OP_SEL_HI says so (V_FMA_MIX_*)
  Mask,
  B64,
  F64,
  F64Bits,  ///< as F16Bits
  F32x2,
};

constexpr int dwords(LaneType kind) {
  return kind == LaneType::B64 || kind == LaneType::F64 || kind == LaneType::F64Bits || kind == LaneType::F32x2 ? 2 : 1;
}

/// An f16 in bodies: computed in f64, where sums, products and fused multiply-adds of f16 need no second rounding.
struct Half {
  f64 value;
  constexpr operator f64() const { return value; }
};

/// An f16 that is flushed and takes modifiers, as bits.
struct HalfBits {
  u16 bits;
};

/// A pair of 16-bit values in one register.
template <class T>
struct Pair16 {
  T low, high;
};

/// An f32 that may come from an f16.
struct MixedFloat {
  f32 value;
};

/// What a body may ask for besides its sources: the lane's number, its bit of VCC, OP_SEL as it is. `Mode` is another.
struct Lane {
  int index;
};
struct LaneVcc {
  bool bit;
};
struct OpSel {
  u8 bits;
};

/// Floats as bits, which take NEG and ABS but are otherwise moved as they are.
struct Float16Bits {
  u16 bits;
};
struct Float32Bits {
  u32 bits;
};
struct Float64Bits {
  u64 bits;
};

/// An integer of 64 bits, as the dwords in which it lies: bodies of 32-bit arithmetic need not put them together.
struct Dwords {
  u32 low, high;
};

/// A pair of f32 in two consecutive rows (V_PK_*_F32).
struct Float32x2 {
  f32 low, high;
};

/// A result with a bit for VCC or a scalar register pair.
template <class T>
struct Carry {
  T value;
  u32 carry;  ///< 0 or 1
};

/// The operands of one instruction after prepare().
struct Prepared {
  const LaneRow* sources[3];
  LaneRow* result;         ///< where to put the result: Wave::temp_result
  const LaneRow* exec;     ///< the lanes to compute and write
  int host_rounding = -1;  ///< the host's rounding mode to restore, or -1
};

/// Copies a scalar source to all lanes of the wave's temporary rows.
const LaneRow* broadcast_source(Wave& wave, const Op* op, int index, LaneType kind);

/// Fetches `count` sources with the instruction's modifiers and the wave's mode applied.
void prepare(Wave& wave, const Op* op, const LaneType* kinds, int count, LaneType result, Prepared& prepared);

/// Applies output modifiers to the prepared result and writes it to the destination.
void finish(Wave& wave, const Op* op, LaneType result, const Prepared& prepared);

}  // namespace wave::emulator
