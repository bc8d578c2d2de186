// What programs that hipify of older releases of torch has converted ask for: torch's own names all of an allocator of
// which c10/hip/HIPCachingAllocator.h has here what there is.
#pragma once

#include <ATen/hip/impl/HIPStreamMasqueradingAsCUDA.h>
#include <c10/hip/HIPCachingAllocator.h>

namespace c10::hip::HIPCachingAllocatorMasqueradingAsCUDA {

using c10::cuda::CUDACachingAllocator::emptyCache;
using c10::cuda::CUDACachingAllocator::get;
using c10::cuda::CUDACachingAllocator::raw_alloc;
using c10::cuda::CUDACachingAllocator::raw_alloc_with_stream;
using c10::cuda::CUDACachingAllocator::raw_delete;

inline void recordStreamMasqueradingAsCUDA(const DataPtr&, HIPStreamMasqueradingAsCUDA) {}

}  // namespace c10::hip::HIPCachingAllocatorMasqueradingAsCUDA
