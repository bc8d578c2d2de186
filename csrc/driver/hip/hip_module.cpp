#include "driver/hip/hip_module.h"

#include <cstdio>

#include "driver/fork.h"
#include "driver/hip/hip_device.h"
#include "driver/hip/hip_function.h"
#include "driver/lost_device.h"

namespace wave::hip {

HipModule::HipModule(const Api& api, Device device, std::shared_ptr<const CodeObject> code)
    : api_(api), device_(device), code_(std::move(code)) {
  const DeviceGuard guard(api, device);
  const RelaxedCapture relaxed(api);
  api.check(api.hipModuleLoadData(&module_, code_->bytes().data()), "hipModuleLoadData");
}

HipModule::~HipModule() {
  if (is_forked()) return;
  try {
    const DeviceGuard guard(api_, device_);
    const RelaxedCapture relaxed(api_);
    // Errors do not matter: a stream may be gone, or be capturing, which takes no launch of an unloaded module.
    for (const Stream stream : streams_.streams()) api_.hipStreamSynchronize(stream);
    const Error error = api_.hipModuleUnload(module_);
    if (!is_lost_device(error)) api_.check(error, "hipModuleUnload");
  } catch (const RuntimeError& error) {
    std::fprintf(stderr, "wave_runtime: %s\n", error.what());
  }
}

std::unique_ptr<LoadedFunction> HipModule::function(const KernelInfo& kernel) {
  const DeviceGuard guard(api_, device_);
  const RelaxedCapture relaxed(api_);
  // The runtime looks kernels up by the descriptor's symbol without its ".kd".
  std::string symbol = kernel.metadata.symbol;
  if (symbol.ends_with(".kd")) symbol.resize(symbol.size() - 3);
  Function function = nullptr;
  api_.check(api_.hipModuleGetFunction(&function, module_, symbol.c_str()), "hipModuleGetFunction");
  return std::make_unique<HipFunction>(api_, device_, function, kernel, streams_);
}

std::optional<Global> HipModule::global(const std::string& name) {
  const DeviceGuard guard(api_, device_);
  DevicePointer address = nullptr;
  size_t size = 0;
  const Error error = api_.hipModuleGetGlobal(&address, &size, module_, name.c_str());
  if (error == kErrorNotFound) return std::nullopt;
  api_.check(error, "hipModuleGetGlobal");
  return Global{address, size};
}

}  // namespace wave::hip
