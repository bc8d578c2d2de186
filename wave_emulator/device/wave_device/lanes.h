// What the lanes of a wave exchange. The masks of the *_sync forms are those of CUDA; here they change nothing.
#pragma once

// Clang said so until version 21 (__AMDGCN_WAVEFRONT_SIZE__). compile() says it for RDNA where -mwavefrontsize64 is
// given.
#if defined(WAVE_DEVICE_WAVE_SIZE)
static constexpr int warpSize = WAVE_DEVICE_WAVE_SIZE;
#elif defined(__GFX10__) || defined(__GFX11__) || defined(__GFX12__)
static constexpr int warpSize = 32;
#else
static constexpr int warpSize = 64;
#endif

__device__ __forceinline__ unsigned __lane_id() {
  const unsigned low = __builtin_amdgcn_mbcnt_lo(~0u, 0u);
  return warpSize == 32 ? low : __builtin_amdgcn_mbcnt_hi(~0u, low);
}

__device__ __forceinline__ unsigned long long __ballot(int predicate) {
  return warpSize == 32 ? __builtin_amdgcn_ballot_w32(predicate != 0) : __builtin_amdgcn_ballot_w64(predicate != 0);
}
__device__ __forceinline__ unsigned long long __ballot64(int predicate) { return __ballot(predicate); }
/// The bits of lanes below this one that are set in half a mask, and `sum`.
__device__ __forceinline__ unsigned __mbcnt_lo(unsigned mask, unsigned sum) {
  return __builtin_amdgcn_mbcnt_lo(mask, sum);
}
__device__ __forceinline__ unsigned __mbcnt_hi(unsigned mask, unsigned sum) {
  return __builtin_amdgcn_mbcnt_hi(mask, sum);
}
__device__ __forceinline__ unsigned long long __activemask() { return __ballot(1); }
__device__ __forceinline__ int __any(int predicate) { return __ballot(predicate) != 0; }
__device__ __forceinline__ int __all(int predicate) { return __ballot(!predicate) == 0; }
__device__ __forceinline__ unsigned long long __ballot_sync(unsigned long long, int predicate) {
  return __ballot(predicate);
}
__device__ __forceinline__ int __any_sync(unsigned long long, int predicate) { return __any(predicate); }
__device__ __forceinline__ int __all_sync(unsigned long long, int predicate) { return __all(predicate); }

namespace wave_device {

// Of GFX10 and GFX11 ds_bpermute stays within 32 lanes.
#if defined(__GFX10__) || defined(__GFX11__)
static constexpr bool kPermutesInHalves = warpSize == 64;
#else
static constexpr bool kPermutesInHalves = false;
#endif

/// The dwords of lanes in the other half of the wave, for the lanes that want such.
template <int kDwords>
__device__ __forceinline__ void take_across_halves(const int (&dwords)[kDwords], int lane, int (&result)[kDwords]) {
  bool waits = ((static_cast<unsigned>(lane) ^ __lane_id()) & 32) != 0;
#if defined(__GFX11__)
  // The swap writes active lanes alone, so each lane that another one wants must be one. The lane is then within this
  // one's half, and is named so: of a lane that is the same for all, clang has v_readlane rather than ds_bpermute.
  if (__ballot(1) == ~0ull) {
    for (int i = 0; i < kDwords; ++i) {
      const int swapped = static_cast<int>(__builtin_amdgcn_permlane64(static_cast<unsigned>(dwords[i])));
      const int word = __builtin_amdgcn_ds_bpermute((lane ^ 32) << 2, swapped);
      if (waits) result[i] = word;
    }
    return;
  }
#endif
  // One turn for each lane that is wanted. All active lanes take part: no word is in a register that is free again.
  for (unsigned long long left = __ballot(waits); left != 0; left = __ballot(waits)) {
    const int source = __builtin_amdgcn_readlane(lane, __builtin_ctzll(left));
    const bool is_mine = waits && lane == source;
    for (int i = 0; i < kDwords; ++i) {
      const int word = __builtin_amdgcn_readlane(dwords[i], source);
      if (is_mine) result[i] = word;
    }
    waits = waits && !is_mine;
  }
}

/// A value of another lane, in whole dwords.
template <class T>
__device__ __forceinline__ T from_lane(const T& value, int lane) {
  constexpr int kDwords = (sizeof(T) + 3) / 4;
  int dwords[kDwords] = {}, taken[kDwords];
  __builtin_memcpy(dwords, &value, sizeof(T));
  for (int i = 0; i < kDwords; ++i) taken[i] = __builtin_amdgcn_ds_bpermute(lane << 2, dwords[i]);
  if constexpr (kPermutesInHalves) take_across_halves(dwords, lane & 63, taken);
  T result;
  __builtin_memcpy(&result, taken, sizeof(T));
  return result;
}

}  // namespace wave_device

