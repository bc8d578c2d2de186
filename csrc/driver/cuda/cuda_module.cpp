#include "driver/cuda/cuda_module.h"

#include <cstdio>

#include "driver/cuda/cuda_context.h"
#include "driver/cuda/cuda_function.h"
#include "driver/fork.h"
#include "driver/lost_device.h"

namespace wave::cuda {

namespace {
constexpr size_t kLogSize = 16 * 1024;
}

CudaModule::CudaModule(const Api& api, Context context, const CodeObject& code) : api_(api), context_(context) {
  const ContextGuard guard(api, context);
  const RelaxedCapture relaxed(api);
  const Bytes bytes = code.bytes();
  // PTX is text that ends with a zero; of a cubin the driver reads as much as its header says.
  std::vector<uint8_t> image(bytes.data(), bytes.data() + bytes.size());
  image.push_back(0);
  std::string log(kLogSize, '\0');
  JitOption options[] = {kJitErrorLogBuffer, kJitErrorLogBufferSizeBytes};
  void* values[] = {log.data(), reinterpret_cast<void*>(kLogSize)};
  const Error error = api.cuModuleLoadDataEx(&module_, image.data(), 2, options, values);
  try {
    api.check(error, "cuModuleLoadDataEx");
  } catch (const RuntimeError& failure) {
    log.resize(log.find('\0'));
    throw RuntimeError(log.empty() ? failure.what() : text(failure.what(), "\n", log));
  }
}

CudaModule::~CudaModule() {
  if (is_forked()) return;
  try {
    const ContextGuard guard(api_, context_);
    const RelaxedCapture relaxed(api_);
    const Error error = api_.cuModuleUnload(module_);
    if (!is_lost_device(error)) api_.check(error, "cuModuleUnload");
  } catch (const RuntimeError& error) {
    std::fprintf(stderr, "wave_runtime: %s\n", error.what());
  }
}

std::unique_ptr<LoadedFunction> CudaModule::function(const KernelInfo& kernel) {
  const ContextGuard guard(api_, context_);
  const RelaxedCapture relaxed(api_);
  Function function = nullptr;
  api_.check(api_.cuModuleGetFunction(&function, module_, kernel.metadata.name.c_str()), "cuModuleGetFunction");
  // Else the driver may load it at the first launch, which a capture under way would forbid.
  if (api_.cuFuncLoad != nullptr) api_.check(api_.cuFuncLoad(function), "cuFuncLoad");
  return std::make_unique<CudaFunction>(api_, context_, function, kernel);
}

std::optional<Global> CudaModule::global(const std::string& name) {
  const ContextGuard guard(api_, context_);
  DevicePointer address = 0;
  size_t size = 0;
  const Error error = api_.cuModuleGetGlobal_v2(&address, &size, module_, name.c_str());
  if (error == kErrorNotFound) return std::nullopt;
  api_.check(error, "cuModuleGetGlobal");
  return Global{reinterpret_cast<void*>(address), size};
}

}  // namespace wave::cuda
