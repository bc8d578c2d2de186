// Runs vector ALU bodies over the lanes of a wave. Included once for each SIMD level (each_simd_level.h), inside no
// namespace.
//
// A body is a plain function over one lane, whose parameter and result types say how operands are read and written:
//
//   f32 v_fma_f32(f32 a, f32 b, f32 c) { return fma(a, b, c); }     a register row each
//   f64 v_add_f64(f64 a, f64 b);                                    64 bits: two consecutive rows
//   Dwords v_lshlrev_b64(u32 shift, Dwords value);                  the same, row by row: faster where that will do
//   bool v_cmp_lt_f32(f32 a, f32 b);                                a bit for each lane, to VCC or a scalar register
//   pair u32 v_cndmask_b32(Float32Bits a, Float32Bits b, bool choose);   a bool parameter is a lane's bit of a scalar
//   pair Carry<u32> v_addc_co_u32(u32 a, u32 b, bool carry);             both a value and a bit
//   u16, i16, Half, WideHalf, HalfBits: the low half of a register; a result clears the high half
//   Pair16<Half>: both halves
//   Mode, Lane, LaneVcc, OpSel: not sources but what their names say
//
// `vector<v_fma_f32>` is the routine for the instruction table. `light<v_fma_f32>` has more of them, for operations of
// which translation has found that they need no changes of operands (struct Forms): without EXEC, for waves all of
// whose lanes are enabled. It is for bodies that take no longer than to load what EXEC leaves as it is, and for
// comparisons. `modifiable<v_fma_f64>` has one more, which changes signs and picks halves as it reads its sources, for
// those that compilers often give such modifiers; so has `light` of floats. The direct path works on the rows of the
// register file. Where an instruction has other modifiers, or the wave's mode asks for more than IEEE defaults,
// prepare() first copies the operands that this concerns to temporary rows, changed as it asks, and finish() does the
// same to the result.

#include "emulator/vector_lanes.inl"

namespace wave::emulator::WAVE_SIMD {

/// Fetches `count` sources with the instruction's modifiers and the wave's mode applied.
void prepare(Wave& wave, const Op* op, const VectorKinds& kinds, int count, Prepared& prepared);

/// Applies output modifiers to the prepared result and writes it to the destination.
void finish(Wave& wave, const Op* op, const VectorKinds& kinds, const Prepared& prepared);

/// The rows of a source that is no scalar.
inline const LaneRow* rows_at(const Wave& wave, uintptr_t rows) {
  const uintptr_t base = rows & kSourceConstant ? uintptr_t{0} - kSourceConstant : reinterpret_cast<uintptr_t>(wave.v);
  return reinterpret_cast<const LaneRow*>(base + rows);
}

/// The rows of source `index` as they are, without modifiers.
inline const LaneRow* direct_source(Wave& wave, const Op* op, int index, LaneType kind) {
  const uintptr_t rows = op->vector.rows[index];
  return rows & kSourceScalar ? broadcast_source(wave, op, index, kind) : rows_at(wave, rows);
}

/// Whether any of the types is F.
template <class F, class... T>
constexpr bool kAnyIs = (std::is_same_v<F, T> || ...);

/// What is not a source, taken from the wave once for all lanes; see vector.h.
template <class T>
constexpr bool kIsContext = kAnyIs<T, Mode, Lane, LaneVcc, OpSel>;

struct LaneContext {
  Mode mode;
  OpSel op_sel;
  const LaneRow* vcc;
};

template <class T>
inline T load_context(const LaneContext& context, size_t lane) {
  if constexpr (std::is_same_v<T, Mode>) {
    return context.mode;
  } else if constexpr (std::is_same_v<T, OpSel>) {
    return context.op_sel;
  } else if constexpr (std::is_same_v<T, Lane>) {
    return {static_cast<int>(lane)};
  } else {
    return {context.vcc->lane[lane] != 0};
  }
}

template <class T>
struct ValueOf {
  using type = T;
};
template <class T>
struct ValueOf<Carry<T>> {
  using type = T;
};
template <class T, bool kIsNeverDenormal>
struct ValueOf<Approximation<T, kIsNeverDenormal>> {
  using type = T;
};

template <class T>
constexpr bool kIsCarry = false;
template <class T>
constexpr bool kIsCarry<Carry<T>> = true;
template <class T>
constexpr bool kIsApproximation = false;
template <class T, bool kIsNeverDenormal>
constexpr bool kIsApproximation<Approximation<T, kIsNeverDenormal>> = true;
template <class T>
constexpr bool kIsNeverDenormal = false;
template <class T>
constexpr bool kIsNeverDenormal<Approximation<T, true>> = true;

template <class Result, class... Args>
struct VectorShape {
  static constexpr int kCount = (0 + ... + !kIsContext<Args>);
  static constexpr int kArgs = sizeof...(Args);

