// What the lanes of a wave exchange. The masks of the *_sync forms are those of CUDA; here they change nothing.
#pragma once

#ifdef __AMDGCN_WAVEFRONT_SIZE__
static constexpr int warpSize = __AMDGCN_WAVEFRONT_SIZE__;
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
__device__ __forceinline__ unsigned long long __activemask() { return __ballot(1); }
__device__ __forceinline__ int __any(int predicate) { return __ballot(predicate) != 0; }
__device__ __forceinline__ int __all(int predicate) { return __ballot(!predicate) == 0; }
__device__ __forceinline__ unsigned long long __ballot_sync(unsigned long long, int predicate) {
  return __ballot(predicate);
}
__device__ __forceinline__ int __any_sync(unsigned long long, int predicate) { return __any(predicate); }
__device__ __forceinline__ int __all_sync(unsigned long long, int predicate) { return __all(predicate); }

namespace wave_device {

/// A value of another lane, in whole dwords.
template <class T>
__device__ __forceinline__ T from_lane(const T& value, int lane) {
  constexpr int kDwords = (sizeof(T) + 3) / 4;
  int dwords[kDwords] = {};
  __builtin_memcpy(dwords, &value, sizeof(T));
  for (int i = 0; i < kDwords; ++i) dwords[i] = __builtin_amdgcn_ds_bpermute(lane << 2, dwords[i]);
  T result;
  __builtin_memcpy(&result, dwords, sizeof(T));
  return result;
}

}  // namespace wave_device

// A lane beyond its own group of `width` lanes gives the lane's own value.
template <class T>
__device__ __forceinline__ T __shfl(T value, int lane, int width = warpSize) {
  const int self = static_cast<int>(__lane_id());
  return wave_device::from_lane(value, (self & ~(width - 1)) | (lane & (width - 1)));
}
template <class T>
__device__ __forceinline__ T __shfl_up(T value, unsigned delta, int width = warpSize) {
  const int self = static_cast<int>(__lane_id()), lane = self - static_cast<int>(delta);
  return wave_device::from_lane(value, lane < (self & ~(width - 1)) ? self : lane);
}
template <class T>
__device__ __forceinline__ T __shfl_down(T value, unsigned delta, int width = warpSize) {
  const int self = static_cast<int>(__lane_id()), lane = self + static_cast<int>(delta);
  return wave_device::from_lane(value, lane > (self | (width - 1)) ? self : lane);
}
template <class T>
__device__ __forceinline__ T __shfl_xor(T value, int mask, int width = warpSize) {
  const int self = static_cast<int>(__lane_id()), lane = self ^ mask;
  return wave_device::from_lane(value, lane > (self | (width - 1)) ? self : lane);
}

template <class T>
__device__ __forceinline__ T __shfl_sync(unsigned long long, T value, int lane, int width = warpSize) {
  return __shfl(value, lane, width);
}
template <class T>
__device__ __forceinline__ T __shfl_up_sync(unsigned long long, T value, unsigned delta, int width = warpSize) {
  return __shfl_up(value, delta, width);
}
template <class T>
__device__ __forceinline__ T __shfl_down_sync(unsigned long long, T value, unsigned delta, int width = warpSize) {
  return __shfl_down(value, delta, width);
}
template <class T>
__device__ __forceinline__ T __shfl_xor_sync(unsigned long long, T value, int mask, int width = warpSize) {
  return __shfl_xor(value, mask, width);
}
