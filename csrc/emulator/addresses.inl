// The addresses of a wave's lanes. Included once for each SIMD level (each_simd_level.h), inside no namespace.

namespace wave::emulator::WAVE_SIMD {

/// Lanes whose dwords are copied at once where they lie side by side: those of a row of a tile, often.
inline constexpr u32 kGroup = 16, kGroups = kLanes / kGroup;

/// Calls `each` with the first lane of each group of the first `lanes` lanes, of which there are 0, 32 or 64: so that
/// compilers know the numbers of lanes.
template <class Each>
[[gnu::always_inline]] inline void each_group(u32 lanes, Each each) {
#pragma GCC unroll 4
  for (u32 first = 0; first < kLanes; first += kGroup) {
    if (first == lanes) break;
    each(first);
  }
}

/// How many lanes a mask enables where those are all of a wave, of 64 or of 32 lanes; else 0.
inline u32 count_of_first(u64 mask) {
  constexpr u64 kHalf = ~u64{0} >> kHalfLanes;
  return mask == ~u64{0} ? kLanes : mask == kHalf ? kHalfLanes : 0;
}

/// Where the lanes of a wave access memory.
template <class Address>
struct Addresses {
  alignas(64) Address lane[kLanes];
  const LaneRow* enabled;  ///< ~0 for the lanes that access it, 0 for the others
  u32 first;               ///< count_of_first() of them
  Address low;             ///< the lowest address of an enabled lane, or where memory begins at 0 less
  Address high;            ///< ... and the highest: of an access's first byte

  /// LDS begins at 0, so that all that matters of it is where accesses end.
  static constexpr bool kFromZero = sizeof(Address) == sizeof(u32);

  /// A lane's mask in as many bits as addresses have.
  static Address mask(u32 enabled) { return static_cast<Address>(sign_extend(enabled)); }

  /// Sets the range of the addresses. False where no lane is enabled.
  bool find_range(const Wave& wave) { return find_range(wave.exec_lanes, count_of_first(wave.exec())); }
  /// The same for other lanes than those of EXEC. `first_lanes` may be 0 for all.
  bool find_range(const LaneRow& enabled_lanes, u32 first_lanes) {
    enabled = &enabled_lanes;
    first = first_lanes;
    if (first == kLanes) {
      find_range_of_first<kLanes>();
      return true;
    }
    if (first == kHalfLanes) {
      find_range_of_first<kHalfLanes>();
      return true;
    }
    Address lowest = ~Address{0}, highest = 0;
    for (int i = 0; i < kLanes; ++i) {
      const Address enable = mask(enabled_lanes.lane[i]);
      lowest = std::min(lowest, lane[i] | ~enable);
      highest = std::max(highest, lane[i] & enable);
    }
    low = lowest;
    high = highest;
    return low <= high;
  }

  /// Whether the addresses of all enabled lanes are multiples of a power of two.
  bool are_multiples_of(u32 size) const {
    Address bits = 0;
    for (int i = 0; i < kLanes; ++i) bits |= lane[i] & mask(enabled->lane[i]);
    return (bits & (size - 1)) == 0;
  }

  /// The same, `offset` behind.
  Addresses moved(Address offset) const {
    Addresses result;
    for (int i = 0; i < kLanes; ++i) result.lane[i] = lane[i] + offset;
    result.enabled = enabled;
    result.first = first;
    result.low = low + offset;
    result.high = high + offset;
    if (result.low > result.high) result.find_range(*enabled, first);  // some have wrapped around
    return result;
  }

 private:
  template <u32 kCount>
  void find_range_of_first() {
    Address lowest = ~Address{0}, highest = 0;
    for (u32 i = 0; i < kCount; ++i) highest = std::max(highest, lane[i]);
    if constexpr (kFromZero) {
      lowest = 0;
    } else {
      for (u32 i = 0; i < kCount; ++i) lowest = std::min(lowest, lane[i]);
    }
    low = lowest;
    high = highest;
  }
};

/// For who is told of all lanes at once. `data`, if any, has so many bytes for each of them.
template <class Address>
[[gnu::noinline]] LaneAccesses lane_accesses(const Addresses<Address>& addresses, u32 size, const u8* data = nullptr) {
  LaneAccesses all{.begins = {}, .lanes = 0, .size = size, .data = data};
  for (u32 i = 0; i < kLanes; ++i) all.begins[i] = addresses.lane[i];
  if (addresses.first != 0) {
    all.lanes = ~u64{0} >> (kLanes - addresses.first);
  } else {
    for (u32 i = 0; i < kLanes; ++i) all.lanes |= u64{addresses.enabled->lane[i] != 0} << i;
  }
  return all;
}

/// What addresses are made of: a base and, for each lane, the dword or two that a register or two have.
struct AddressParts {
  u64 base;
  const LaneRow* low;
  const LaneRow* high;  ///< nullptr where there is none

  u64 of(u32 lane) const {
    return base + (high == nullptr ? low->lane[lane] : u64{high->lane[lane]} << 32 | low->lane[lane]);
  }
};

// Written out for vectors: compilers transpose the loop.
typedef u32 GroupDwords __attribute__((vector_size(kGroup * sizeof(u32))));

inline bool is_zero(GroupDwords dwords) {
#if defined(WAVE_SIMD_AVX512)
  const __m512i bits = __builtin_bit_cast(__m512i, dwords);
  return _mm512_test_epi32_mask(bits, bits) == 0;
#else
  u64 parts[sizeof(dwords) / sizeof(u64)], any = 0;
  std::memcpy(parts, &dwords, sizeof(dwords));
  for (const u64 part : parts) any |= part;
  return any == 0;
#endif
}

/// Whether of each sixteen of the first `lanes` lanes every lane accesses what lies kStep bytes behind that of the lane
/// before it: how work-items of a row of a tile, or of a whole wave, do. A step of 0: they access the same.
template <u32 kStep>
inline bool are_in_steps(const AddressParts& parts, u32 lanes) {
  constexpr u32 kReach = kStep * (kGroup - 1);
  const u32* const low = parts.low->lane;
  if (low[kGroup - 1] - low[0] != kReach) return false;  // most that are not differ here
  GroupDwords steps, differences{};
  for (u32 i = 0; i < kGroup; ++i) steps[i] = kStep * i;
  bool wraps = false;
  each_group(lanes, [&](u32 i) {
    GroupDwords dwords;
    std::memcpy(&dwords, low + i, sizeof(dwords));
    differences |= dwords - steps - low[i];
    wraps |= low[i] > ~kReach;
    if (parts.high != nullptr) {
      std::memcpy(&dwords, &parts.high->lane[i], sizeof(dwords));
      differences |= dwords ^ parts.high->lane[i];
    }
  });
  return !wraps && is_zero(differences);
}

}  // namespace wave::emulator::WAVE_SIMD