  /// The source that parameter `i` is.
  static constexpr int source(int i) {
    constexpr bool kContext[] = {kIsContext<Args>..., false};
    int before = 0;
    for (int k = 0; k < i; ++k) before += !kContext[k];
    return before;
  }
  static constexpr VectorKinds kinds() {
    constexpr LaneType kAll[] = {kLaneType<Args>..., LaneType::B32};
    constexpr bool kContext[] = {kIsContext<Args>..., false};
    using Value = typename ValueOf<Result>::type;
    VectorKinds kinds = {.result = kLaneType<Value>,
                         .has_carry = kIsCarry<Result>,
                         .rounds_to_nearest = kIsApproximation<Result>,
                         .is_never_denormal = kIsNeverDenormal<Result>};
    int count = 0;
    for (int k = 0; k < kArgs; ++k) {
      if (!kContext[k]) kinds.sources[count++] = kAll[k];
    }
    const bool is_single = kAnyIs<f32, Value, Args...> || kAnyIs<Float32x2, Value, Args...>;
    const bool is_double = kAnyIs<f64, Value, Args...> || kIsHalf<Value> || (false || ... || kIsHalf<Args>);
    const bool is_mixed = kAnyIs<MixedFloat, Args...>;
    if (is_single || is_mixed) kinds.special |= kSpecialF32;
    if (is_double || is_mixed) kinds.special |= kSpecialF64;
    if (is_16_bits(kinds.result)) kinds.loop_does |= kKeepsHalf;
    if (!clamps(kinds.result)) kinds.loop_does |= kClamps;
    if (is_mixed) kinds.loop_does |= kChangesSources;
    return kinds;
  }
  static constexpr VectorKinds kKinds = kinds();
};

/// Where the direct path does not do: a source is a scalar, there are modifiers, or MODE is special. `run` is the
/// loop over lanes.
template <size_t... kIndex, class Run>
[[gnu::noinline]] const Op* detour(Wave& wave, const Op* op, const VectorKinds& kinds, Run run) {
  const Singly singly(wave);
  const Modifiers* modifiers = op->vector.modifiers;
  const bool is_plain = modifiers == nullptr || (modifiers->asks & ~kinds.loop_does) == 0;
  if (is_plain && (wave.special & kinds.special) == 0) {
    return run(wave, op, wave.exec_lanes, &wave.v[op->vector.dst],
               direct_source(wave, op, kIndex, kinds.sources[kIndex])...);
  }
  Prepared prepared;
  prepare(wave, op, kinds, sizeof...(kIndex), prepared);
  run(wave, op, *prepared.exec, prepared.result, prepared.sources[kIndex]...);
  if (!prepared.is_finished || prepared.host_rounding >= 0) finish(wave, op, kinds, prepared);
  return next(op);
}

/// What the sources of a plain operation are (struct Forms): vector registers; or constants; or scalars.
enum class Sources { Rows, Constants, Scalars };

/// CLAMP of f32.
[[gnu::always_inline]] inline void clamp(LaneRow& row, size_t lanes, bool zeroes_nan) {
#pragma GCC unroll 2
  for (size_t half = 0; half < kLanes; half += kHalfLanes) {
    if (half == lanes) break;
    WAVE_LANES
    for (size_t i = half; i < half + kHalfLanes; ++i) {
      const f32 value = __builtin_bit_cast(f32, row.lane[i]), limited = Clamp<true>()(value, 0.0f);
      row.lane[i] = __builtin_bit_cast(u32, blend<f32>(zeroes_nan || value == value, limited, value));
    }
  }
}

template <auto kBody, class Signature = decltype(kBody)>
struct Vector;

template <auto kBody, class Result, class... Args>
struct Vector<kBody, Result (*)(Args...)> {
  using Shape = VectorShape<Result, Args...>;
  using Value = typename ValueOf<Result>::type;

