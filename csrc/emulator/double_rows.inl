// The f64 of rows of lanes, whose lower dwords lie in one row and whose upper ones in the next. Compilers would widen
// and shift each. Included once for each SIMD level (each_simd_level.h), inside no namespace.

namespace wave::emulator::WAVE_SIMD {

// GCC takes its own intrinsics' undefined vectors for ours.
#if !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif

template <int kCount>
inline void join_dwords(const u32* low, const u32* high, f64* to) {
#if defined(WAVE_SIMD_AVX512)
  const __m512i first = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
  const __m512i second = _mm512_add_epi32(first, _mm512_set1_epi32(8));
  for (int i = 0; i < kCount; i += 16) {
    const __m512i lower = _mm512_load_si512(low + i), upper = _mm512_load_si512(high + i);
    _mm512_store_pd(to + i, _mm512_castsi512_pd(_mm512_permutex2var_epi32(lower, first, upper)));
    _mm512_store_pd(to + i + 8, _mm512_castsi512_pd(_mm512_permutex2var_epi32(lower, second, upper)));
  }
#elif defined(WAVE_SIMD_AVX2)
  for (int i = 0; i < kCount; i += 8) {
    const __m256i lower = _mm256_load_si256(reinterpret_cast<const __m256i*>(low + i));
    const __m256i upper = _mm256_load_si256(reinterpret_cast<const __m256i*>(high + i));
    const __m256i even = _mm256_unpacklo_epi32(lower, upper), odd = _mm256_unpackhi_epi32(lower, upper);
    _mm256_store_pd(to + i, _mm256_castsi256_pd(_mm256_permute2x128_si256(even, odd, 0x20)));
    _mm256_store_pd(to + i + 4, _mm256_castsi256_pd(_mm256_permute2x128_si256(even, odd, 0x31)));
  }
#else
  WAVE_LANES
  for (int i = 0; i < kCount; ++i) to[i] = __builtin_bit_cast(f64, u64{high[i]} << 32 | low[i]);
#endif
}

/// And back, for lanes whose `exec` is ~0; kAll: for all.
template <int kCount, bool kAll>
inline void split_dwords(const f64* from, u32* low, u32* high, const u32* exec) {
#if defined(WAVE_SIMD_AVX512)
  const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
  const __m512i odd = _mm512_add_epi32(even, _mm512_set1_epi32(1));
  const auto store = [&](u32* row, int i, __m512i value) {  // whole, or hosts could not forward it to who loads it next
    const __mmask16 enabled = kAll ? static_cast<__mmask16>(0xffff) : _mm512_movepi32_mask(_mm512_load_si512(exec + i));
    _mm512_store_si512(row + i, kAll ? value : _mm512_mask_mov_epi32(_mm512_load_si512(row + i), enabled, value));
  };
  for (int i = 0; i < kCount; i += 16) {
    const __m512i first = _mm512_castpd_si512(_mm512_load_pd(from + i));
    const __m512i second = _mm512_castpd_si512(_mm512_load_pd(from + i + 8));
    store(low, i, _mm512_permutex2var_epi32(first, even, second));
    store(high, i, _mm512_permutex2var_epi32(first, odd, second));
  }
#elif defined(WAVE_SIMD_AVX2)
  const auto store = [&](u32* row, int i, __m256 dwords) {
    const __m256i value = _mm256_permute4x64_epi64(_mm256_castps_si256(dwords), 0xd8);
    __m256i* const to = reinterpret_cast<__m256i*>(row + i);
    if constexpr (kAll) {
      _mm256_store_si256(to, value);
    } else {
      const __m256i enabled = _mm256_load_si256(reinterpret_cast<const __m256i*>(exec + i));
      _mm256_store_si256(to, _mm256_blendv_epi8(_mm256_load_si256(to), value, enabled));
    }
  };
  for (int i = 0; i < kCount; i += 8) {
    const __m256 first = _mm256_castpd_ps(_mm256_load_pd(from + i));
    const __m256 second = _mm256_castpd_ps(_mm256_load_pd(from + i + 4));
    store(low, i, _mm256_shuffle_ps(first, second, 0x88));
    store(high, i, _mm256_shuffle_ps(first, second, 0xdd));
  }
#else
  WAVE_LANES
  for (int i = 0; i < kCount; ++i) {
    const u64 bits = __builtin_bit_cast(u64, from[i]);
    const u32 mask = kAll ? ~0u : exec[i];
    low[i] = (static_cast<u32>(bits) & mask) | (low[i] & ~mask);
    high[i] = (static_cast<u32>(bits >> 32) & mask) | (high[i] & ~mask);
  }
#endif
}

#if !defined(__clang__)
#pragma GCC diagnostic pop
#endif

}  // namespace wave::emulator::WAVE_SIMD
