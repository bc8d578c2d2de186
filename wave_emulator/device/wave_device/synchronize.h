// Barriers and fences.
#pragma once

__device__ __forceinline__ void __syncthreads() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

// Barriers at which the workgroup learns for how many work-items a predicate holds, for all or for any.
__device__ inline int __syncthreads_count(int predicate) {
  static __shared__ int total;
  __syncthreads();  // the last total has been read
  total = 0;
  __syncthreads();
  __hip_atomic_fetch_add(&total, predicate != 0, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
  __syncthreads();
  return total;
}
__device__ __forceinline__ int __syncthreads_or(int predicate) { return __syncthreads_count(predicate) != 0; }
__device__ __forceinline__ int __syncthreads_and(int predicate) { return __syncthreads_count(predicate == 0) == 0; }

__device__ __forceinline__ void __syncwarp(unsigned long long = ~0ull) { __builtin_amdgcn_wave_barrier(); }

__device__ __forceinline__ void __threadfence_block() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup"); }
__device__ __forceinline__ void __threadfence() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent"); }
__device__ __forceinline__ void __threadfence_system() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, ""); }

__device__ __forceinline__ void __trap() { __builtin_trap(); }
__device__ __forceinline__ void abort() { __builtin_trap(); }

__device__ __forceinline__ long long clock64() { return static_cast<long long>(__builtin_readcyclecounter()); }
__device__ __forceinline__ long long clock() { return clock64(); }
__device__ __forceinline__ long long __clock64() { return clock64(); }
__device__ __forceinline__ long long __clock() { return clock64(); }
__device__ __forceinline__ long long wall_clock64() { return static_cast<long long>(__builtin_readsteadycounter()); }