  /// Carries out any operation.
  [[gnu::noinline]] static const Op* execute(Wave& wave, const Op* op) { return execute(wave, op, kAllSources); }

  /// With those for plain operations, or for those whose modifiers a loop over lanes can apply (bodies.h): light bodies
  /// of floats have both.
  template <bool kIsLight>
  static constexpr Forms forms() {
    constexpr Execute general = execute;
    Forms forms = general;
    if constexpr (kIsLight) {
      forms.rows = execute_plain<Sources::Rows>;
      forms.constants = execute_plain<Sources::Constants>;
      forms.scalars = execute_plain<Sources::Scalars>;
    }
    if constexpr (!kIsLight || kIsOfFloats) {
      forms.modified = execute_modified;
      u32 does = Shape::kKinds.loop_does | kChangesSources | (Shape::kKinds.result == LaneType::F32 ? kClamps : 0);
      for (int i = 0; i < Shape::kCount; ++i) does |= is_16_bits(Shape::kKinds.sources[i]) ? kHalfOfSource << i : 0;
      forms.modified_does = static_cast<u8>(does);
    }
    for (int i = 0; i < Shape::kCount; ++i) (is_mask(i) ? forms.masks : forms.sources) |= static_cast<u8>(1 << i);
    return forms;
  }

 private:
  template <size_t>
  using Rows = const LaneRow*;

  /// Masks of lanes are always scalars.
  static constexpr bool is_mask(size_t index) { return Shape::kKinds.sources[index] == LaneType::Mask; }

  // The direct paths call nothing but the loop, and that as their last step: so they save no registers, which would
  // cost as much as what light instructions do.
  template <size_t... kIndex>
  [[gnu::always_inline]] static const Op* execute(Wave& wave, const Op* op, std::index_sequence<kIndex...>) {
    const uintptr_t tags = (uintptr_t{0} | ... | (is_mask(kIndex) ? 0 : op->vector.rows[kIndex]));
    const bool is_special = (wave.special & Shape::kKinds.special) != 0;
    const Modifiers* const modifiers = op->vector.modifiers;
    const bool needs_copies = modifiers != nullptr && (modifiers->asks & ~Shape::kKinds.loop_does) != 0;
    if ((tags & kSourceScalar) != 0 || needs_copies || is_special) [[unlikely]]
      return detour<kIndex...>(wave, op, Shape::kKinds, run<Rows<kIndex>...>);
    const auto source = [&](size_t index) {
      return is_mask(index) ? broadcast_source(wave, op, static_cast<int>(index), LaneType::Mask)
                            : rows_at(wave, op->vector.rows[index]);
    };
    return run(wave, op, wave.exec_lanes, &wave.v[op->vector.dst], source(kIndex)...);
  }

  /// What is left to ask of a plain operation is the wave's state.
  template <Sources kSources>
  static const Op* execute_plain(Wave& wave, const Op* op) {
    return execute_plain<kSources>(wave, op, kAllSources);
  }
  template <Sources kSources, size_t... kIndex>
  [[gnu::always_inline]] static const Op* execute_plain(Wave& wave, const Op* op, std::index_sequence<kIndex...>) {
    static_assert(!kAnyIs<LaneVcc, Args...>);
    if constexpr (kIsComparison) {  // whose loop has nothing to do with EXEC
      if ((wave.special & Shape::kKinds.special) != 0) [[unlikely]]
        return execute(wave, op);
      return compare(wave, op, plain_source<kIndex, kSources>(wave, op)...);
    } else {
      const size_t lanes = wave.plain_lanes[Shape::kKinds.special];
      if (lanes == 0) [[unlikely]]
        return execute(wave, op);
      LaneRow* const result = &wave.v[op->vector.dst];
      const LaneContext context{wave.mode, {0}, nullptr};
      const SourceRows sources{{plain_source<kIndex, kSources>(wave, op)...}, {mask<kIndex>(wave, op)...}};
      loop<true, false>(wave, op, wave.exec_lanes, result, sources, context, lanes, kAllArgs);
      return go_on(wave, op);
    }
  }

