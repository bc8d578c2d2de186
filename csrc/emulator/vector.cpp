// Vector instructions off the direct path (vector.inl): with modifiers, or in modes that ask for more than IEEE's
// defaults. All loops are over the lanes that the wave has: kCount.
#include "emulator/vector.h"

#include <cfenv>
#include <cmath>

#include "emulator/bodies.h"

#define WAVE_SOURCE "emulator/vector.cpp"
#include "emulator/each_simd_level.h"
#include "emulator/vector.inl"

namespace wave::emulator::WAVE_SIMD {

namespace {

bool is_half(LaneType kind) { return kind == LaneType::F16 || kind == LaneType::F16x2; }

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
template <int kCount>
void flush(const LaneRow* from, LaneRow* to, LaneType kind) {
  if (kind == LaneType::F64) {
    WAVE_LANES
    for (int i = 0; i < kCount; ++i) {
      const u32 low = from[0].lane[i], high = from[1].lane[i], kept = (high & 0x7ff00000u) == 0 ? 0 : ~0u;
      to[0].lane[i] = low & kept;
      to[1].lane[i] = high & (kept | 0x80000000u);
    }
  } else if (is_half(kind)) {
    WAVE_LANES
    for (int i = 0; i < kCount; ++i) {
      const u32 bits = from[0].lane[i];
      to[0].lane[i] = flushed_half(bits) | flushed_half(bits >> 16) << 16;
    }
  } else {
    for (int row = 0; row < dwords(kind); ++row) {
      WAVE_LANES
      for (int i = 0; i < kCount; ++i) to[row].lane[i] = flushed_single(from[row].lane[i]);
    }
  }
}

/// SEL of SDWA; OP_SEL where it picks bytes.
template <int kCount>
void select(const LaneRow& from, LaneRow& to, const Select& part) {
  const int up = 32 - part.bits - part.shift, down = 32 - part.bits;
  if (part.sign) {
    WAVE_LANES
    for (int i = 0; i < kCount; ++i) to.lane[i] = static_cast<u32>(static_cast<i32>(from.lane[i] << up) >> down);
  } else {
    WAVE_LANES
    for (int i = 0; i < kCount; ++i) to.lane[i] = from.lane[i] << up >> down;
  }
}

/// A source that the loop over lanes does not change.
template <int kCount>
void change_source(const SourceChange& change, LaneType kind, const LaneRow* from, LaneRow* to) {
  if (kind == LaneType::F32x2) {
    const LaneRow &low_row = from[change.first], &high_row = from[change.second];
    WAVE_LANES
    for (int i = 0; i < kCount; ++i) {
      const u32 low = low_row.lane[i], high = high_row.lane[i];
      to[0].lane[i] = low ^ change.toggled;
      to[1].lane[i] = high ^ change.toggled_second;
    }
  } else if (is_pair(kind)) {
    WAVE_LANES
    for (int i = 0; i < kCount; ++i) {
      const u32 bits = from[0].lane[i],
                halves = (bits >> 16 * change.first & 0xffffu) | bits >> 16 * change.second << 16;
      to[0].lane[i] = halves ^ (change.toggled | change.toggled_second);
    }
  } else {
    const int last = dwords(kind) - 1;
    WAVE_LANES
    for (int i = 0; i < kCount; ++i)
      to[last].lane[i] = ((from[last].lane[i] >> 16 * change.first) & change.kept) ^ change.toggled;
    if (last == 0 || from == to) return;
    WAVE_LANES
    for (int i = 0; i < kCount; ++i) to[0].lane[i] = from[0].lane[i];
  }
}

/// Moves source 0 between lanes, and narrows the lanes that are written: those in the masked-out rows and banks are
/// not, nor those whose source does not exist or is disabled, unless BOUND_CTRL makes it zero.
template <int kCount>
void apply_dpp(Wave& wave, const LaneMoves& moves, const LaneRow* from, LaneRow* to, int count) {
  const u32 always_read = moves.reads_disabled ? ~0u : 0, always_written = moves.bound_ctrl ? ~0u : 0;
#if defined(WAVE_SIMD_AVX512)
  if (moves.within_rows) {
    const __m512i read = _mm512_set1_epi32(static_cast<int>(always_read)),
                  written = _mm512_set1_epi32(static_cast<int>(always_written));
    for (int i = 0; i < kCount; i += 16) {
      const __m512i source = _mm512_load_si512(&moves.source.lane[i]),
                    exec = _mm512_load_si512(&wave.exec_lanes.lane[i]);
      const auto moved = [&](__m512i row) { return _mm512_maskz_permutexvar_epi32(0xffff, source, row); };
      const __m512i valid =
          _mm512_and_si512(_mm512_or_si512(moved(exec), read), _mm512_load_si512(&moves.exists.lane[i]));
      const __m512i kept = _mm512_and_si512(exec, _mm512_load_si512(&moves.written.lane[i]));
      _mm512_store_si512(&wave.temp_exec.lane[i], _mm512_and_si512(kept, _mm512_or_si512(valid, written)));
      for (int row = 0; row < count; ++row)
        _mm512_store_si512(&to[row].lane[i], _mm512_and_si512(moved(_mm512_load_si512(&from[row].lane[i])), valid));
    }
    return;
  }
#endif
  LaneRow valid;
  for (int i = 0; i < kCount; ++i) valid.lane[i] = wave.exec_lanes.lane[moves.source.lane[i]];
  WAVE_LANES
  for (int i = 0; i < kCount; ++i) {
    valid.lane[i] = (valid.lane[i] | always_read) & moves.exists.lane[i];
    wave.temp_exec.lane[i] = wave.exec_lanes.lane[i] & (valid.lane[i] | always_written) & moves.written.lane[i];
  }
  for (int row = 0; row < count; ++row) {
    for (int i = 0; i < kCount; ++i) to[row].lane[i] = from[row].lane[moves.source.lane[i]] & valid.lane[i];
  }
}

template <class F>
[[gnu::always_inline]] inline u32 modified_half(u32 bits, F modify, bool saturates) {
  return f32_to_f16(modify(f16_to_f32(bits & 0xffffu), 0x1p-14f), saturates);
}

/// Applies one of these to a result.
template <int kCount, class F>
void modify(LaneRow* rows, LaneType kind, F modify, bool saturates) {
  if (kind == LaneType::F64) {
    WAVE_LANES
    for (int i = 0; i < kCount; ++i) {
      const u64 bits = u64{rows[1].lane[i]} << 32 | rows[0].lane[i];
      const u64 result = __builtin_bit_cast(u64, modify(__builtin_bit_cast(f64, bits), 0x1p-1022));
      rows[0].lane[i] = static_cast<u32>(result);
      rows[1].lane[i] = static_cast<u32>(result >> 32);
    }
  } else if (kind == LaneType::F16x2) {
    WAVE_LANES
    for (int i = 0; i < kCount; ++i) {
      const u32 bits = rows[0].lane[i];
      rows[0].lane[i] = modified_half(bits, modify, saturates) | modified_half(bits >> 16, modify, saturates) << 16;
    }
  } else if (kind == LaneType::F16) {
    WAVE_LANES
    for (int i = 0; i < kCount; ++i) rows[0].lane[i] = modified_half(rows[0].lane[i], modify, saturates);
  } else {
    for (int row = 0; row < dwords(kind); ++row) {
      WAVE_LANES
      for (int i = 0; i < kCount; ++i) {
        const f32 value = __builtin_bit_cast(f32, rows[row].lane[i]);
        rows[row].lane[i] = __builtin_bit_cast(u32, modify(value, 0x1p-126f));
      }
    }
  }
}

/// OMOD, which is ignored where IEEE mode or output denormals are on (ISA document, "Output Modifiers"; of gfx1201
/// ROCm/rocm-systems, emulation/rocjitsu, output_modifier.h), then CLAMP.
template <int kCount>
void apply_output_modifiers(const Wave& wave, const Modifiers& modifiers, const VectorKinds& kinds, LaneRow* rows) {
  const LaneType kind = kinds.result;
  const bool has_denormals = !kinds.is_never_denormal && (denormals(wave, kind) & 2) != 0;
  const bool saturates = wave.mode.fp16_ovfl();
  const bool scales = modifiers.scales_always || (!wave.mode.ieee() && !has_denormals);
  if (modifiers.output != 0 && scales) modify<kCount>(rows, kind, Scale{modifiers.factor()}, saturates);
  if (!modifiers.clamp) return;
  if (wave.mode.dx10_clamp()) {
    modify<kCount>(rows, kind, Clamp<true>(), saturates);
  } else {
    modify<kCount>(rows, kind, Clamp<false>(), saturates);
  }
}

bool has_output_modifiers(const Modifiers* modifiers, LaneType kind) {
  return modifiers != nullptr && clamps(kind) && (modifiers->output != 0 || modifiers->clamp);
}

bool has_part(const Modifiers* modifiers) { return modifiers != nullptr && modifiers->destination.bits != 32; }

bool flushes_result(const Wave& wave, LaneType kind) { return flushes(kind) && !(denormals(wave, kind) & 2); }

/// Puts a result where DST_SEL or OP_SEL wants it, beside what the destination keeps.
template <int kCount>
void merge(const Modifiers& modifiers, LaneRow& result, const LaneRow& old) {
  const int bits = modifiers.destination.bits, shift = modifiers.destination.shift;
  const u32 mask = (~u32{0} >> (32 - bits)) << shift;
  if (modifiers.unused == Unused::SignExtended) {
    const int up = 32 - bits, down = up - shift;
    WAVE_LANES
    for (int i = 0; i < kCount; ++i) result.lane[i] = static_cast<u32>(static_cast<i32>(result.lane[i] << up) >> down);
  } else {
    const u32 kept = modifiers.unused == Unused::Kept ? ~mask : 0;
    WAVE_LANES
    for (int i = 0; i < kCount; ++i) result.lane[i] = (result.lane[i] << shift & mask) | (old.lane[i] & kept);
  }
}

template <int kCount>
void prepare_lanes(Wave& wave, const Op* op, const VectorKinds& kinds, int count, Prepared& prepared) {
  const LaneType result = kinds.result;
  const Modifiers* modifiers = op->vector.modifiers;
  const LaneMoves* moves = modifiers == nullptr ? nullptr : modifiers->moves;
  const bool loop_merges = is_16_bits(result) && modifiers != nullptr && (modifiers->asks & kKeepsHalf) != 0;
  prepared.is_finished =
      result == LaneType::Mask || (!has_output_modifiers(modifiers, result) && (!has_part(modifiers) || loop_merges) &&
                                   !flushes_result(wave, result));
  prepared.result = prepared.is_finished ? &wave.v[op->vector.dst] : wave.temp_result;
  prepared.exec = &wave.exec_lanes;
  if (moves != nullptr) {
    prepared.exec = &wave.temp_exec;  // which apply_dpp() narrows
  } else if (kinds.has_carry && !prepared.is_finished) {
    wave.temp_exec = wave.exec_lanes;  // a copy, since the instruction's scalar result may go to EXEC
    prepared.exec = &wave.temp_exec;
  }
  for (int index = 0; index < count; ++index) {
    const LaneType kind = kinds.sources[index];
    const LaneRow* rows = direct_source(wave, op, index, kind);
    LaneRow* copy = wave.temp[index];
    if (moves != nullptr && index == 0) {
      apply_dpp<kCount>(wave, *moves, rows, copy, dwords(kind));
      rows = copy;
    }
    if (modifiers != nullptr) {
      const Select& part = modifiers->source[index];
      if (part != Select() && !(part.is_half() && is_16_bits(kind))) {
        select<kCount>(*rows, *copy, part);
        rows = copy;
      }
      constexpr u32 kChanges = kChangesSources | kHalfOfSource * 7;
      if ((modifiers->asks & kChanges) != 0 && kind != LaneType::Mixed) {
        const u32 sign = is_16_bits(kind) || kind == LaneType::F16x2 ? 0x8000u : 0x80000000u;
        const SourceChange change = change_of(*modifiers, index, kind, sign);
        if (change != SourceChange()) {
          change_source<kCount>(change, kind, rows, copy);
          rows = copy;
        }
      }
    }
    const bool is_mixed_half = kind == LaneType::Mixed && (modifiers->op_sel_hi >> index & 1) != 0;
    const LaneType flushed = kind != LaneType::Mixed ? kind : is_mixed_half ? LaneType::F16 : LaneType::F32;
    if (flushes(flushed) && (denormals(wave, flushed) & 1) == 0) {
      flush<kCount>(rows, copy, flushed);
      rows = copy;
    }
    prepared.sources[index] = rows;
  }
  if (const u32 mode = kinds.rounds_to_nearest ? 0 : rounding(wave, result); mode != 0) {
    constexpr int kModes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    prepared.host_rounding = std::fegetround();
    std::fesetround(kModes[mode]);
  }
}

template <int kCount>
void finish_lanes(Wave& wave, const Op* op, const VectorKinds& kinds, const Prepared& prepared) {
  const Modifiers* modifiers = op->vector.modifiers;
  const LaneType result = kinds.result;
  LaneRow* rows = prepared.result;
  if (!prepared.is_finished && has_output_modifiers(modifiers, result)) {
    apply_output_modifiers<kCount>(wave, *modifiers, kinds, rows);
  }
  if (prepared.host_rounding >= 0) std::fesetround(prepared.host_rounding);
  if (prepared.is_finished) return;
  if (flushes_result(wave, result)) flush<kCount>(rows, rows, result);
  if (has_part(modifiers)) merge<kCount>(*modifiers, rows[0], wave.v[op->vector.dst]);
  for (int row = 0; row < dwords(result); ++row) {
    LaneRow& to = wave.v[op->vector.dst + row];
    WAVE_LANES
    for (int i = 0; i < kCount; ++i) {
      const u32 mask = prepared.exec->lane[i];
      to.lane[i] = (rows[row].lane[i] & mask) | (to.lane[i] & ~mask);
    }
  }
}

}  // namespace

void prepare(Wave& wave, const Op* op, const VectorKinds& kinds, int count, Prepared& prepared) {
  (wave.lanes == kHalfLanes ? prepare_lanes<kHalfLanes> : prepare_lanes<kLanes>)(wave, op, kinds, count, prepared);
}

void finish(Wave& wave, const Op* op, const VectorKinds& kinds, const Prepared& prepared) {
  (wave.lanes == kHalfLanes ? finish_lanes<kHalfLanes> : finish_lanes<kLanes>)(wave, op, kinds, prepared);
}

}  // namespace wave::emulator::WAVE_SIMD
