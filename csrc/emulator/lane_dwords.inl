// Some dwords of each of several lanes, between memory, which has a lane's side by side, and rows, which have lanes
// side by side. Included once for each SIMD level (each_simd_level.h), inside no namespace.

namespace wave::emulator::WAVE_SIMD {

// GCC takes its own intrinsics' undefined vectors for ours.
#if !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

// Quad: four dwords. WideDwords: the host's widest vector, of kQuads of them; the functions do to each quad the same.
#if defined(WAVE_SIMD_AVX512)
using Quad = __m128i;
using WideDwords = __m512i;
inline WideDwords unpack_low32(WideDwords a, WideDwords b) { return _mm512_unpacklo_epi32(a, b); }
inline WideDwords unpack_high32(WideDwords a, WideDwords b) { return _mm512_unpackhi_epi32(a, b); }
inline WideDwords unpack_low64(WideDwords a, WideDwords b) { return _mm512_unpacklo_epi64(a, b); }
inline WideDwords unpack_high64(WideDwords a, WideDwords b) { return _mm512_unpackhi_epi64(a, b); }
inline WideDwords even32(WideDwords a, WideDwords b) {
  return _mm512_castps_si512(_mm512_shuffle_ps(_mm512_castsi512_ps(a), _mm512_castsi512_ps(b), 0x88));
}
inline WideDwords odd32(WideDwords a, WideDwords b) {
  return _mm512_castps_si512(_mm512_shuffle_ps(_mm512_castsi512_ps(a), _mm512_castsi512_ps(b), 0xdd));
}
inline WideDwords join(const Quad* quads) {
  const __m256i low = _mm256_inserti128_si256(_mm256_castsi128_si256(quads[0]), quads[1], 1);
  const __m256i high = _mm256_inserti128_si256(_mm256_castsi128_si256(quads[2]), quads[3], 1);
  return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}
inline void take_apart(WideDwords wide, Quad* quads) {
  quads[0] = _mm512_castsi512_si128(wide);
  quads[1] = _mm512_extracti32x4_epi32(wide, 1);
  quads[2] = _mm512_extracti32x4_epi32(wide, 2);
  quads[3] = _mm512_extracti32x4_epi32(wide, 3);
}
#elif defined(WAVE_SIMD_AVX2)
using Quad = __m128i;
using WideDwords = __m256i;
inline WideDwords unpack_low32(WideDwords a, WideDwords b) { return _mm256_unpacklo_epi32(a, b); }
inline WideDwords unpack_high32(WideDwords a, WideDwords b) { return _mm256_unpackhi_epi32(a, b); }
inline WideDwords unpack_low64(WideDwords a, WideDwords b) { return _mm256_unpacklo_epi64(a, b); }
inline WideDwords unpack_high64(WideDwords a, WideDwords b) { return _mm256_unpackhi_epi64(a, b); }
inline WideDwords even32(WideDwords a, WideDwords b) {
  return _mm256_castps_si256(_mm256_shuffle_ps(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b), 0x88));
}
inline WideDwords odd32(WideDwords a, WideDwords b) {
  return _mm256_castps_si256(_mm256_shuffle_ps(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b), 0xdd));
}
inline WideDwords join(const Quad* quads) {
  return _mm256_inserti128_si256(_mm256_castsi128_si256(quads[0]), quads[1], 1);
}
inline void take_apart(WideDwords wide, Quad* quads) {
  quads[0] = _mm256_castsi256_si128(wide);
  quads[1] = _mm256_extracti128_si256(wide, 1);
}
#else
typedef u32 Quad __attribute__((vector_size(16)));
using WideDwords = Quad;
inline WideDwords unpack_low32(WideDwords a, WideDwords b) { return WideDwords{a[0], b[0], a[1], b[1]}; }
inline WideDwords unpack_high32(WideDwords a, WideDwords b) { return WideDwords{a[2], b[2], a[3], b[3]}; }
inline WideDwords unpack_low64(WideDwords a, WideDwords b) { return WideDwords{a[0], a[1], b[0], b[1]}; }
inline WideDwords unpack_high64(WideDwords a, WideDwords b) { return WideDwords{a[2], a[3], b[2], b[3]}; }
inline WideDwords even32(WideDwords a, WideDwords b) { return WideDwords{a[0], a[2], b[0], b[2]}; }
inline WideDwords odd32(WideDwords a, WideDwords b) { return WideDwords{a[1], a[3], b[1], b[3]}; }
inline WideDwords join(const Quad* quads) { return quads[0]; }
inline void take_apart(WideDwords wide, Quad* quads) { quads[0] = wide; }
#endif

