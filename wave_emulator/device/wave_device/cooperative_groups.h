// Cooperative groups: the grid, the workgroup, tiles of a wave, and the lanes that are active together. A group is a
// set of work-items that wait for one another and exchange values; groups within a wave are a mask of its lanes.
#pragma once

#include "wave_device/index.h"
#include "wave_device/lanes.h"
#include "wave_device/synchronize.h"

// clang-format off: this one is the last
#include "wave_device/set_macros_aside.h"
// clang-format on

namespace cooperative_groups {

namespace details {

enum class Kind { Grid, Block, Lanes };

/// The record with which the workgroups of a cooperative launch wait, where code object version 5 has its address: byte
/// 88 of the hidden arguments, 0 in other launches (rocm-device-libs, ockl/src/cg.cl, struct mg_info).
struct GridRecord {
  unsigned long grids;
  unsigned grid, grid_count;
  unsigned long work_items_before, work_items;
  unsigned arrived, unused;
  unsigned workgroups;
};
__device__ __forceinline__ GridRecord* grid_record() {
  auto* hidden = (GridRecord* const __attribute__((address_space(4)))*)__builtin_amdgcn_implicitarg_ptr();
  return hidden[11];
}

__device__ __forceinline__ unsigned volume(dim3 extents) { return extents.x * extents.y * extents.z; }
__device__ __forceinline__ unsigned linear(dim3 at, dim3 extents) {
  return (at.z * extents.y + at.y) * extents.x + at.x;
}
__device__ __forceinline__ unsigned block_rank() { return linear(blockIdx, gridDim); }
__device__ __forceinline__ unsigned thread_rank_in_block() { return linear(threadIdx, blockDim); }

// ROCm fills the record for gfx940 and its like and from gfx11 on; older processors have global wave sync.
#if defined(__GFX10__) || (defined(__GFX9__) && !defined(__gfx940__) && !defined(__gfx941__) && \
                           !defined(__gfx942__) && !defined(__gfx950__) && !defined(__gfx9_4_generic__))
#define WAVE_HAS_GRID_RECORD 0
#else
#define WAVE_HAS_GRID_RECORD 1
#endif

/// One work-item of each workgroup, between barriers of its workgroup.
__device__ __forceinline__ void wait_for_other_blocks() {
#if WAVE_HAS_GRID_RECORD == 0
  __builtin_amdgcn_ds_gws_barrier(volume(gridDim) - 1, 0);
#else
  // The highest bit turns over when all have added theirs, and the others are as before.
  constexpr unsigned kTurn = 0x80000000;
  GridRecord* const record = grid_record();
  const unsigned added = block_rank() == 0 ? kTurn - (volume(gridDim) - 1) : 1;
  const unsigned before = __hip_atomic_fetch_add(&record->arrived, added, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  while (((before ^ __hip_atomic_load(&record->arrived, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)) & kTurn) == 0) {
    __builtin_amdgcn_s_sleep(1);
  }
#endif
}
#undef WAVE_HAS_GRID_RECORD

__device__ __forceinline__ void sync_grid() {
  __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent");
  __builtin_amdgcn_s_barrier();
  if (thread_rank_in_block() == 0) wait_for_other_blocks();
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent");
}

/// The lanes of a wave run together, so that only the compiler's order matters.
__device__ __forceinline__ void sync_lanes() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront");
  __builtin_amdgcn_wave_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront");
}

__device__ __forceinline__ unsigned long long lanes_from(unsigned first, unsigned size) {
  return (size >= 64 ? ~0ull : (1ull << size) - 1) << first;
}

}  // namespace details

/// Any group, of a kind that is known when the kernel runs.
class thread_group {
 public:
  __device__ unsigned size() const { return size_; }
  __device__ unsigned num_threads() const { return size_; }
  __device__ unsigned thread_rank() const {
    if (kind_ == details::Kind::Lanes) return wave_device::rank_in(lanes_);
    const unsigned rank = details::thread_rank_in_block();
    return kind_ == details::Kind::Block ? rank : details::block_rank() * details::volume(blockDim) + rank;
  }
  __device__ bool is_valid() const { return kind_ != details::Kind::Grid || details::grid_record() != nullptr; }
  __device__ void sync() const {
    if (kind_ == details::Kind::Lanes) {
      details::sync_lanes();
    } else if (kind_ == details::Kind::Block) {
      __syncthreads();
    } else {
      details::sync_grid();
    }
  }

