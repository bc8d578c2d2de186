// Runs vector ALU bodies over the lanes of a wave. Included once for each SIMD level (each_simd_level.h), inside no
// namespace.
//
// A body is a plain function over one lane, whose parameter and result types say how operands are read and written:
//
//   f32 v_fma_f32(f32 a, f32 b, f32 c) { return fma(a, b, c); }     a register row each
//   u64 v_lshlrev_b64(u32 shift, u64 value);                        64 bits: two consecutive rows
//   bool v_cmp_lt_f32(f32 a, f32 b);                                a bit for each lane, to VCC or a scalar register
//   pair u32 v_cndmask_b32(Float32Bits a, Float32Bits b, bool choose);   a bool parameter is a lane's bit of a scalar
//   pair Carry<u32> v_addc_co_u32(u32 a, u32 b, bool carry);             both a value and a bit
//
// `vector<v_fma_f32>` is the routine for the instruction table. The direct path works on the rows of the register file.
// Where an instruction has modifiers, or the wave's mode asks for more than IEEE defaults, prepare() first copies the
// operands to temporary rows with input modifiers applied, and finish() applies output modifiers to the result.

namespace wave::emulator::WAVE_SIMD {

template <class T>
constexpr OperandKind kOperandKind = OperandKind::B32;
template <>
constexpr OperandKind kOperandKind<u64> = OperandKind::B64;
template <>
constexpr OperandKind kOperandKind<i64> = OperandKind::B64;
template <>
constexpr OperandKind kOperandKind<f32> = OperandKind::F32;
template <>
constexpr OperandKind kOperandKind<f64> = OperandKind::F64;
template <>
constexpr OperandKind kOperandKind<Float32x2> = OperandKind::F32x2;
template <>
constexpr OperandKind kOperandKind<Float32Bits> = OperandKind::F32Bits;
template <>
constexpr OperandKind kOperandKind<bool> = OperandKind::Mask;

template <class T>
inline T load_lane(const Row* rows, int lane) {
  if constexpr (std::is_same_v<T, bool>) {
    return rows[0].lane[lane] != 0;
  } else if constexpr (sizeof(T) == 8) {
    return __builtin_bit_cast(T, u64{rows[1].lane[lane]} << 32 | rows[0].lane[lane]);
  } else {
    return __builtin_bit_cast(T, rows[0].lane[lane]);
  }
}

/// Stores where `mask` is ~0 and keeps what was there where it is 0.
inline void blend_lane(Row& row, int lane, u32 value, u32 mask) {
  row.lane[lane] = (value & mask) | (row.lane[lane] & ~mask);
}

template <class T>
inline void store_lane(Row* rows, int lane, T value, u32 mask) {
  if constexpr (sizeof(T) == 8) {
    const u64 bits = __builtin_bit_cast(u64, value);
    blend_lane(rows[0], lane, static_cast<u32>(bits), mask);
    blend_lane(rows[1], lane, static_cast<u32>(bits >> 32), mask);
  } else {
    blend_lane(rows[0], lane, __builtin_bit_cast(u32, value), mask);
  }
}

/// The lanes of a row (0 or ~0 each) as a mask of bits.
inline u64 pack_mask(const Row& row) {
  u64 mask = 0;
#if defined(WAVE_SIMD_AVX512)
  for (int i = 0; i < kLanes; i += 16) {
    mask |= u64{_mm512_movepi32_mask(_mm512_load_si512(&row.lane[i]))} << i;
  }
#elif defined(WAVE_SIMD_AVX2)
  for (int i = 0; i < kLanes; i += 8) {
    mask |= static_cast<u64>(
                static_cast<u32>(_mm256_movemask_ps(_mm256_load_ps(reinterpret_cast<const f32*>(&row.lane[i])))))
            << i;
  }
#else
  for (int i = 0; i < kLanes; ++i) mask |= u64{row.lane[i] & 1} << i;
#endif
  return mask;
}

/// The rows of source `index` as they are, without modifiers.
inline const Row* direct_source(Wave& wave, const Op* op, int index, OperandKind kind) {
  const uintptr_t rows = op->rows[index];
  if (rows & kSourceScalar) [[unlikely]]
    return broadcast_source(wave, op, index, kind);
  const uintptr_t base = rows & kSourceConstant ? uintptr_t{0} - kSourceConstant : reinterpret_cast<uintptr_t>(wave.v);
  return reinterpret_cast<const Row*>(base + rows);
}

/// Whether any of the types is F.
template <class F, class... T>
constexpr bool kAnyIs = (std::is_same_v<F, T> || ...);

template <class Result, class... Args>
struct VectorShape {
  static constexpr int kCount = sizeof...(Args);
  static constexpr OperandKind kKinds[] = {kOperandKind<Args>..., OperandKind::B32};
  static constexpr u32 kSpecial =
      kSpecialIndex | kSpecialSkip |
      (kAnyIs<f32, Result, Args...> || kAnyIs<Float32x2, Result, Args...> ? kSpecialF32 : 0) |
      (kAnyIs<f64, Result, Args...> ? kSpecialF64 : 0);
};

template <auto kBody, class Signature = decltype(kBody)>
struct Vector;

template <auto kBody, class Result, class... Args>
struct Vector<kBody, Result (*)(Args...)> {
  using Shape = VectorShape<Result, Args...>;

  static const Op* execute(Wave& wave, const Op* op) {
    return execute(wave, op, std::make_index_sequence<sizeof...(Args)>());
  }

 private:
  template <size_t... kIndex>
  static const Op* execute(Wave& wave, const Op* op, std::index_sequence<kIndex...>) {
    if (op->modifiers != nullptr || (wave.special & Shape::kSpecial) != 0) [[unlikely]] {
      Prepared prepared;
      if (!prepare(wave, op, Shape::kKinds, Shape::kCount, kOperandKind<Value>, prepared)) return op + op->size;
      run(wave, op, *prepared.exec, prepared.result, prepared.sources[kIndex]...);
      finish(wave, op, kOperandKind<Value>, prepared);
    } else {
      run(wave, op, wave.exec_lanes, &wave.v[op->dst], direct_source(wave, op, kIndex, Shape::kKinds[kIndex])...);
    }
    return op + op->size;
  }

  template <class... Rows>
  static void run(Wave& wave, const Op* op, const Row& exec, Row* result, Rows... sources) {
    if constexpr (std::is_same_v<Result, bool>) {
      Row bits;
      WAVE_LANES
      for (int i = 0; i < kLanes; ++i) bits.lane[i] = 0u - u32{kBody(load_lane<Args>(sources, i)...)};
      wave.set_mask(op->dst2, pack_mask(bits) & pack_mask(exec));
    } else if constexpr (kHasCarry) {
      Row bits;
      WAVE_LANES
      for (int i = 0; i < kLanes; ++i) {
        const Result value = kBody(load_lane<Args>(sources, i)...);
        store_lane(result, i, value.value, exec.lane[i]);
        bits.lane[i] = 0u - u32{value.carry};
      }
      wave.set_mask(op->dst2, pack_mask(bits) & pack_mask(exec));
    } else {
      WAVE_LANES
      for (int i = 0; i < kLanes; ++i) store_lane(result, i, kBody(load_lane<Args>(sources, i)...), exec.lane[i]);
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
  using Value = typename ValueOf<Result>::type;
  static constexpr bool kHasCarry = !std::is_same_v<Value, Result>;
};

/// The routine of a vector ALU instruction.
template <auto kBody>
constexpr Execute vector = Vector<kBody>::execute;

}  // namespace wave::emulator::WAVE_SIMD
