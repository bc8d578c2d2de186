// A kernel on a CUDA device.
#pragma once

#include <atomic>

#include "driver/cuda/cuda_api.h"
#include "driver/driver.h"

namespace wave::cuda {

/// Aligned so that what most launches read lies in one cache line.
class alignas(64) CudaFunction : public LoadedFunction {
 public:
  CudaFunction(const Api& api, Context context, Function function, const KernelInfo& kernel);
  void launch(const Launch& launch) override;
  FunctionInfo info() const override;
  uint32_t occupancy(uint32_t block_size, uint32_t shared_memory) const override;

 private:
  uint32_t attribute(FunctionAttribute attribute) const;
  [[gnu::cold]] void allow_shared_memory(uint32_t size) const;
  [[gnu::cold]] void launch_with_attributes(const Launch& launch, void** extra) const;

  const Api& api_;
  const Context context_;
  const Function function_;
  const decltype(Api::cuLaunchKernel) launch_kernel_;  ///< here, since each launch calls it
  /// Of a kernel that is built for AMD's GPUs, too, the packed arguments have room for what those take beyond them;
  /// more than the parameters is an error of the driver (CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES).
  size_t parameter_bytes_ = SIZE_MAX;
  /// Dynamic shared memory that the function was allowed so far; without a word from us the driver grants 48 KiB,
  /// static memory included (CUDA C++ Programming Guide, "Shared Memory" of compute capability 7.x).
  mutable std::atomic<uint32_t> allowed_shared_memory_;
  /// Where in the packed arguments each parameter lies, where the file says so. A captured cooperative launch takes no
  /// buffer ("extra"), but pointers to each.
  std::optional<std::vector<uint32_t>> offsets_;
};

}  // namespace wave::cuda