 protected:
  __device__ thread_group(details::Kind kind, unsigned size, unsigned long long lanes = 0)
      : kind_(kind), size_(size), lanes_(lanes) {}

  details::Kind kind_;
  unsigned size_;
  unsigned long long lanes_;  ///< of the wave, where the group is within one

  friend __device__ thread_group tiled_partition(const thread_group& parent, unsigned size);
};

/// All work-items of a cooperative launch.
class grid_group : public thread_group {
 public:
  __device__ static dim3 group_dim() { return gridDim; }
  __device__ static dim3 dim_blocks() { return gridDim; }
  __device__ static unsigned num_blocks() { return details::volume(gridDim); }
  __device__ static dim3 block_index() { return blockIdx; }
  __device__ static unsigned block_rank() { return details::block_rank(); }

 private:
  __device__ grid_group() : thread_group(details::Kind::Grid, num_blocks() * details::volume(blockDim)) {}
  friend __device__ grid_group this_grid();
};
__device__ __forceinline__ grid_group this_grid() { return grid_group(); }

/// A workgroup.
class thread_block : public thread_group {
 public:
  __device__ static dim3 group_index() { return blockIdx; }
  __device__ static dim3 thread_index() { return threadIdx; }
  __device__ static dim3 group_dim() { return blockDim; }
  __device__ static dim3 dim_threads() { return blockDim; }

 private:
  __device__ thread_block() : thread_group(details::Kind::Block, details::volume(blockDim)) {}
  friend __device__ thread_block this_thread_block();
};
__device__ __forceinline__ thread_block this_thread_block() { return thread_block(); }

namespace details {

/// What groups within a wave exchange. `Group` has lanes(): its members, all of which make the same call.
/// A value may be one that only the lane has set from which others take it. Of a member function, clang 19 and 22 take
/// the attribute of a parameter for one of the parameter before it, the object being the first: so all have it.
template <class Group>
class Exchange {
 public:
  /// The value of the member with a rank, which counts modulo the group's size.
  template <class T>
  __device__ T shfl([[clang::maybe_undef]] T value, [[clang::maybe_undef]] int rank) const {
    const unsigned long long lanes = self().lanes();
    return wave_device::from_lane(value,
                                  wave_device::lane_at(lanes, static_cast<unsigned>(rank) % wave_device::count(lanes)));
  }
  /// The value of a later or earlier member; the member's own where there is none.
  template <class T>
  __device__ T shfl_down([[clang::maybe_undef]] T value, [[clang::maybe_undef]] unsigned delta) const {
    const unsigned long long lanes = self().lanes();
    const unsigned rank = wave_device::rank_in(lanes), size = wave_device::count(lanes);
    return wave_device::from_lane(value, wave_device::lane_at(lanes, delta < size - rank ? rank + delta : rank));
  }
  template <class T>
  __device__ T shfl_up([[clang::maybe_undef]] T value, [[clang::maybe_undef]] unsigned delta) const {
    const unsigned long long lanes = self().lanes();
    const unsigned rank = wave_device::rank_in(lanes);
    return wave_device::from_lane(value, wave_device::lane_at(lanes, delta <= rank ? rank - delta : rank));
  }
  __device__ int any(int predicate) const { return ballot(predicate) != 0; }
  __device__ int all(int predicate) const { return ballot(predicate == 0) == 0; }
  /// Bit i is that of the member with rank i.
  __device__ unsigned long long ballot(int predicate) const { return by_rank(__ballot(predicate)); }
  template <class T>
  __device__ unsigned long long match_any(T value) const {
    return by_rank(wave_device::same_in(self().lanes(), value));
  }
  template <class T>
  __device__ unsigned long long match_all(T value, int& is_same) const {
    return by_rank(__match_all_sync(self().lanes(), value, &is_same));
  }

