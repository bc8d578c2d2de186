// The f16 of rows of lanes as f32, and back, by the host's instructions where it has them. Included once for each SIMD
// level (each_simd_level.h), inside no namespace.

namespace wave::emulator::WAVE_SIMD {

// GCC takes its own intrinsics' undefined vectors for ours.
#if !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif

#if defined(WAVE_SIMD_AVX512)
/// The f16 in the low halves of 16 dwords, as f32.
inline __m512 convert_halves(__m512i dwords) { return _mm512_cvtph_ps(_mm512_cvtepi32_epi16(dwords)); }
#elif defined(WAVE_SIMD_AVX2)
/// Eight f16, each in the low half of a dword, as f32.
inline __m256 convert_halves(__m256i halves) {
  return _mm256_cvtph_ps(_mm_packus_epi32(_mm256_castsi256_si128(halves), _mm256_extracti128_si256(halves, 1)));
}
#endif

/// The f16 in the low halves of dwords, or in the high ones, as f32. A signalling NaN may become quiet.
template <int kCount, bool kHigh = false>
inline void halves_to_f32(const u32* from, f32* to) {
#if defined(WAVE_SIMD_AVX512)
  for (int i = 0; i < kCount; i += 16) {
    const __m512i pairs = _mm512_load_si512(from + i);
    _mm512_store_ps(to + i, convert_halves(kHigh ? _mm512_srli_epi32(pairs, 16) : pairs));
  }
#elif defined(WAVE_SIMD_AVX2)
  for (int i = 0; i < kCount; i += 8) {
    const __m256i pairs = _mm256_load_si256(reinterpret_cast<const __m256i*>(from + i));
    const __m256i low = _mm256_and_si256(pairs, _mm256_set1_epi32(0xffff));
    _mm256_store_ps(to + i, convert_halves(kHigh ? _mm256_srli_epi32(pairs, 16) : low));
  }
#else
  WAVE_LANES
  for (int i = 0; i < kCount; ++i) to[i] = f16_to_f32(kHigh ? from[i] >> 16 : from[i] & 0xffffu);
#endif
}

/// f32 as f16 in the low halves of dwords, as f32_to_f16() makes them.
template <int kCount>
inline void f32_to_halves(const f32* from, u32* to, bool saturates) {
#if defined(WAVE_SIMD_AVX512)
  // Infinities and NaNs stay.
  const auto limited = [&](__m512 value) {
    const __m512 sign = _mm512_set1_ps(-0.0f), largest = _mm512_set1_ps(65504.0f),
                 magnitude = _mm512_andnot_ps(sign, value);
    const __mmask16 is_large = _mm512_cmp_ps_mask(magnitude, largest, _CMP_GT_OQ) &
                               _mm512_cmp_ps_mask(magnitude, _mm512_set1_ps(__builtin_inff()), _CMP_LT_OQ);
    return _mm512_mask_or_ps(value, is_large, largest, _mm512_and_ps(sign, value));
  };
  for (int i = 0; i < kCount; i += 16) {
    const __m512 value = _mm512_load_ps(from + i);
    const __m256i halves =
        _mm512_cvtps_ph(saturates ? limited(value) : value, _MM_FROUND_CUR_DIRECTION | _MM_FROUND_NO_EXC);
    _mm512_store_si512(to + i, _mm512_cvtepu16_epi32(halves));
  }
#elif defined(WAVE_SIMD_AVX2)
  const auto limited = [&](__m256 value) {
    const __m256 sign = _mm256_set1_ps(-0.0f), largest = _mm256_set1_ps(65504.0f),
                 magnitude = _mm256_andnot_ps(sign, value);
    const __m256 is_large = _mm256_and_ps(_mm256_cmp_ps(magnitude, largest, _CMP_GT_OQ),
                                          _mm256_cmp_ps(magnitude, _mm256_set1_ps(__builtin_inff()), _CMP_LT_OQ));
    return _mm256_blendv_ps(value, _mm256_or_ps(largest, _mm256_and_ps(sign, value)), is_large);
  };
  for (int i = 0; i < kCount; i += 8) {
    const __m256 value = _mm256_load_ps(from + i);
    const __m128i halves = _mm256_cvtps_ph(saturates ? limited(value) : value, _MM_FROUND_CUR_DIRECTION);
    _mm256_store_si256(reinterpret_cast<__m256i*>(to + i), _mm256_cvtepu16_epi32(halves));
  }
#else
  WAVE_LANES
  for (int i = 0; i < kCount; ++i) to[i] = f32_to_f16(from[i], saturates);
#endif
}

#if !defined(__clang__)
#pragma GCC diagnostic pop
#endif

}  // namespace wave::emulator::WAVE_SIMD
