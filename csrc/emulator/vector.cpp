#include "emulator/vector.h"

#include <cfenv>
#include <cmath>
#include <cwchar>

#include "emulator/scalar.h"

namespace wave::emulator {

namespace {

/// By the C library's function for wide characters: it writes the host's widest vectors, which bodies then read as
/// such.
void fill(LaneRow& row, u32 value) {
  static_assert(sizeof(wchar_t) == sizeof(u32));
  std::wmemset(reinterpret_cast<wchar_t*>(row.lane), static_cast<wchar_t>(value), kLanes);
}

bool is_half(LaneType kind) { return kind == LaneType::F16 || kind == LaneType::F16x2; }

bool flushes(LaneType kind) {
  return kind == LaneType::F32 || kind == LaneType::F32x2 || kind == LaneType::F64 || is_half(kind);
}

/// MODE has one denormal and rounding setting for f32 and one for f16 and f64.
bool is_single(LaneType kind) { return kind == LaneType::F32 || kind == LaneType::F32x2; }

u32 denormals(const Wave& wave, LaneType kind) {
  return is_single(kind) ? wave.mode.denorm32() : wave.mode.denorm16_64();
}

u32 rounding(const Wave& wave, LaneType kind) {
  if (!flushes(kind)) return 0;
  return is_single(kind) ? wave.mode.round32() : wave.mode.round16_64();
}

u32 flushed_half(u32 bits) { return (bits & 0x7c00u) == 0 ? bits & 0x8000u : bits & 0xffffu; }
u32 flushed_single(u32 bits) { return (bits & 0x7f800000u) == 0 ? bits & 0x80000000u : bits; }

/// Replaces denormals by zeros of their sign.
void flush(LaneRow* rows, LaneType kind) {
  if (kind == LaneType::F64) {
    for (int i = 0; i < kLanes; ++i) {
      const bool denormal = (rows[1].lane[i] & 0x7ff00000u) == 0;
      if (denormal) rows[0].lane[i] = 0;
      if (denormal) rows[1].lane[i] &= 0x80000000u;
    }
  } else if (is_half(kind)) {
    for (u32& bits : rows[0].lane) bits = flushed_half(bits) | flushed_half(bits >> 16) << 16;
  } else {
    for (int row = 0; row < dwords(kind); ++row) {
      for (u32& bits : rows[row].lane) bits = flushed_single(bits);
    }
  }
}

void change_sign(LaneRow& row, u32 sign, bool absolute, bool negate) {
  const u32 clear = absolute ? sign : 0;
  const u32 toggle = negate ? sign : 0;
  for (u32& bits : row.lane) bits = (bits & ~clear) ^ toggle;
}

void select(LaneRow& row, const Select& part) {
  for (u32& bits : row.lane) {
    const u32 moved = bits << (32 - part.bits - part.shift);
    bits = part.sign ? static_cast<u32>(static_cast<i32>(moved) >> (32 - part.bits)) : moved >> (32 - part.bits);
  }
}

/// A half of a register, for every lane, into the halves `low` and `high`.
void repack(LaneRow& row, bool low, bool high) {
  for (u32& bits : row.lane) bits = (bits >> (low ? 16 : 0) & 0xffffu) | (bits >> (high ? 16 : 0)) << 16;
}

/// V_FMA_MIX: an f16 in the half that OP_SEL says, as f32, where OP_SEL_HI asks for it.
void mix(const Wave& wave, const Modifiers& modifiers, int index, LaneRow& row) {
  const bool is_half = modifiers.op_sel_hi >> index & 1;
  if (is_half) {
    select(row, {static_cast<u8>(modifiers.op_sel >> index & 1 ? 16 : 0), 16, false});
    if (!(wave.mode.denorm16_64() & 1)) flush(&row, LaneType::F16);
    for (u32& bits : row.lane) {
      bits = __builtin_bit_cast(u32, f16_to_f32(bits));
    }
  } else if (!(wave.mode.denorm32() & 1)) {
    flush(&row, LaneType::F32);
  }
  change_sign(row, 0x80000000u, modifiers.absolute >> index & 1, modifiers.negate >> index & 1);
}

/// SEL of SDWA, OP_SEL, then NEG and ABS of floats; for packed operands OP_SEL, OP_SEL_HI, NEG_LO and NEG_HI.
void apply_input_modifiers(const Wave& wave, const Modifiers& modifiers, int index, LaneType kind, LaneRow* rows) {
  const bool negate = modifiers.negate >> index & 1;
  const bool negate_high = modifiers.negate_high >> index & 1;
  const bool absolute = modifiers.absolute >> index & 1;
  const bool select_low = modifiers.op_sel >> index & 1, select_high = modifiers.op_sel_hi >> index & 1;
  if (modifiers.source[index] != Select()) select(rows[0], modifiers.source[index]);
  switch (kind) {
    case LaneType::F16:
    case LaneType::F16Bits:
      change_sign(rows[0], 0x8000u, absolute, negate);
      break;
    case LaneType::F32:
    case LaneType::F32Bits:
      change_sign(rows[0], 0x80000000u, absolute, negate);
      break;
    case LaneType::F64:
    case LaneType::F64Bits:
      change_sign(rows[1], 0x80000000u, absolute, negate);
      break;
    case LaneType::B16x2:
      repack(rows[0], select_low, select_high);
      break;
    case LaneType::F16x2:
      repack(rows[0], select_low, select_high);
      change_sign(rows[0], 0x8000u, false, negate);
      change_sign(rows[0], 0x80000000u, false, negate_high);
      break;
    case LaneType::F32x2: {
      const LaneRow low = rows[select_low], high = rows[select_high];
      rows[0] = low;
      rows[1] = high;
      change_sign(rows[0], 0x80000000u, false, negate);
      change_sign(rows[1], 0x80000000u, false, negate_high);
      break;
    }
    case LaneType::Mixed:
      mix(wave, modifiers, index, rows[0]);
      break;
    default:
      break;
  }
}

/// The lane whose value `lane` gets under DPP, or -1 where there is none (ISA document, "DPP Operand Values").
int dpp_source(u32 control, int lane) {
  const int row = lane & ~15, in_row = lane & 15, n = static_cast<int>(control & 15);
  const auto within_row = [&](int from) { return from >= 0 && from < 16 ? row + from : -1; };
  if (control < 0x100) return (lane & ~3) | static_cast<int>(control >> 2 * (lane & 3) & 3);  // quad_perm
  switch (control & 0x1f0) {
    case 0x100:
      return within_row(in_row + n);  // row_shl
    case 0x110:
      return within_row(in_row - n);  // row_shr
    case 0x120:
      return row + ((in_row - n) & 15);  // row_ror
    case 0x150:
      return row + n;  // row_newbcast, which GFX10 calls row_share
    case 0x160:
      return row + (in_row ^ n);  // row_xmask
    default:
      break;
  }
  switch (control) {
    case 0x130:
      return lane == 63 ? -1 : lane + 1;  // wave_shl
    case 0x134:
      return (lane + 1) & 63;  // wave_rol
    case 0x138:
      return lane - 1;  // wave_shr
    case 0x13c:
      return (lane - 1) & 63;  // wave_ror
    case 0x140:
      return row + 15 - in_row;  // row_mirror
    case 0x141:
      return row + (in_row ^ 7);  // row_half_mirror
    case 0x142:
      return row - 1;  // row_bcast:15, which row 0 has no source for
    case 0x143:
      return lane < 32 ? -1 : 31;  // row_bcast:31
    default:
      fault("a DPP control that no processor has");
  }
}

/// The same of DPP8: three bits of `lanes` for each of eight lanes.
int dpp8_source(u32 lanes, int lane) { return (lane & ~7) | static_cast<int>(lanes >> 3 * (lane & 7) & 7); }

/// Moves source 0 between lanes, and narrows the lanes that are written: those in the masked-out rows and banks are
/// not, nor those whose source does not exist or is disabled, unless BOUND_CTRL makes it zero.
void apply_dpp(Wave& wave, const Modifiers& modifiers, LaneRow* rows, int count) {
  int source[kLanes];
  for (int i = 0; i < kLanes; ++i) {
    source[i] = modifiers.dpp8 ? dpp8_source(modifiers.dpp8_lanes, i)
                               : dpp_source(modifiers.dpp_ctrl & ~u32{kDppFetchInactive}, i);
    const bool needs_enabled = (modifiers.dpp_ctrl & kDppFetchInactive) == 0;
    if (needs_enabled && source[i] >= 0 && wave.exec_lanes.lane[source[i]] == 0) source[i] = -1;
    const bool masked = !(modifiers.row_mask >> (i / 16) & 1) || !(modifiers.bank_mask >> (i / 4 % 4) & 1);
    const bool written = !masked && (source[i] >= 0 || modifiers.bound_ctrl);
    if (!written) wave.temp_exec.lane[i] = 0;
  }
  for (int row = 0; row < count; ++row) {
    const LaneRow from = rows[row];
    for (int i = 0; i < kLanes; ++i) rows[row].lane[i] = source[i] < 0 ? 0 : from.lane[source[i]];
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
/// are on. It makes +0 of what is less than the `smallest` normal number, and of -0.
template <class T>
T modified_output(T value, T smallest, const Modifiers& modifiers, const Mode& mode, bool keeps_denormals) {
  if (modifiers.output != 0 && !mode.ieee() && !keeps_denormals) {
    value = std::abs(value) < smallest ? 0 : output_scale(value, modifiers.output);
    if (std::abs(value) < smallest) value = 0;
  }
  if (modifiers.clamp) {
    if (value != value) {
      if (mode.dx10_clamp()) value = 0;
    } else {
      value = value > 1 ? T(1) : value > 0 ? value : T(0);
    }
  }
  return value;
}

int host_rounding(u32 mode) {
  constexpr int kModes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
  return kModes[mode & 3];
}

u32 modified_half(u32 bits, const Modifiers& modifiers, const Mode& mode, bool keeps_denormals) {
  const f64 value = f16_to_f32(bits & 0xffffu);
  return f64_to_f16(modified_output(value, 0x1p-14, modifiers, mode, keeps_denormals), mode.fp16_ovfl());
}

void apply_output_modifiers(Wave& wave, const Modifiers& modifiers, LaneType kind) {
  const bool keeps = denormals(wave, kind) & 2;
  LaneRow* rows = wave.temp_result;
  if (modifiers.output == 0 && !modifiers.clamp) return;
  if (kind == LaneType::F64) {
    for (int i = 0; i < kLanes; ++i) {
      const u64 bits = u64{rows[1].lane[i]} << 32 | rows[0].lane[i];
      const f64 value = modified_output(__builtin_bit_cast(f64, bits), 0x1p-1022, modifiers, wave.mode, keeps);
      rows[0].lane[i] = static_cast<u32>(__builtin_bit_cast(u64, value));
      rows[1].lane[i] = static_cast<u32>(__builtin_bit_cast(u64, value) >> 32);
    }
  } else if (is_half(kind)) {
    for (u32& bits : rows[0].lane) {
      const u32 high = kind == LaneType::F16x2 ? modified_half(bits >> 16, modifiers, wave.mode, keeps) : 0;
      bits = modified_half(bits, modifiers, wave.mode, keeps) | high << 16;
    }
  } else {
    for (int row = 0; row < dwords(kind); ++row) {
      for (u32& bits : rows[row].lane) {
        bits = __builtin_bit_cast(
            u32, modified_output(__builtin_bit_cast(f32, bits), 0x1p-126f, modifiers, wave.mode, keeps));
      }
    }
  }
}

/// Puts a result where DST_SEL or OP_SEL wants it, beside what the destination keeps.
void merge(const Modifiers& modifiers, LaneRow& result, const LaneRow& old) {
  const Select& part = modifiers.destination;
  const u32 mask = (~u32{0} >> (32 - part.bits)) << part.shift;
  for (int i = 0; i < kLanes; ++i) {
    const u32 bits = result.lane[i] << part.shift & mask;
    if (modifiers.unused == Unused::Kept) {
      result.lane[i] = bits | (old.lane[i] & ~mask);
    } else if (modifiers.unused == Unused::SignExtended) {
      const u32 up = 32u - part.bits - part.shift;
      result.lane[i] = static_cast<u32>(static_cast<i32>(bits << up) >> up);
    } else {
      result.lane[i] = bits;
    }
  }
}

/// The rows of a source as prepare() may change them: a copy in the wave's temporary rows.
LaneRow* copied_source(Wave& wave, const Op* op, int index, LaneType kind) {
  const uintptr_t rows = op->vector.rows[index];
  LaneRow* to = wave.temp[index];
  if (rows & kSourceScalar) {
    broadcast_source(wave, op, index, kind);
    return to;
  }
  const uintptr_t base = rows & kSourceConstant ? uintptr_t{0} - kSourceConstant : reinterpret_cast<uintptr_t>(wave.v);
  const LaneRow* from = reinterpret_cast<const LaneRow*>(base + rows);
  for (int row = 0; row < dwords(kind); ++row) to[row] = from[row];
  return to;
}

}  // namespace

const LaneRow* broadcast_source(Wave& wave, const Op* op, int index, LaneType kind) {
  LaneRow* rows = wave.temp[index];
  if (kind == LaneType::Mask) {
    Wave::spread(read_scalar64(wave, op->vector, index), rows[0]);
  } else if (dwords(kind) == 1) {
    fill(rows[0], read_scalar32(wave, op->vector, index));
  } else {
    const u64 value = read_scalar64(wave, op->vector, index);
    fill(rows[0], static_cast<u32>(value));
    fill(rows[1], static_cast<u32>(value >> 32));
  }
  return rows;
}

void prepare(Wave& wave, const Op* op, const LaneType* kinds, int count, LaneType result, Prepared& prepared) {
  const Modifiers* modifiers = op->vector.modifiers;
  wave.temp_exec = wave.exec_lanes;  // a copy, since the instruction's scalar result may go to EXEC
  prepared.exec = &wave.temp_exec;
  for (int index = 0; index < count; ++index) {
    const LaneType kind = kinds[index];
    LaneRow* rows = copied_source(wave, op, index, kind);
    if (modifiers != nullptr && modifiers->dpp && index == 0) apply_dpp(wave, *modifiers, rows, dwords(kind));
    if (modifiers != nullptr) apply_input_modifiers(wave, *modifiers, index, kind, rows);
    if (flushes(kind) && !(denormals(wave, kind) & 1)) flush(rows, kind);
    prepared.sources[index] = rows;
  }
  prepared.result = wave.temp_result;
  if (const u32 mode = rounding(wave, result); mode != 0) {
    prepared.host_rounding = std::fegetround();
    std::fesetround(host_rounding(mode));
  }
}

void finish(Wave& wave, const Op* op, LaneType result, const Prepared& prepared) {
  if (result == LaneType::Mask) return;  // comparisons have written their bits already
  const Modifiers* modifiers = op->vector.modifiers;
  if (modifiers != nullptr && (flushes(result) || result == LaneType::F32Bits))
    apply_output_modifiers(wave, *modifiers, result);
  if (prepared.host_rounding >= 0) std::fesetround(prepared.host_rounding);
  if (flushes(result) && !(denormals(wave, result) & 2)) flush(prepared.result, result);
  if (modifiers != nullptr && modifiers->destination.bits != 32) {
    merge(*modifiers, prepared.result[0], wave.v[op->vector.dst]);
  }
  for (int row = 0; row < dwords(result); ++row) {
    LaneRow& to = wave.v[op->vector.dst + row];
    const LaneRow& from = prepared.result[row];
    for (int i = 0; i < kLanes; ++i) {
      const u32 mask = prepared.exec->lane[i];
      to.lane[i] = (from.lane[i] & mask) | (to.lane[i] & ~mask);
    }
  }
}

}  // namespace wave::emulator