  /// Signs, halves and CLAMP are left to do as well.
  static const Op* execute_modified(Wave& wave, const Op* op) { return execute_modified(wave, op, kAllSources); }
  template <size_t... kIndex>
  [[gnu::always_inline]] static const Op* execute_modified(Wave& wave, const Op* op, std::index_sequence<kIndex...>) {
    static_assert(!kAnyIs<LaneVcc, Args...>);
    const size_t lanes = wave.plain_lanes[Shape::kKinds.special];
    if (lanes == 0) [[unlikely]]
      return execute(wave, op);
    const Modifiers& modifiers = *op->vector.modifiers;
    LaneRow* const result = &wave.v[op->vector.dst];
    const LaneContext context{wave.mode, {modifiers.op_sel}, nullptr};
    SourceRows sources{{plain_source<kIndex, Sources::Scalars>(wave, op)...}, {mask<kIndex>(wave, op)...}};
    change(modifiers, sources, kAllArgs);
    loop<true, true>(wave, op, wave.exec_lanes, result, sources, context, lanes, kAllArgs);
    if constexpr (Shape::kKinds.result == LaneType::F32) {
      if (modifiers.clamp) clamp(*result, lanes, wave.mode.dx10_clamp());
    }
    return go_on(wave, op);
  }

  /// A source of a plain operation that is a mask of lanes.
  template <size_t kIndex>
  [[gnu::always_inline]] static u64 mask(const Wave& wave, const Op* op) {
    return is_mask(kIndex) ? wave.pair(op->vector.src[kIndex]) : 0;
  }

  /// The rows of a source that is none.
  template <size_t kIndex, Sources kSources>
  [[gnu::always_inline]] static const LaneRow* plain_source(Wave& wave, const Op* op) {
    const uintptr_t rows = op->vector.rows[kIndex];
    if constexpr (is_mask(kIndex)) {
      return nullptr;
    } else if constexpr (kSources == Sources::Rows) {
      return reinterpret_cast<const LaneRow*>(reinterpret_cast<uintptr_t>(wave.v) + rows);
    } else if (kSources == Sources::Constants || (rows & kSourceScalar) == 0) {
      return rows_at(wave, rows);
    } else {
      for (u32 row = 0; row < dwords(Shape::kKinds.sources[kIndex]); ++row)
        fill(wave.temp[kIndex][row], wave.s[op->vector.src[kIndex] + row], wave.lanes);
      return wave.temp[kIndex];
    }
  }

  struct SourceRows {
    const LaneRow* rows[3] = {};
    u64 masks[3] = {};  ///< of plain operations; others have masks in rows
    SourceChange changes[3] = {};
  };

  template <class T, int kSource>
  [[gnu::always_inline]] static void change(const Modifiers& modifiers, SourceRows& sources) {
    constexpr u32 kSign = (kIs16<T> || kIsPair16<T>) && !kComesByRows<T> ? 0x8000u : 0x80000000u;
    if constexpr (!kIsContext<T>) sources.changes[kSource] = change_of(modifiers, kSource, kLaneType<T>, kSign);
  }
  template <size_t... kIndex>
  [[gnu::always_inline]] static void change(const Modifiers& modifiers, SourceRows& sources,
                                            std::index_sequence<kIndex...>) {
    (change<Args, Shape::source(kIndex)>(modifiers, sources), ...);
  }

