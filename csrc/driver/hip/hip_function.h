// A kernel on a HIP device.
#pragma once

#include "code_object/code_object.h"
#include "driver/driver.h"
#include "driver/hip/hip_api.h"
#include "driver/hip/hip_module.h"

namespace wave::hip {

class HipFunction : public LoadedFunction {
 public:
  HipFunction(const Api& api, Device device, Function function, const KernelInfo& kernel, StreamSet& streams);
  void launch(const Launch& launch) override;
  FunctionInfo info() const override;
  uint32_t occupancy(uint32_t block_size, uint32_t shared_memory) const override;

 private:
  uint32_t attribute(FunctionAttribute attribute) const;
  void launch_cooperative(const Launch& launch, void** parameters) const;
  void launch_with_attributes(const Launch& launch, void** parameters) const;

  const Api& api_;
  const Device device_;
  const Function function_;
  const KernelInfo& kernel_;
  StreamSet& streams_;  ///< of the module
  /// Where in the packed arguments each parameter lies that the runtime knows of: those of the metadata, padding
  /// included. Not the "extra" buffer: the runtime copies from that only what the metadata lists, and a cooperative
  /// launch takes none.
  std::vector<uint32_t> offsets_;
};

}  // namespace wave::hip
