// The device's memory is the host's: what extensions ask of torch's allocator for GPUs, the CPU's does.
#pragma once

#include <c10/core/CPUAllocator.h>
#include <c10/cuda/CUDAStream.h>

namespace c10::cuda::CUDACachingAllocator {

class CUDAAllocator : public c10::Allocator {
 public:
  DataPtr allocate(size_t size) override { return GetCPUAllocator()->allocate(size); }
  DeleterFnPtr raw_deleter() const override { return GetCPUAllocator()->raw_deleter(); }
  void copy_data(void* to, const void* from, size_t size) const override { default_copy_data(to, from, size); }
  void* raw_alloc(size_t size) { return GetCPUAllocator()->raw_allocate(size); }
  void* raw_alloc_with_stream(size_t size, cudaStream_t) { return raw_alloc(size); }
  void raw_delete(void* data) { GetCPUAllocator()->raw_deallocate(data); }
  void recordStream(const DataPtr&, CUDAStream) {}
  void emptyCache() {}
};

inline CUDAAllocator* get() {
  static CUDAAllocator allocator;
  return &allocator;
}

inline void* raw_alloc(size_t size) { return get()->raw_alloc(size); }
inline void* raw_alloc_with_stream(size_t size, cudaStream_t stream) {
  return get()->raw_alloc_with_stream(size, stream);
}
inline void raw_delete(void* data) { get()->raw_delete(data); }
inline void recordStream(const DataPtr& data, CUDAStream stream) { get()->recordStream(data, stream); }
inline void emptyCache() {}

}  // namespace c10::cuda::CUDACachingAllocator

namespace c10::cuda {
using c10::CaptureId_t;
using c10::MempoolId_t;
}  // namespace c10::cuda