// A lane beyond its own group of `width` lanes gives the lane's own value. A value may be one that only the lane has
// set from which others take it: without `maybe_undef` the compiler concludes that all lanes have come to where it is
// set.
template <class T>
__device__ __forceinline__ T __shfl([[clang::maybe_undef]] T value, int lane, int width = warpSize) {
  const int self = static_cast<int>(__lane_id());
  return wave_device::from_lane(value, (self & ~(width - 1)) | (lane & (width - 1)));
}
template <class T>
__device__ __forceinline__ T __shfl_up([[clang::maybe_undef]] T value, unsigned delta, int width = warpSize) {
  const int self = static_cast<int>(__lane_id()), lane = self - static_cast<int>(delta);
  return wave_device::from_lane(value, lane < (self & ~(width - 1)) ? self : lane);
}
template <class T>
__device__ __forceinline__ T __shfl_down([[clang::maybe_undef]] T value, unsigned delta, int width = warpSize) {
  const int self = static_cast<int>(__lane_id()), lane = self + static_cast<int>(delta);
  return wave_device::from_lane(value, lane > (self | (width - 1)) ? self : lane);
}
template <class T>
__device__ __forceinline__ T __shfl_xor([[clang::maybe_undef]] T value, int mask, int width = warpSize) {
  const int self = static_cast<int>(__lane_id()), lane = self ^ mask;
  return wave_device::from_lane(value, lane > (self | (width - 1)) ? self : lane);
}

template <class T>
__device__ __forceinline__ T __shfl_sync(unsigned long long, [[clang::maybe_undef]] T value, int lane,
                                         int width = warpSize) {
  return __shfl(value, lane, width);
}
template <class T>
__device__ __forceinline__ T __shfl_up_sync(unsigned long long, [[clang::maybe_undef]] T value, unsigned delta,
                                            int width = warpSize) {
  return __shfl_up(value, delta, width);
}
template <class T>
__device__ __forceinline__ T __shfl_down_sync(unsigned long long, [[clang::maybe_undef]] T value, unsigned delta,
                                              int width = warpSize) {
  return __shfl_down(value, delta, width);
}
template <class T>
__device__ __forceinline__ T __shfl_xor_sync(unsigned long long, [[clang::maybe_undef]] T value, int mask,
                                             int width = warpSize) {
  return __shfl_xor(value, mask, width);
}

// The lanes of the wave before and after this one, as bits.
__device__ __forceinline__ unsigned long long __lanemask_eq() { return 1ull << __lane_id(); }
__device__ __forceinline__ unsigned long long __lanemask_lt() { return __lanemask_eq() - 1; }
__device__ __forceinline__ unsigned long long __lanemask_le() { return __lanemask_eq() | __lanemask_lt(); }
__device__ __forceinline__ unsigned long long __lanemask_gt() {
  return (warpSize == 32 ? ~0u : ~0ull) & ~__lanemask_le();
}
__device__ __forceinline__ unsigned long long __lanemask_ge() { return __lanemask_eq() | __lanemask_gt(); }

