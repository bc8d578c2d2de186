#include "driver/cuda/cuda_api.h"

#include "base/environment.h"
#include "base/fork_safe.h"

namespace wave::cuda {

namespace {

Api load(const Variable& file) {
  std::vector<std::string> candidates = DynamicLibrary::loaded("libcuda.so");
  if (file.is_set()) {
    candidates.push_back(file.text);
  } else {
    candidates.emplace_back("libcuda.so.1");
  }
  Api api;
  try {
    api.library = DynamicLibrary::open(candidates);
  } catch (const RuntimeError& error) {
    throw RuntimeError(
        text("the NVIDIA driver's libcuda is not available (WAVE_RUNTIME_LIBCUDA names a file): ", error.what()));
  }
#define REQUIRED(name, parameters) api.name = api.library.function<Error parameters>(#name);
#define OPTIONAL(name, parameters) api.library.find(api.name, #name);
#include "driver/cuda/cuda_symbols.inc"
#undef REQUIRED
#undef OPTIONAL
  api.check(api.cuInit(0), "cuInit");
  return api;
}

Lazy<Api>& loaded = *new Lazy<Api>();

}  // namespace

const Api& api() {
  if (const Api* found = loaded.find()) return *found;
  // Before the lock of `loaded`, for which the interpreter's may be held.
  const Variable file = EnvironmentVariables()["WAVE_RUNTIME_LIBCUDA"];
  return loaded.get([&] { return load(file); });
}

void Api::fail(Error error, const char* call) const {
  const char *name = nullptr, *reason = nullptr;
  cuGetErrorName(error, &name);
  cuGetErrorString(error, &reason);
  throw DriverError({call, name == nullptr ? "unknown error" : name, static_cast<int>(error),
                     reason == nullptr ? "no description" : reason});
}

}  // namespace wave::cuda
