// Code objects on a device.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>

#include "code_object/code_object.h"
#include "driver/hip/hip_types.h"
#include "emulator/module.h"

namespace wave::hip_emulator {

/// Bytes of a variable on a device.
struct DeviceVariable {
  void* address;
  size_t size;
};

/// hipModule_t: a code object with globals of its own. Launches keep it alive.
struct EmulatedModule {
  EmulatedModule(std::shared_ptr<const CodeObject> code, int device);
  EmulatedModule(const EmulatedModule&) = delete;
  ~EmulatedModule();

  /// Gives variables of __managed__ their memory, which the code finds through pointers. Of a program's own fat
  /// binaries the program registers it (__hipRegisterManagedVar).
  void allocate_managed_variables();

  /// Its functions are no handles any more.
  void unload();

  /// nullptr where there is no kernel of this name.
  const KernelInfo* kernel(std::string_view name) const;
  /// Throws hipErrorNotFound.
  DeviceVariable variable(std::string_view name) const;

  const std::shared_ptr<const emulator::Module> shared;  ///< with launches of other modules that call its code
  const emulator::Module& emulated = *shared;
  const int device;
  std::atomic<bool> is_unloaded{false};
  std::mutex mutex;                                ///< guards functions
  std::map<std::string, hip::Function> functions;  ///< that were asked for

 private:
  std::map<std::string, DeviceVariable, std::less<>> managed_;
};

/// hipFunction_t
struct KernelFunction {
  std::shared_ptr<EmulatedModule> module;
  const KernelInfo* kernel;
  std::atomic<bool> has_over_read{false};       ///< and it was said
  std::atomic<bool> has_lost_arguments{false};  ///< reported once
};

/// The bytes of the image that begins at `image`: hipModuleLoadData is not told how many there are. Throws Failure
/// where it is no code object and no bundle, or does not lie in memory.
std::span<const uint8_t> image_bytes(const void* image);

/// Loads an image for a device. Throws Failure.
std::shared_ptr<EmulatedModule> load_module(std::span<const uint8_t> image, int device);

}  // namespace wave::hip_emulator
