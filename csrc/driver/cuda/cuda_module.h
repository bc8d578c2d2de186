// Code loaded on a CUDA device.
#pragma once

#include "driver/cuda/cuda_api.h"
#include "driver/driver.h"

namespace wave::cuda {

class CudaModule : public LoadedModule {
 public:
  /// Loads a cubin, or PTX, which the driver compiles: its log is in the error.
  CudaModule(const Api& api, Context context, const CodeObject& code);
  ~CudaModule() override;
  CudaModule(const CudaModule&) = delete;
  CudaModule& operator=(const CudaModule&) = delete;

  std::unique_ptr<LoadedFunction> function(const KernelInfo& kernel) override;
  std::optional<Global> global(const std::string& name) override;

 private:
  const Api& api_;
  const Context context_;
  Module module_ = nullptr;
};

}  // namespace wave::cuda
