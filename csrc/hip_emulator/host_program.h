// What the host code of HIP programs registers before main: fat binaries, and the kernels and variables in them, which
// the program names by addresses of its own ("host functions" and "symbols" in HIP's manual).
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/fork_safe.h"
#include "hip_emulator/module.h"

namespace wave::hip_emulator {

/// A fat binary: one bundle of code objects. Loaded for a device when something of it is first used there.
struct FatBinary {
  const void* image;
  std::vector<std::shared_ptr<EmulatedModule>> modules{};  ///< by device; nullptr where it was not loaded
};

/// All that is registered. Thread-safe. Every lookup may load a fat binary, and then throws Failure as load_module
/// does: hipErrorNoBinaryForGpu where it has no code for the emulated processor.
class HostProgram {
 public:
  FatBinary* add(const void* image);  ///< never nullptr, which below stands for a fat binary that was refused
  /// Forgets a fat binary and what was registered of it. Launches under way keep its modules.
  void remove(FatBinary* binary);

  void add_kernel(FatBinary* binary, const void* host, const char* name);
  void add_variable(FatBinary* binary, const void* host, const char* name);
  /// A variable of __managed__, which host and device find through pointers: `memory` is what both point to.
  void add_managed(FatBinary* binary, void* memory, const char* name, size_t size);

  /// The kernel behind a host function. Throws hipErrorInvalidDeviceFunction where it is not registered.
  std::shared_ptr<KernelFunction> kernel(const void* host, int device);
  /// The variable behind a symbol. Throws hipErrorInvalidSymbol where it is not registered.
  DeviceVariable variable(const void* host, int device);
  /// Whether this is the address of a symbol, and not of memory, as that of a managed variable is.
  bool is_symbol(const void* host);

 private:
  struct Kernel {
    FatBinary* binary;
    std::string name;
    std::vector<std::shared_ptr<KernelFunction>> by_device{};  ///< nullptr where it was not used
  };
  struct Variable {
    FatBinary* binary;
    std::string name;
    size_t managed_size = 0;  ///< of __managed__ variables, else 0
  };

  const std::shared_ptr<EmulatedModule>& module(FatBinary& binary, int device);

  SharedMutex mutex_;  ///< guards what follows
  std::vector<std::unique_ptr<FatBinary>> binaries_;
  std::unordered_map<const void*, Kernel> kernels_;
  std::unordered_map<const void*, Variable> variables_;
};

/// `size` bytes of the variable behind a symbol, on the current device. Throws hipErrorInvalidValue where they end past
/// its end.
void* part_of(const void* symbol, size_t size, size_t offset);

/// Never destroyed: programs register before, and forget after, everything else. Starts no thread.
HostProgram& host_program();

}  // namespace wave::hip_emulator
