// Barriers and fences.
#pragma once

__device__ __forceinline__ void __syncthreads() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

__device__ __forceinline__ void __syncwarp(unsigned long long = ~0ull) { __builtin_amdgcn_wave_barrier(); }

__device__ __forceinline__ void __threadfence_block() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup"); }
__device__ __forceinline__ void __threadfence() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent"); }
__device__ __forceinline__ void __threadfence_system() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, ""); }

__device__ __forceinline__ void __trap() { __builtin_trap(); }
__device__ __forceinline__ void abort() { __builtin_trap(); }

__device__ __forceinline__ long long clock64() { return static_cast<long long>(__builtin_readcyclecounter()); }
__device__ __forceinline__ long long clock() { return clock64(); }
__device__ __forceinline__ long long wall_clock64() { return static_cast<long long>(__builtin_readsteadycounter()); }
