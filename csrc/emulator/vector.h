// What the vector executors share over all SIMD levels: types of operands, and the paths that are not the direct one.
#pragma once

#include <cmath>
#include <type_traits>

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

constexpr bool is_16_bits(LaneType kind) {
  return kind == LaneType::B16 || kind == LaneType::F16 || kind == LaneType::F16Bits;
}

/// Two values, in a register or in two.
constexpr bool is_pair(LaneType kind) {
  return kind == LaneType::B16x2 || kind == LaneType::F16x2 || kind == LaneType::F32x2;
}

/// Kinds whose denormals MODE may flush.
constexpr bool flushes(LaneType kind) {
  switch (kind) {
    case LaneType::F16:
    case LaneType::F16x2:
    case LaneType::F32:
    case LaneType::F32x2:
    case LaneType::F64:
      return true;
    default:
      return false;
  }
}

/// Kinds of results that OMOD and CLAMP concern here: integers are clamped by bodies of their own.
constexpr bool clamps(LaneType kind) { return flushes(kind) || kind == LaneType::F32Bits; }

/// Kinds whose signs NEG and ABS change.
constexpr bool has_sign(LaneType kind) {
  switch (kind) {
    case LaneType::F16Bits:
    case LaneType::F32Bits:
    case LaneType::F64Bits:
    case LaneType::Mixed:
      return true;
    default:
      return flushes(kind);
  }
}

/// An f16 in bodies, computed in f32: where a sum or a product of two f16, or the nearest of a value of f32, is rounded
/// to f16, what rounding to f32 has done before makes no difference.
struct Half {
  f32 value;
  constexpr operator f32() const { return value; }
};

/// An f16 computed in f64, where fused multiply-adds of f16 need no second rounding either.
struct WideHalf {
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

/// A result of the unit for transcendental functions, which rounds to nearest whatever MODE says. Of those that are
/// never denormal OMOD counts where MODE keeps denormals, too.
template <class T, bool kIsNeverDenormal = false>
struct Approximation {
  T value;
};

// What OMOD and CLAMP make of a result that has been rounded.

/// OMOD: makes +0 of what is less than the smallest normal number, and of -0. What only halving makes as small becomes
/// a zero of its sign, before it is rounded: so AMD measured it on a gfx1030, gfx1100 and gfx1201 (ROCm/rocm-systems,
/// emulation/rocjitsu, output_modifier.h).
struct Scale {
  f64 factor;

  template <class T>
  [[gnu::always_inline]] T operator()(T value, T smallest) const {
    const T size = std::abs(value), zero = std::copysign(T(0), value);
    const T scaled = blend<T>(size < smallest / static_cast<T>(factor), zero, value * static_cast<T>(factor));
    return blend<T>(size < smallest, 0, scaled);
  }
};

/// CLAMP: to [0, 1]. A NaN becomes zero, or stays.
template <bool kZeroesNan>
struct Clamp {
  template <class T>
  [[gnu::always_inline]] T operator()(T value, T) const {
    const T limited = blend<T>(value > 0, blend<T>(value > 1, 1, value), 0);
    return blend<T>(kZeroesNan || value == value, limited, value);
  }
};

/// What kinds of operands a body has.
struct VectorKinds {
  LaneType sources[4] = {LaneType::B32, LaneType::B32, LaneType::B32, LaneType::B32};
  LaneType result;
  bool has_carry = false;          ///< beside its result a bit for each lane
  bool rounds_to_nearest = false;  ///< whatever MODE says
  bool is_never_denormal = false;  ///< the result, whatever MODE says
  u32 special = 0;                 ///< the bits of enum Special that concern it
  u32 loop_does = 0;               ///< what of Modifiers::asks needs no copies of operands
};

/// The operands of one instruction after prepare().
struct Prepared {
  const LaneRow* sources[3];
  LaneRow* result;         ///< where to put the result
  const LaneRow* exec;     ///< the lanes to compute and write
  bool is_finished;        ///< the result lies in the destination, and nothing is to be done to it
  int host_rounding = -1;  ///< the host's rounding mode to restore, or -1
};

/// Copies a scalar source to all lanes of the wave's temporary rows.
const LaneRow* broadcast_source(Wave& wave, const Op* op, int index, LaneType kind);

}  // namespace wave::emulator
