#include "emulator/vector.h"

#include <cfenv>

namespace wave::emulator {

namespace {

/// A 32-bit scalar source, special values included.
u32 scalar32(const Wave& wave, const Op* op, int index) {
  const u32 encoding = op->src[index];
  switch (encoding) {
    case sreg::kVccz:
      return wave.vcc() == 0;
    case sreg::kExecz:
      return wave.exec() == 0;
    case sreg::kScc:
      return wave.scc;
    default:
      return wave.s[encoding];
  }
}

void fill(Row& row, u32 value) {
  for (u32& lane : row.lane) lane = value;
}

bool flushes(OperandKind kind) {
  return kind == OperandKind::F32 || kind == OperandKind::F32x2 || kind == OperandKind::F64;
}

u32 denormals(const Wave& wave, OperandKind kind) {
  return kind == OperandKind::F64 ? wave.mode.denorm16_64() : wave.mode.denorm32();
}

/// Replaces denormals by zeros of their sign.
void flush(Row* rows, OperandKind kind) {
  if (kind == OperandKind::F64) {
    for (int i = 0; i < kLanes; ++i) {
      const bool denormal = (rows[1].lane[i] & 0x7ff00000u) == 0;
      if (denormal) rows[0].lane[i] = 0;
      if (denormal) rows[1].lane[i] &= 0x80000000u;
    }
    return;
  }
  for (int row = 0; row < dwords(kind); ++row) {
    for (u32& bits : rows[row].lane) bits = (bits & 0x7f800000u) == 0 ? bits & 0x80000000u : bits;
  }
}

void change_sign(Row& row, bool absolute, bool negate) {
  const u32 clear = absolute ? 0x80000000u : 0;
  const u32 toggle = negate ? 0x80000000u : 0;
  for (u32& bits : row.lane) bits = (bits & ~clear) ^ toggle;
}

/// NEG and ABS; for packed pairs OP_SEL, OP_SEL_HI, NEG_LO and NEG_HI. Integer operands take none.
void apply_input_modifiers(const Modifiers& modifiers, int index, OperandKind kind, Row* rows) {
  const bool negate = modifiers.negate >> index & 1;
  const bool absolute = modifiers.absolute >> index & 1;
  if (kind == OperandKind::F32 || kind == OperandKind::F32Bits) change_sign(rows[0], absolute, negate);
  if (kind == OperandKind::F64) change_sign(rows[1], absolute, negate);
  if (kind == OperandKind::F32x2) {
    const Row low = rows[modifiers.op_sel >> index & 1], high = rows[modifiers.op_sel_hi >> index & 1];
    rows[0] = low;
    rows[1] = high;
    change_sign(rows[0], false, negate);
    change_sign(rows[1], false, modifiers.negate_high >> index & 1);
  }
}

template <class T>
T output_scale(T value, u8 output) {
  switch (output) {
    case 1:
      return value * 2;
    case 2:
      return value * 4;
    case 3:
      return value / 2;
    default:
      return value;
  }
}

/// OMOD, then clamp to [0, 1] (ISA document, "Output Modifiers"): OMOD is ignored where IEEE mode or output denormals
/// are on.
template <class T>
T modified_output(T value, const Modifiers& modifiers, const Mode& mode, bool keeps_denormals) {
  if (modifiers.output != 0 && !mode.ieee() && !keeps_denormals) {
    value = output_scale(value, modifiers.output);
    if (value == 0) value = 0;  // -0 becomes +0
  }
  if (modifiers.clamp) {
    if (value != value) {
      if (mode.dx10_clamp()) value = 0;
    } else {
      value = value < 0 ? T(0) : value > 1 ? T(1) : value;
    }
  }
  return value;
}

int host_rounding(u32 mode) {
  constexpr int kModes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
  return kModes[mode & 3];
}

void apply_output_modifiers(Wave& wave, const Modifiers& modifiers, OperandKind kind) {
  const bool keeps = denormals(wave, kind) & 2;
  Row* rows = wave.temp_result;
  if (kind == OperandKind::F64) {
    for (int i = 0; i < kLanes; ++i) {
      const u64 bits = u64{rows[1].lane[i]} << 32 | rows[0].lane[i];
      const f64 value = modified_output(__builtin_bit_cast(f64, bits), modifiers, wave.mode, keeps);
      rows[0].lane[i] = static_cast<u32>(__builtin_bit_cast(u64, value));
      rows[1].lane[i] = static_cast<u32>(__builtin_bit_cast(u64, value) >> 32);
    }
    return;
  }
  for (int row = 0; row < dwords(kind); ++row) {
    for (u32& bits : rows[row].lane) {
      bits = __builtin_bit_cast(u32, modified_output(__builtin_bit_cast(f32, bits), modifiers, wave.mode, keeps));
    }
  }
}

u32 rounding(const Wave& wave, OperandKind kind) {
  if (kind == OperandKind::F64) return wave.mode.round16_64();
  return kind == OperandKind::F32 || kind == OperandKind::F32x2 ? wave.mode.round32() : 0;
}

/// The rows of a source as prepare() may change them: a copy in the wave's temporary rows.
Row* copied_source(Wave& wave, const Op* op, int index, OperandKind kind) {
  const uintptr_t rows = op->rows[index];
  Row* to = wave.temp[index];
  if (rows & kSourceScalar) {
    broadcast_source(wave, op, index, kind);
    return to;
  }
  const uintptr_t base = rows & kSourceConstant ? uintptr_t{0} - kSourceConstant : reinterpret_cast<uintptr_t>(wave.v);
  const Row* from = reinterpret_cast<const Row*>(base + rows);
  for (int row = 0; row < dwords(kind); ++row) to[row] = from[row];
  return to;
}

}  // namespace

const Row* broadcast_source(Wave& wave, const Op* op, int index, OperandKind kind) {
  Row* rows = wave.temp[index];
  if (kind == OperandKind::Mask) {
    Wave::spread(wave.pair(op->src[index]), rows[0]);
  } else {
    fill(rows[0], scalar32(wave, op, index));
    if (dwords(kind) == 2) {
      const u32 encoding = op->src[index];
      fill(rows[1], encoding < sreg::kVccz ? wave.s[encoding + 1] : 0);
    }
  }
  return rows;
}

bool prepare(Wave& wave, const Op* op, const OperandKind* kinds, int count, OperandKind result, Prepared& prepared) {
  if (wave.mode.skip_vector()) return false;
  if (wave.mode.gpr_index()) fault("GPR indexing (s_set_gpr_idx_on) is not implemented");
  for (int index = 0; index < count; ++index) {
    const OperandKind kind = kinds[index];
    Row* rows = copied_source(wave, op, index, kind);
    if (op->modifiers != nullptr) apply_input_modifiers(*op->modifiers, index, kind, rows);
    if (flushes(kind) && !(denormals(wave, kind) & 1)) flush(rows, kind);
    prepared.sources[index] = rows;
  }
  prepared.result = wave.temp_result;
  prepared.exec = &wave.exec_lanes;
  if (const u32 mode = rounding(wave, result); mode != 0) {
    prepared.host_rounding = std::fegetround();
    std::fesetround(host_rounding(mode));
  }
  return true;
}

void finish(Wave& wave, const Op* op, OperandKind result, const Prepared& prepared) {
  if (result == OperandKind::Mask) return;  // comparisons have written their bits already
  if (op->modifiers != nullptr && flushes(result)) apply_output_modifiers(wave, *op->modifiers, result);
  if (prepared.host_rounding >= 0) std::fesetround(prepared.host_rounding);
  if (flushes(result) && !(denormals(wave, result) & 2)) flush(prepared.result, result);
  for (int row = 0; row < dwords(result); ++row) {
    Row& to = wave.v[op->dst + row];
    const Row& from = prepared.result[row];
    for (int i = 0; i < kLanes; ++i) {
      const u32 mask = prepared.exec->lane[i];
      to.lane[i] = (from.lane[i] & mask) | (to.lane[i] & ~mask);
    }
  }
}

}  // namespace wave::emulator
