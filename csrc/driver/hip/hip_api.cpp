#include "driver/hip/hip_api.h"

#include "base/environment.h"
#include "base/fork_safe.h"

namespace wave::hip {

namespace {

const Variable& kRocm = at_load("ROCM_PATH");

constexpr const char* kNames[] = {"libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"};

std::string folder_of(const std::string& file) { return file.substr(0, file.rfind('/') + 1); }

/// Where wheels and installations keep the library, the likeliest first.
std::vector<std::string> folders() {
  std::vector<std::string> folders;
  for (const std::string& file : DynamicLibrary::loaded("libc10.so")) {
    folders.push_back(folder_of(file));                                // torch/lib
    folders.push_back(folder_of(file) + "../../_rocm_sdk_core/lib/");  // wheels of TheRock
  }
  folders.push_back(text(kRocm.is_set() ? kRocm.text : "/opt/rocm", "/lib/"));
  folders.emplace_back();  // wherever the loader looks
  return folders;
}

Api load(const Variable& file) {
  std::vector<std::string> candidates = DynamicLibrary::loaded("libamdhip64.so");
  if (file.is_set()) {
    candidates.push_back(file.text);
  } else {
    for (const std::string& folder : folders()) {
      for (const char* name : kNames) candidates.push_back(folder + name);
    }
  }
  Api api;
  try {
    api.library = DynamicLibrary::open(candidates);
  } catch (const RuntimeError& error) {
    throw RuntimeError(
        text("the HIP runtime libamdhip64 is not available (WAVE_RUNTIME_LIBHIP names a file): ", error.what()));
  }
#define REQUIRED(name, parameters) api.name = api.library.function<Error parameters>(#name);
#define OPTIONAL(name, parameters) api.library.find(api.name, #name);
#define TEXT(name) api.name = api.library.function<const char*(Error)>(#name);
#include "driver/hip/hip_symbols.inc"
#undef REQUIRED
#undef OPTIONAL
#undef TEXT
  api.library.find(api.waveStreamWait, "waveStreamWait");
  api.library.find(api.waveDeviceInterrupt, "waveDeviceInterrupt");
  try {
    api.check(api.hipInit(0), "hipInit");
  } catch (const DriverError& error) {
    throw DriverError(text(error.what(), ", in ", api.library.path(),
                           ", which finds no AMD GPU that it can use (WAVE_RUNTIME_LIBHIP names another library)"),
                      error.code);
  }
  return api;
}

Lazy<Api>& loaded = *new Lazy<Api>();

}  // namespace

const Api& api() {
  if (const Api* found = loaded.find()) return *found;
  // Before the lock of `loaded`, for which the interpreter's may be held.
  const Variable file = EnvironmentVariables()["WAVE_RUNTIME_LIBHIP"];
  return loaded.get([&] { return load(file); });
}

void Api::fail(Error error, const char* call) const {
  throw DriverError({call, hipGetErrorName(error), static_cast<int>(error), hipGetErrorString(error)});
}

}  // namespace wave::hip
