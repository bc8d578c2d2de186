// What the vector executors share over all SIMD levels: operand kinds, and the paths that are not the direct one.
#pragma once

#include "emulator/op.h"

namespace wave::emulator {

/// How an operand's bits are to be understood: which modifiers, flushing and rounding concern it.
enum class OperandKind : u8 { B32, F32, F32Bits, Mask, B64, F64, F32x2 };

constexpr int dwords(OperandKind kind) { return kind >= OperandKind::B64 ? 2 : 1; }

/// 32 bits that take float modifiers but are otherwise moved as they are (v_cndmask_b32).
struct Float32Bits {
  u32 bits;
};

/// A pair of f32 in two consecutive rows (V_PK_*_F32).
struct Float32x2 {
  f32 low, high;
};

/// A result with a bit for VCC or a scalar register pair.
template <class T>
struct Carry {
  T value;
  bool carry;
};

/// The operands of one instruction after prepare().
struct Prepared {
  const Row* sources[3];
  Row* result;             ///< where to put the result: Wave::temp_result
  const Row* exec;         ///< the lanes to compute and write
  int host_rounding = -1;  ///< the host's rounding mode to restore, or -1
};

/// Copies a scalar source to all lanes of the wave's temporary rows.
const Row* broadcast_source(Wave& wave, const Op* op, int index, OperandKind kind);

/// Fetches `count` sources with the instruction's modifiers and the wave's mode applied. False: the instruction is
/// skipped.
bool prepare(Wave& wave, const Op* op, const OperandKind* kinds, int count, OperandKind result, Prepared& prepared);

/// Applies output modifiers to the prepared result and writes it to the destination.
void finish(Wave& wave, const Op* op, OperandKind result, const Prepared& prepared);

}  // namespace wave::emulator