  template <class... EachRows>
  [[gnu::noinline, gnu::flatten]] static const Op* run(Wave& wave, const Op* op, const LaneRow& exec, LaneRow* result,
                                                       EachRows... rows) {
    SourceRows sources{{rows...}};
    const Modifiers* modifiers = op->vector.modifiers;
    if constexpr (kAnyIs<MixedFloat, Args...>) change(*modifiers, sources, kAllArgs);
    LaneContext context{wave.mode, {modifiers == nullptr ? u8{0} : modifiers->op_sel}, nullptr};
    if constexpr (kAnyIs<LaneVcc, Args...>) {
      Wave::spread(wave.vcc(), wave.temp_mask);
      context.vcc = &wave.temp_mask;
    }
    loop<false, true>(wave, op, exec, result, sources, context, wave.lanes, kAllArgs);
    if constexpr (sizeof...(EachRows) == 3) return next(op);  // its callers cannot jump here with so many arguments
    return go_on(wave, op);
  }

  /// A comparison of plain operands.
  template <class... EachRows>
  [[gnu::noinline, gnu::flatten]] static const Op* compare(Wave& wave, const Op* op, EachRows... rows) {
    const LaneContext context{wave.mode, {0}, nullptr};
    const SourceRows sources{{rows...}};
    loop<true, false>(wave, op, wave.exec_lanes, nullptr, sources, context, wave.lanes, kAllArgs);
    return go_on(wave, op);
  }

  template <class T, int kSource>
  static void unpack(const SourceRows& sources, size_t first, FloatRows* floats) {
    if constexpr (kComesByRows<T>)
      unpack_floats<T>(sources.rows[kSource], first, floats[kSource], sources.changes[kSource]);
  }

  /// Of lane `first` + `k`, of an operation that is plain or not.
  template <bool kIsPlain, class T, int kSource>
  static T argument(const SourceRows& sources, const FloatRows* floats, const LaneContext& context, size_t first,
                    size_t k) {
    if constexpr (kIsContext<T>) {
      return load_context<T>(context, first + k);
    } else if constexpr (std::is_same_v<T, bool> && kIsPlain) {
      return (static_cast<u32>(sources.masks[kSource] >> first) & Wave::kBits[k]) != 0;
    } else if constexpr (!kComesByRows<T>) {
      return load_lane<T>(sources.rows[kSource], first + k, sources.changes[kSource]);
    } else {
      const SourceChange& change = sources.changes[kSource];
      if constexpr (std::is_same_v<T, f64>) {
        const u64 kept = u64{change.kept} << 32 | ~u32{0};
        const u64 bits = (__builtin_bit_cast(u64, floats[kSource].wide[k]) & kept) ^ u64 { change.toggled } << 32;
        return __builtin_bit_cast(f64, bits);
      } else {
        const u32 low = with_sign<T>(__builtin_bit_cast(u32, floats[kSource].low[k]), change);
        if constexpr (kIsPair16<T>) {
          const u32 high = __builtin_bit_cast(u32, floats[kSource].high[k]) ^ change.toggled_second;
          return {{__builtin_bit_cast(f32, low)}, {__builtin_bit_cast(f32, high)}};
        } else {
          return {__builtin_bit_cast(f32, low)};
        }
      }
    }
  }

  /// A result of lane `first` + `k`: to the rows, or, where it goes there by rows, to `floats`.
  static void put(const Value& value, LaneRow* rows, FloatRows& floats, size_t first, size_t k, u32 mask, u32 shift,
                  bool saturates) {
    if constexpr (std::is_same_v<Value, f64>) {
      floats.wide[k] = value;
    } else if constexpr (std::is_same_v<Value, Half>) {
      floats.low[k] = value.value;
    } else if constexpr (std::is_same_v<Value, Pair16<Half>>) {
      floats.low[k] = value.low.value;
      floats.high[k] = value.high.value;
    } else {
      store_lane(rows, first + k, value, mask, shift, saturates);
    }
  }