namespace wave_device {

__device__ __forceinline__ unsigned count(unsigned long long lanes) {
  return static_cast<unsigned>(__builtin_popcountll(lanes));
}

/// This lane's place among some lanes.
__device__ __forceinline__ unsigned rank_in(unsigned long long lanes) { return count(lanes & __lanemask_lt()); }

/// The lane that has a place among some lanes.
__device__ __forceinline__ int lane_at(unsigned long long lanes, unsigned rank) {
  int lane = 0;
#pragma unroll
  for (int half = 32; half > 0; half /= 2) {
    const unsigned below = count(lanes >> lane & ((1ull << half) - 1));
    if (rank >= below) {
      rank -= below;
      lane += half;
    }
  }
  return lane;
}

/// The value of all members with places up to this lane's, combined in their order. The members must all be active.
template <class T, class Combine>
__device__ __forceinline__ T scan(unsigned long long members, T value, Combine&& combine) {
  const unsigned rank = rank_in(members), size = count(members);
  for (unsigned distance = 1; distance < size; distance *= 2) {
    const T before = from_lane(value, lane_at(members, rank < distance ? rank : rank - distance));
    if (rank >= distance) value = combine(before, value);
  }
  return value;
}

template <class T, class Combine>
__device__ __forceinline__ T reduce(unsigned long long members, T value, Combine&& combine) {
  return from_lane(scan(members, value, combine), lane_at(members, count(members) - 1));
}

template <class T>
__device__ __forceinline__ bool has_same_bytes(const T& a, const T& b) {
  unsigned char bytes[2][sizeof(T)], differing = 0;
  __builtin_memcpy(bytes[0], &a, sizeof(T));
  __builtin_memcpy(bytes[1], &b, sizeof(T));
  for (unsigned i = 0; i < sizeof(T); ++i) differing |= bytes[0][i] ^ bytes[1][i];
  return differing == 0;
}

/// The members whose value has the same bytes as this lane's.
template <class T>
__device__ __forceinline__ unsigned long long same_in(unsigned long long members, const T& value) {
  unsigned long long result = 0;
  while (true) {  // one turn for each value that there is
    const T first = from_lane(value, lane_at(members, 0));
    const bool is_same = has_same_bytes(first, value);
    const unsigned long long same = __ballot(is_same) & members;
    if (is_same) {
      result = same;
      break;
    }
    members &= ~same;
  }
  return result;
}

}  // namespace wave_device

// Of the lanes that the mask names, those that are active. As in HIP the mask has a bit for each of 64 lanes.
template <class T>
__device__ __forceinline__ unsigned long long __match_any_sync(unsigned long long mask, T value) {
  return wave_device::same_in(mask & __activemask(), value);
}
template <class T>
__device__ __forceinline__ unsigned long long __match_all_sync(unsigned long long mask, T value, int* is_same) {
  const unsigned long long members = mask & __activemask();
  const T first = wave_device::from_lane(value, wave_device::lane_at(members, 0));
  const bool differs = !wave_device::has_same_bytes(first, value);
  *is_same = (__ballot(differs) & members) == 0;
  return *is_same ? members : 0;
}
template <class T>
__device__ __forceinline__ unsigned long long __match_any(T value) {
  return __match_any_sync(~0ull, value);
}
template <class T>
__device__ __forceinline__ unsigned long long __match_all(T value, int* is_same) {
  return __match_all_sync(~0ull, value, is_same);
}

#define WAVE_REDUCE(name, combined)                                                              \
  template <class T>                                                                             \
  __device__ __forceinline__ T __reduce_##name##_sync(unsigned long long mask, T value) {        \
    return wave_device::reduce(mask & __activemask(), value, [](T a, T b) { return combined; }); \
  }

WAVE_REDUCE(add, a + b)
WAVE_REDUCE(min, b < a ? b : a)
WAVE_REDUCE(max, a < b ? b : a)
WAVE_REDUCE(and, a& b)
WAVE_REDUCE(or, a | b)
WAVE_REDUCE(xor, a ^ b)

#undef WAVE_REDUCE

// The instructions themselves. Indices count bytes, four for each lane.
#define WAVE_DS_PERMUTE(name)                                                                                         \
  __device__ __forceinline__ int __hip_##name(int index, int value) { return __builtin_amdgcn_##name(index, value); } \
  __device__ __forceinline__ float __hip_##name##f(int index, float value) {                                          \
    return __builtin_bit_cast(float, __builtin_amdgcn_##name(index, __builtin_bit_cast(int, value)));                 \
  }
WAVE_DS_PERMUTE(ds_permute)
WAVE_DS_PERMUTE(ds_bpermute)
#undef WAVE_DS_PERMUTE
template <int kPattern>
__device__ __forceinline__ int __hip_ds_swizzle_N(int value) {
  return __builtin_amdgcn_ds_swizzle(value, kPattern);
}
template <int kPattern>
__device__ __forceinline__ float __hip_ds_swizzlef_N(float value) {
  return __builtin_bit_cast(float, __hip_ds_swizzle_N<kPattern>(__builtin_bit_cast(int, value)));
}
template <int kControl, int kRows, int kBanks, bool kBound>
__device__ __forceinline__ int __hip_move_dpp_N(int value) {
  return __builtin_amdgcn_mov_dpp(value, kControl, kRows, kBanks, kBound);
}
#define __hip_ds_swizzle(value, pattern) __hip_ds_swizzle_N<(pattern)>(value)
#define __hip_ds_swizzlef(value, pattern) __hip_ds_swizzlef_N<(pattern)>(value)
#define __hip_move_dpp(value, control, rows, banks, bound) __hip_move_dpp_N<(control), (rows), (banks), (bound)>(value)
