// What vector ALU bodies take and give, lane by lane: how their types are read from rows of the register file, with
// other signs and halves where an instruction asks for them, and written to them. Included once for each SIMD level
// (each_simd_level.h), inside no namespace.

#include "emulator/double_rows.inl"
#include "emulator/half_rows.inl"

namespace wave::emulator::WAVE_SIMD {

template <class T>
inline constexpr LaneType kLaneType = LaneType::B32;
template <>
inline constexpr LaneType kLaneType<u16> = LaneType::B16;
template <>
inline constexpr LaneType kLaneType<i16> = LaneType::B16;
template <>
inline constexpr LaneType kLaneType<Half> = LaneType::F16;
template <>
inline constexpr LaneType kLaneType<WideHalf> = LaneType::F16;
template <>
inline constexpr LaneType kLaneType<HalfBits> = LaneType::F16;
template <>
inline constexpr LaneType kLaneType<Float16Bits> = LaneType::F16Bits;
template <>
inline constexpr LaneType kLaneType<Float64Bits> = LaneType::F64Bits;
template <>
inline constexpr LaneType kLaneType<Pair16<u16>> = LaneType::B16x2;
template <>
inline constexpr LaneType kLaneType<Pair16<i16>> = LaneType::B16x2;
template <>
inline constexpr LaneType kLaneType<Pair16<Half>> = LaneType::F16x2;
template <>
inline constexpr LaneType kLaneType<Pair16<WideHalf>> = LaneType::F16x2;
template <>
inline constexpr LaneType kLaneType<Pair16<HalfBits>> = LaneType::F16x2;
template <>
inline constexpr LaneType kLaneType<MixedFloat> = LaneType::Mixed;
template <>
inline constexpr LaneType kLaneType<u64> = LaneType::B64;
template <>
inline constexpr LaneType kLaneType<i64> = LaneType::B64;
template <>
inline constexpr LaneType kLaneType<Dwords> = LaneType::B64;
template <>
inline constexpr LaneType kLaneType<f32> = LaneType::F32;
template <>
inline constexpr LaneType kLaneType<f64> = LaneType::F64;
template <>
inline constexpr LaneType kLaneType<Float32x2> = LaneType::F32x2;
template <>
inline constexpr LaneType kLaneType<Float32Bits> = LaneType::F32Bits;
template <>
inline constexpr LaneType kLaneType<bool> = LaneType::Mask;

/// The nearest integer, ties to even, whatever the rounding mode is.
inline f64 round_to_even(f64 value) {
  const f64 whole = __builtin_floor(value), rest = value - whole;
  const bool is_odd = whole * 0.5 != __builtin_floor(whole * 0.5);
  return rest > 0.5 || (rest == 0.5 && is_odd) ? whole + 1 : whole;
}

/// The nearest value of an integer type: CLAMP of integers.
template <class T>
inline T saturated(i64 value) {
  constexpr i64 kLow = std::numeric_limits<T>::min(), kHigh = std::numeric_limits<T>::max();
  return static_cast<T>(value < kLow ? kLow : value > kHigh ? kHigh : value);
}

/// The result of 16 bits. Those that are f32 yet are converted by rows.
template <class T>
inline u16 to_bits16(T value, bool saturates) {
  if constexpr (std::is_same_v<T, WideHalf>) {
    return f64_to_f16(value.value, saturates);
  } else {
    return __builtin_bit_cast(u16, value);
  }
}

template <class T>
struct PairElement {
  using type = void;
};
template <class T>
struct PairElement<Pair16<T>> {
  using type = T;
};
template <class T>
constexpr bool kIsPair16 = !std::is_void_v<typename PairElement<T>::type>;

template <class T>
constexpr bool kIs16 = is_16_bits(kLaneType<T>);

/// What MODE's rounding and denormals of f16 concern.
template <class T>
constexpr bool kIsHalf = kLaneType<T> == LaneType::F16 || kLaneType<T> == LaneType::F16x2;

/// The f16 of half a row as f32: those in the registers' low halves, and in their high ones. Or the f64 of two rows.
struct FloatRows {
  alignas(64) f32 low[kHalfLanes], high[kHalfLanes];
  alignas(64) f64 wide[kHalfLanes];
};

/// Whether sources of this type are taken from there, and whether results go there: one after the other, loops over
/// lanes can use the host's conversions, of which compilers know only some.
template <class T>
constexpr bool kComesByRows = std::is_same_v<T, Half> || std::is_same_v<T, WideHalf>;
template <>
inline constexpr bool kComesByRows<MixedFloat> = true;
template <>
inline constexpr bool kComesByRows<f64> = true;
template <class T>
inline constexpr bool kComesByRows<Pair16<T>> = kComesByRows<T>;
template <class T>
constexpr bool kGoesByRows = std::is_same_v<T, Half> || std::is_same_v<T, Pair16<Half>> || std::is_same_v<T, f64>;

/// How a loop over lanes changes a source as it reads it: NEG and ABS of floats, OP_SEL. What is no pair has a first
/// element alone.
struct SourceChange {
  u32 kept = ~0u, toggled = 0;  ///< of the dword with the first element's sign
  u32 toggled_second = 0;
  u32 first = 0, second = 1;  ///< from which half of the register, or of two f32 from which register, elements come
  bool is_wide = false;       ///< of mixed kinds: it is an f32, and has no halves