  /// `kAll`: all lanes are enabled, and `exec` does not count. `kMayKeepHalf`: of a result of 16 bits.
  template <bool kAll, bool kMayKeepHalf, size_t... kIndex>
  [[gnu::always_inline]] static void loop(Wave& wave, const Op* op, const LaneRow& exec, LaneRow* result,
                                          const SourceRows& sources, const LaneContext& context, size_t lanes,
                                          std::index_sequence<kIndex...>) {
    // In halves, of which waves of 32 lanes have one. Unrolled, they cost waves of 64 lanes no more than a loop over
    // all. Written out twice, since GCC makes no vectors of some bodies that it finds in a lambda.
    if constexpr (kIsComparison || kHasCarry) {
      u64 mask = 0;
#pragma GCC unroll 2
      for (size_t half = 0; half < kLanes; half += kHalfLanes) {
        if (half == lanes) break;
        FloatRows floats[3], results;
        (unpack<Args, Shape::source(kIndex)>(sources, half, floats), ...);
        alignas(64) u32 bits[kHalfLanes];
        WAVE_LANES
        for (size_t k = 0; k < kHalfLanes; ++k) {
          const Result value = kBody(argument<kAll, Args, Shape::source(kIndex)>(sources, floats, context, half, k)...);
          if constexpr (kHasCarry) {
            put(value.value, result, results, half, k, kAll ? ~0u : exec.lane[half + k], 0, false);
            bits[k] = 0u - value.carry;
          } else {
            bits[k] = 0u - u32{value};
          }
        }
        if constexpr (kHasCarry && kGoesByRows<Value>)
          pack_floats<Value, kAll>(results, result, half, exec, ~0u, 0, false);
        mask |= u64{pack_half(bits)} << half;
      }
      wave.set_mask(op->vector.scalar_dst, op->vector.mask_high, mask & enabled_bits(wave, exec));
    } else {
      const bool saturates = wave.mode.fp16_ovfl();
      u32 written = ~0u, shift = 0;
      if constexpr (kMayKeepHalf && kIs16<Value>) {
        const Modifiers* const modifiers = op->vector.modifiers;
        if (modifiers != nullptr && (modifiers->asks & kKeepsHalf) != 0 && result == &wave.v[op->vector.dst]) {
          shift = modifiers->destination.shift;
          written = 0xffffu << shift;
        }
      }
#pragma GCC unroll 2
      for (size_t half = 0; half < kLanes; half += kHalfLanes) {
        if (half == lanes) break;
        FloatRows floats[3], results;
        (unpack<Args, Shape::source(kIndex)>(sources, half, floats), ...);
        WAVE_LANES
        for (size_t k = 0; k < kHalfLanes; ++k) {
          const Result value = kBody(argument<kAll, Args, Shape::source(kIndex)>(sources, floats, context, half, k)...);
          const u32 mask = (kAll ? ~0u : exec.lane[half + k]) & written;
          if constexpr (kIsApproximation<Result>) {
            put(value.value, result, results, half, k, mask, shift, saturates);
          } else {
            put(value, result, results, half, k, mask, shift, saturates);
          }
        }
        if constexpr (kGoesByRows<Value>)
          pack_floats<Value, kAll>(results, result, half, exec, written, shift, saturates);
      }
    }
  }

  static constexpr bool kHasCarry = kIsCarry<Result>, kIsComparison = std::is_same_v<Result, bool>;
  static constexpr bool kIsOfFloats =
      kAnyIs<Result, f32, Float32x2> && ((std::is_same_v<Args, Result> || kIsContext<Args>) && ...);
  static constexpr std::make_index_sequence<Shape::kArgs> kAllArgs{};
  static constexpr std::make_index_sequence<Shape::kCount> kAllSources{};
};

/// The routine of a vector ALU instruction.
template <auto kBody>
constexpr Execute vector = Vector<kBody>::execute;
template <auto kBody>
constexpr Forms light = Vector<kBody>::template forms<true>();
template <auto kBody>
constexpr Forms modifiable = Vector<kBody>::template forms<false>();

}  // namespace wave::emulator::WAVE_SIMD