 private:
  __device__ const Group& self() const { return static_cast<const Group&>(*this); }
  __device__ unsigned long long by_rank(unsigned long long of_wave) const {
    const unsigned long long lanes = self().lanes();
    const unsigned first = static_cast<unsigned>(__builtin_ctzll(lanes)), size = wave_device::count(lanes);
    of_wave &= lanes;
    if (lanes == lanes_from(first, size)) return of_wave >> first;
    unsigned long long result = 0;
    for (unsigned rank = 0; rank < size; ++rank) {
      result |= (of_wave >> wave_device::lane_at(lanes, rank) & 1) << rank;
    }
    return result;
  }
};

}  // namespace details

/// The lanes of a wave that were active together, or a part of them.
class coalesced_group : public thread_group, public details::Exchange<coalesced_group> {
 public:
  __device__ unsigned long long lanes() const { return lanes_; }
  __device__ unsigned meta_group_rank() const { return number_; }
  __device__ unsigned meta_group_size() const { return count_; }

  /// For the functions of this header: some lanes of the wave, which are part `number` of `count`.
  __device__ explicit coalesced_group(unsigned long long lanes, unsigned number = 0, unsigned count = 1)
      : thread_group(details::Kind::Lanes, wave_device::count(lanes), lanes), number_(number), count_(count) {}

 private:
  unsigned number_, count_;
};
__device__ __forceinline__ coalesced_group coalesced_threads() { return coalesced_group(__activemask()); }

namespace details {

/// This lane's tile of `size` neighbours.
__device__ __forceinline__ unsigned long long tile(unsigned size) {
  return lanes_from(__lane_id() & ~(size - 1), size);
}

}  // namespace details

/// `Size` neighbouring lanes, a power of two up to a wave's.
template <unsigned Size, class Parent = void>
class thread_block_tile : public thread_group, public details::Exchange<thread_block_tile<Size, Parent>> {
  static_assert(Size != 0 && (Size & (Size - 1)) == 0, "a tile's size is a power of two");
  static_assert(Size <= warpSize, "a tile has at most as many lanes as a wave of this target: 64 on CDNA, 32 on RDNA");

 public:
  __device__ unsigned long long lanes() const { return details::tile(Size); }
  __device__ static constexpr unsigned size() { return Size; }
  __device__ static constexpr unsigned num_threads() { return Size; }
  __device__ static unsigned thread_rank() { return __lane_id() & (Size - 1); }
  __device__ unsigned meta_group_rank() const { return number_; }
  __device__ unsigned meta_group_size() const { return count_; }

  template <class T>
  __device__ T shfl_xor([[clang::maybe_undef]] T value, [[clang::maybe_undef]] unsigned mask) const {
    return __shfl_xor(value, static_cast<int>(mask), Size);
  }

  template <class Group>
  __device__ explicit thread_block_tile(const Group& parent)
      : thread_group(details::Kind::Lanes, Size, details::tile(Size)),
        number_(parent.thread_rank() / Size),
        count_((parent.size() + Size - 1) / Size) {}
  /// A tile is also one that does not say of what it is a part.
  template <class Other>
  __device__ thread_block_tile(const thread_block_tile<Size, Other>& tile)
      : thread_group(tile), number_(tile.meta_group_rank()), count_(tile.meta_group_size()) {}

 private:
  unsigned number_, count_;
};

template <unsigned Size, class Parent>
__device__ __forceinline__ thread_block_tile<Size, Parent> tiled_partition(const Parent& parent) {
  return thread_block_tile<Size, Parent>(parent);
}
template <unsigned Size, unsigned Of, class Parent>
__device__ __forceinline__ thread_block_tile<Size, thread_block_tile<Of, Parent>> tiled_partition(
    const thread_block_tile<Of, Parent>& parent) {
  static_assert(Size <= Of, "a tile of a tile is not larger than it");
  return thread_block_tile<Size, thread_block_tile<Of, Parent>>(static_cast<const thread_group&>(parent));
}