inline constexpr size_t kQuads = sizeof(WideDwords) / sizeof(Quad);

/// kCount dwords of each of kAtOnce lanes.
template <size_t kCount>
class LaneDwords {
  static_assert(kCount >= 2 && kCount <= 4);

 public:
  static constexpr size_t kAtOnce = 4 * kQuads;

  /// Reads those of lane i at from(i).
  template <class From>
  void read(From from) {
    for (size_t k = 0; k < kParts; ++k) {
      Quad quads[kQuads];
      for (size_t q = 0; q < kQuads; ++q) {
        u32 dwords[4] = {};
        if constexpr (kCount == 2) {
          std::memcpy(dwords, from(4 * q + 2 * k), 2 * sizeof(u32));
          std::memcpy(dwords + 2, from(4 * q + 2 * k + 1), 2 * sizeof(u32));
        } else {
          std::memcpy(dwords, from(4 * q + k), kCount * sizeof(u32));
        }
        quads[q] = __builtin_bit_cast(Quad, dwords);
      }
      part_[k] = join(quads);
    }
    if constexpr (kCount == 2) {
      const WideDwords low = even32(part_[0], part_[1]), high = odd32(part_[0], part_[1]);
      part_[0] = low;
      part_[1] = high;
    } else {
      transpose();
    }
  }

  /// Writes those of lane i to to(i), of lane 0 first: where lanes write to the same place, the last one's stays.
  template <class To>
  void write(To to) {
    if constexpr (kCount == 2) {
      const WideDwords low = unpack_low32(part_[0], part_[1]), high = unpack_high32(part_[0], part_[1]);
      part_[0] = low;
      part_[1] = high;
    } else {
      transpose();
    }
    Quad quads[kParts][kQuads];
    for (size_t k = 0; k < kParts; ++k) take_apart(part_[k], quads[k]);
    for (size_t i = 0; i < kAtOnce; ++i) {
      constexpr size_t kLanesOfQuad = 4 / kParts;
      u32 dwords[4];
      std::memcpy(dwords, &quads[i % 4 / kLanesOfQuad][i / 4], sizeof(dwords));
      std::memcpy(to(i), dwords + 2 * (i % kLanesOfQuad), kCount * sizeof(u32));
    }
  }

  void read_rows(const LaneRow* rows, size_t first) {
    for (size_t k = 0; k < kParts; ++k) {
      if (k < kCount) {
        std::memcpy(&part_[k], &rows[k].lane[first], sizeof(WideDwords));
      } else {
        part_[k] = WideDwords{};
      }
    }
  }
  void write_rows(LaneRow* rows, size_t first) const {
    for (size_t k = 0; k < kCount; ++k) std::memcpy(&rows[k].lane[first], &part_[k], sizeof(WideDwords));
  }

 private:
  static constexpr size_t kParts = kCount == 2 ? 2 : 4;

  /// Within each quad, both ways.
  void transpose() {
    const WideDwords low01 = unpack_low32(part_[0], part_[1]), low23 = unpack_low32(part_[2], part_[3]);
    const WideDwords high01 = unpack_high32(part_[0], part_[1]), high23 = unpack_high32(part_[2], part_[3]);
    part_[0] = unpack_low64(low01, low23);
    part_[1] = unpack_high64(low01, low23);
    part_[2] = unpack_low64(high01, high23);
    part_[3] = unpack_high64(high01, high23);
  }

  WideDwords part_[kParts];  ///< a row of kAtOnce lanes each, or in each quad the dwords of a lane or of two
};

#if !defined(__clang__)
#pragma GCC diagnostic pop
#endif

}  // namespace wave::emulator::WAVE_SIMD
