// ROCm 5's headers call these of clang's, which has had them until version 19.
#pragma once

typedef _Float16 wave_two_halves __attribute__((ext_vector_type(2)));

__device__ inline _Float16 wave_reciprocal(_Float16 x) { return __builtin_amdgcn_rcph(x); }
__device__ inline wave_two_halves wave_reciprocals(wave_two_halves x) {
  return {wave_reciprocal(x.x), wave_reciprocal(x.y)};
}
#define __llvm_amdgcn_rcp_f16 wave_reciprocal
#define __llvm_amdgcn_rcp_2f16 wave_reciprocals