/// The members of a group within a wave by their ranks, so many in each part; the last may have fewer.
__device__ __forceinline__ coalesced_group tiled_partition(const coalesced_group& parent, unsigned size) {
  const unsigned part = parent.thread_rank() / size;
  unsigned long long lanes = 0;
  for (unsigned rank = part * size; rank < (part + 1) * size && rank < parent.size(); ++rank) {
    lanes |= 1ull << wave_device::lane_at(parent.lanes(), rank);
  }
  return coalesced_group(lanes, part, (parent.size() + size - 1) / size);
}
/// Parts of a size that only the running kernel knows: a power of two that fits into a wave, else it is trapped.
__device__ __forceinline__ thread_group tiled_partition(const thread_group& parent, unsigned size) {
  if (parent.kind_ == details::Kind::Lanes) return tiled_partition(coalesced_group(parent.lanes_), size);
  const bool fits = size != 0 && (size & (size - 1)) == 0 && size <= warpSize;
  if (!fits || parent.kind_ == details::Kind::Grid) __builtin_trap();
  return thread_group(details::Kind::Lanes, size, details::tile(size));
}

/// The members with the same label.
template <class Group, class Label>
__device__ __forceinline__ coalesced_group labeled_partition(const Group& parent, Label label) {
  const unsigned long long lanes = wave_device::same_in(parent.lanes(), label);
  // Parts are numbered by their first members.
  unsigned long long firsts = __ballot(wave_device::rank_in(lanes) == 0) & parent.lanes();
  const unsigned first = static_cast<unsigned>(__builtin_ctzll(lanes));
  return coalesced_group(lanes, wave_device::count(firsts & ((1ull << first) - 1)), wave_device::count(firsts));
}
template <class Group>
__device__ __forceinline__ coalesced_group binary_partition(const Group& parent, bool predicate) {
  return labeled_partition(parent, static_cast<int>(predicate));
}

template <class Group>
__device__ __forceinline__ unsigned group_size(const Group& group) {
  return group.size();
}
template <class Group>
__device__ __forceinline__ unsigned thread_rank(const Group& group) {
  return group.thread_rank();
}
template <class Group>
__device__ __forceinline__ bool is_valid(const Group& group) {
  return group.is_valid();
}
template <class Group>
__device__ __forceinline__ void sync(const Group& group) {
  group.sync();
}

#define WAVE_OPERATION(name, combined)                                         \
  template <class T = void>                                                    \
  struct name {                                                                \
    __device__ T operator()(const T& a, const T& b) const { return combined; } \
  };                                                                           \
  template <>                                                                  \
  struct name<void> {                                                          \
    template <class T>                                                         \
    __device__ T operator()(const T& a, const T& b) const {                    \
      return combined;                                                         \
    }                                                                          \
  };

WAVE_OPERATION(plus, a + b)
WAVE_OPERATION(less, b < a ? b : a)     // as in CUDA: the lesser
WAVE_OPERATION(greater, a < b ? b : a)  // the greater
WAVE_OPERATION(bit_and, a& b)
WAVE_OPERATION(bit_or, a | b)
WAVE_OPERATION(bit_xor, a ^ b)

#undef WAVE_OPERATION

/// The members' values, combined in the order of their ranks; every member gets the result. For groups within a wave.
template <class Group, class T, class Operation>
__device__ __forceinline__ T reduce(const Group& group, T value, Operation&& operation) {
  return wave_device::reduce(group.lanes(), value, operation);
}

/// The values of the members up to this one, combined in their order.
template <class Group, class T, class Operation>
__device__ __forceinline__ T inclusive_scan(const Group& group, T value, Operation&& operation) {
  return wave_device::scan(group.lanes(), value, operation);
}
template <class Group, class T>
__device__ __forceinline__ T inclusive_scan(const Group& group, T value) {
  return inclusive_scan(group, value, plus<>());
}
/// The values of the members before this one; T{} for the first.
template <class Group, class T, class Operation>
__device__ __forceinline__ T exclusive_scan(const Group& group, T value, Operation&& operation) {
  const T before = group.shfl_up(inclusive_scan(group, value, operation), 1);
  return group.thread_rank() == 0 ? T{} : before;
}
template <class Group, class T>
__device__ __forceinline__ T exclusive_scan(const Group& group, T value) {
  return exclusive_scan(group, value, plus<>());
}

}  // namespace cooperative_groups

#include "wave_device/bring_macros_back.h"
