// Code loaded on a HIP device.
#pragma once

#include "driver/driver.h"
#include "driver/hip/hip_api.h"

namespace wave::hip {

class HipModule : public LoadedModule {
 public:
  HipModule(const Api& api, Device device, std::shared_ptr<const CodeObject> code);
  ~HipModule() override;
  HipModule(const HipModule&) = delete;
  HipModule& operator=(const HipModule&) = delete;

  std::unique_ptr<LoadedFunction> function(const KernelInfo& kernel) override;
  Global global(const std::string& name) override;

 private:
  const Api& api_;
  const Device device_;
  const std::shared_ptr<const CodeObject> code_;  ///< the runtime does not say that it copies the image
  Module module_ = nullptr;
};

}  // namespace wave::hip