  bool operator==(const SourceChange&) const = default;
};

/// What an instruction's modifiers make of source `index`, whose first element has this bit for its sign. Pairs take no
/// ABS.
[[gnu::always_inline]] inline SourceChange change_of(const Modifiers& modifiers, int index, LaneType kind, u32 sign) {
  SourceChange change;
  if (has_sign(kind)) {
    if (!is_pair(kind) && (modifiers.absolute >> index & 1) != 0) change.kept = ~sign;
    if ((modifiers.negate >> index & 1) != 0) change.toggled = sign;
    if (is_pair(kind) && (modifiers.negate_high >> index & 1) != 0) change.toggled_second = 0x80000000u;
  }
  if (is_16_bits(kind)) {
    const Select& part = modifiers.source[index];
    if (part.is_half()) change.first = part.shift / 16;
  } else if (kind == LaneType::Mixed) {
    change.first = modifiers.op_sel >> index & 1;
    change.is_wide = (modifiers.op_sel_hi >> index & 1) == 0;
  } else if (is_pair(kind)) {
    change.first = modifiers.op_sel >> index & 1;
    change.second = modifiers.op_sel_hi >> index & 1;
  }
  return change;
}

/// Of half a row's lanes, from `first` on.
template <class T>
inline void unpack_floats(const LaneRow* rows, size_t first, FloatRows& to, const SourceChange& change) {
  const u32* const lanes = &rows->lane[first];
  const auto unpack_halves = [&](u32 half, f32* values) {
    if (half == 0) {
      halves_to_f32<kHalfLanes>(lanes, values);
    } else {
      halves_to_f32<kHalfLanes, true>(lanes, values);
    }
  };
  if constexpr (std::is_same_v<T, f64>) {
    join_dwords<kHalfLanes>(lanes, &rows[1].lane[first], to.wide);
  } else if (std::is_same_v<T, MixedFloat> && change.is_wide) {
    WAVE_LANES
    for (int i = 0; i < kHalfLanes; ++i) to.low[i] = __builtin_bit_cast(f32, lanes[i]);
  } else {
    unpack_halves(change.first, to.low);
    if constexpr (kIsPair16<T>) unpack_halves(change.second, to.high);
  }
}

/// A dword with the sign of a first element, if such have signs.
template <class T>
inline u32 with_sign(u32 bits, const SourceChange& change) {
  return has_sign(kLaneType<T>) ? (bits & change.kept) ^ change.toggled : bits;
}

template <class T>
inline T load_lane(const LaneRow* rows, size_t lane, const SourceChange& change) {
  if constexpr (std::is_same_v<T, bool>) {
    return rows[0].lane[lane] != 0;
  } else if constexpr (kIs16<T>) {
    const u32 bits = rows[0].lane[lane] >> 16 * change.first;
    return __builtin_bit_cast(T, static_cast<u16>(with_sign<T>(bits, change)));
  } else if constexpr (kIsPair16<T>) {
    using Element = typename PairElement<T>::type;
    const u32 bits = rows[0].lane[lane], low = (bits >> 16 * change.first) ^ change.toggled,
              high = (bits >> 16 * change.second) ^ change.toggled_second >> 16;
    return {__builtin_bit_cast(Element, static_cast<u16>(low)), __builtin_bit_cast(Element, static_cast<u16>(high))};
  } else if constexpr (std::is_same_v<T, Float32x2>) {
    const u32 low = rows[change.first].lane[lane], high = rows[change.second].lane[lane];
    return {__builtin_bit_cast(f32, low ^ change.toggled), __builtin_bit_cast(f32, high ^ change.toggled_second)};
  } else if constexpr (std::is_same_v<T, Dwords>) {
    return {rows[0].lane[lane], rows[1].lane[lane]};
  } else if constexpr (sizeof(T) == 8) {
    return __builtin_bit_cast(T, u64{with_sign<T>(rows[1].lane[lane], change)} << 32 | rows[0].lane[lane]);
  } else {
    return __builtin_bit_cast(T, with_sign<T>(rows[0].lane[lane], change));
  }
}

/// Stores where `mask` is ~0 and keeps what was there where it is 0.
inline void blend_lane(LaneRow& row, size_t lane, u32 value, u32 mask) {
  row.lane[lane] = (value & mask) | (row.lane[lane] & ~mask);
}

/// `shift` is how far up a result of 16 bits goes, `saturates` MODE.FP16_OVFL.
template <class T>
inline void store_lane(LaneRow* rows, size_t lane, T value, u32 mask, u32 shift, bool saturates) {
  if constexpr (kIs16<T>) {
    blend_lane(rows[0], lane, u32{to_bits16(value, saturates)} << shift, mask);
  } else if constexpr (kIsPair16<T>) {
    const u32 high = to_bits16(value.high, saturates);
    blend_lane(rows[0], lane, to_bits16(value.low, saturates) | high << 16, mask);
  } else if constexpr (std::is_same_v<T, Float32x2>) {
    blend_lane(rows[0], lane, __builtin_bit_cast(u32, value.low), mask);
    blend_lane(rows[1], lane, __builtin_bit_cast(u32, value.high), mask);
  } else if constexpr (std::is_same_v<T, Dwords>) {
    blend_lane(rows[0], lane, value.low, mask);
    blend_lane(rows[1], lane, value.high, mask);
  } else if constexpr (sizeof(T) == 8) {
    const u64 bits = __builtin_bit_cast(u64, value);
    blend_lane(rows[0], lane, static_cast<u32>(bits), mask);
    blend_lane(rows[1], lane, static_cast<u32>(bits >> 32), mask);
  } else {
    blend_lane(rows[0], lane, __builtin_bit_cast(u32, value), mask);
  }
}

/// Rounds the values of half a row, from lane `first` on, and stores those whose `exec` is ~0, or all: of f16 to the
/// bits that are `written`, and so far up.
template <class T, bool kAll>
inline void pack_floats(const FloatRows& values, LaneRow* rows, size_t first, const LaneRow& exec, u32 written,
                        u32 shift, bool saturates) {
  if constexpr (std::is_same_v<T, f64>) {
    split_dwords<kHalfLanes, kAll>(values.wide, &rows[0].lane[first], &rows[1].lane[first], &exec.lane[first]);
  } else {
    alignas(64) u32 low[kHalfLanes], high[kHalfLanes];
    f32_to_halves<kHalfLanes>(values.low, low, saturates);
    if constexpr (kIsPair16<T>) f32_to_halves<kHalfLanes>(values.high, high, saturates);
    WAVE_LANES
    for (size_t k = 0; k < kHalfLanes; ++k) {
      const u32 bits = kIsPair16<T> ? low[k] | high[k] << 16 : low[k] << shift;
      blend_lane(rows[0], first + k, bits, (kAll ? ~0u : exec.lane[first + k]) & written);
    }
  }
}

/// Half of a row's lanes (0 or ~0 each) as a mask of bits.
inline u32 pack_half(const u32* lane) {
  u32 mask = 0;
#if defined(WAVE_SIMD_AVX512)
  for (int i = 0; i < kHalfLanes; i += 16) {
    mask |= u32{_mm512_movepi32_mask(_mm512_load_si512(&lane[i]))} << i;
  }
#elif defined(WAVE_SIMD_AVX2)
  for (int i = 0; i < kHalfLanes; i += 8) {
    mask |= static_cast<u32>(_mm256_movemask_ps(_mm256_load_ps(reinterpret_cast<const f32*>(&lane[i])))) << i;
  }
#else
  for (int i = 0; i < kHalfLanes; ++i) mask |= (lane[i] & 1) << i;
#endif
  return mask;
}

/// All of them.
inline u64 pack_mask(const LaneRow& row) {
  return u64{pack_half(&row.lane[kHalfLanes])} << kHalfLanes | pack_half(row.lane);
}

/// The lanes that a row enables, EXEC's where it is that row.
inline u64 enabled_bits(const Wave& wave, const LaneRow& exec) {
  return &exec == &wave.exec_lanes ? wave.exec() : pack_mask(exec);
}

/// Sets so many lanes. Not left to the compiler, for which so many loops would be work.
[[gnu::always_inline]] inline void fill(LaneRow& row, u32 value, size_t lanes) {
#if defined(WAVE_SIMD_AVX512)
  constexpr int kStep = 16;
  const auto store = [&](int i) { _mm512_store_si512(&row.lane[i], _mm512_set1_epi32(static_cast<int>(value))); };
#elif defined(WAVE_SIMD_AVX2)
  constexpr int kStep = 8;
  const auto store = [&](int i) {
    _mm256_store_si256(reinterpret_cast<__m256i*>(&row.lane[i]), _mm256_set1_epi32(static_cast<int>(value)));
  };
#else
  constexpr int kStep = 2;
  const auto store = [&](int i) { row.lane[i] = row.lane[i + 1] = value; };
#endif
  for (int i = 0; i < kHalfLanes; i += kStep) store(i);
  if (lanes == kHalfLanes) return;
  for (int i = kHalfLanes; i < kLanes; i += kStep) store(i);
}

}  // namespace wave::emulator::WAVE_SIMD
