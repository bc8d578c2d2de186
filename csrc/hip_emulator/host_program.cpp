#include "hip_emulator/host_program.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <utility>

#include "base/error.h"
#include "hip_emulator/errors.h"
#include "hip_emulator/runtime.h"

namespace wave::hip_emulator {

namespace {

/// The place of a device in a list by device.
template <class T>
T& at_device(std::vector<T>& list, int device) {
  const auto index = static_cast<size_t>(device);
  if (list.size() <= index) list.resize(index + 1);
  return list[index];
}

}  // namespace

HostProgram& host_program() {
  static auto& program = *new HostProgram();
  return program;
}

FatBinary* HostProgram::add(const void* image) {
  std::unique_lock lock(mutex_);
  return binaries_.emplace_back(std::make_unique<FatBinary>(image)).get();
}

void HostProgram::remove(FatBinary* binary) {
  std::unique_lock lock(mutex_);
  const auto is_of_it = [binary](const auto& entry) { return entry.second.binary == binary; };
  std::erase_if(kernels_, is_of_it);
  std::erase_if(variables_, is_of_it);
  std::erase_if(binaries_, [binary](const auto& owned) { return owned.get() == binary; });
}

// Of a fat binary that was refused (nullptr) nothing is registered, so that its use is an error, not a crash.

void HostProgram::add_kernel(FatBinary* binary, const void* host, const char* name) {
  if (binary == nullptr) return;
  std::unique_lock lock(mutex_);
  kernels_.try_emplace(host, Kernel{binary, name});
}

void HostProgram::add_variable(FatBinary* binary, const void* host, const char* name) {
  if (binary == nullptr) return;
  std::unique_lock lock(mutex_);
  variables_.try_emplace(host, Variable{binary, name});
}

void HostProgram::add_managed(FatBinary* binary, void* memory, const char* name, size_t size) {
  if (binary == nullptr) return;
  std::unique_lock lock(mutex_);
  variables_.try_emplace(memory, Variable{binary, name, size});
}

/// Under the mutex, which the caller holds alone.
const std::shared_ptr<EmulatedModule>& HostProgram::module(FatBinary& binary, int device) {
  std::shared_ptr<EmulatedModule>& loaded = at_device(binary.modules, device);
  if (loaded != nullptr) return loaded;
  auto module = load_module(image_bytes(binary.image), device);
  for (const auto& [host, variable] : variables_) {
    if (variable.binary != &binary || variable.managed_size == 0) continue;
    std::memcpy(module->variable(variable.name).address, &host, sizeof(host));
  }
  loaded = std::move(module);
  return loaded;
}

std::shared_ptr<KernelFunction> HostProgram::kernel(const void* host, int device) {
  const auto index = static_cast<size_t>(device);
  {
    std::shared_lock lock(mutex_);
    const auto found = kernels_.find(host);
    if (found == kernels_.end()) {
      throw Failure(hipErrorInvalidDeviceFunction, "the program has registered no such kernel");
    }
    const auto& by_device = found->second.by_device;
    if (index < by_device.size() && by_device[index] != nullptr) return by_device[index];
  }
  std::unique_lock lock(mutex_);
  const auto found = kernels_.find(host);
  require(found != kernels_.end(), hipErrorInvalidDeviceFunction);
  Kernel& kernel = found->second;
  const std::shared_ptr<EmulatedModule>& loaded = module(*kernel.binary, device);
  const KernelInfo* info = loaded->kernel(kernel.name);
  if (info == nullptr) {
    throw Failure(hipErrorInvalidDeviceFunction, text("the program's code for the device has no kernel ", kernel.name));
  }
  std::shared_ptr<KernelFunction>& function = at_device(kernel.by_device, device);
  if (function == nullptr) function = std::make_shared<KernelFunction>(loaded, info);
  return function;
}

void* part_of(const void* symbol, size_t size, size_t offset) {
  const DeviceVariable variable = host_program().variable(symbol, current_device());
  require(offset <= variable.size && size <= variable.size - offset, hipErrorInvalidValue,
          "the copy ends past the end of the variable");
  return static_cast<char*>(variable.address) + offset;
}

DeviceVariable HostProgram::variable(const void* host, int device) {
  std::unique_lock lock(mutex_);
  const auto found = variables_.find(host);
  require(found != variables_.end(), hipErrorInvalidSymbol, "the program has registered no such variable");
  const Variable& variable = found->second;
  if (variable.managed_size != 0) return {const_cast<void*>(host), variable.managed_size};
  return module(*variable.binary, device)->variable(variable.name);
}

bool HostProgram::is_symbol(const void* host) {
  std::shared_lock lock(mutex_);
  const auto found = variables_.find(host);
  return found != variables_.end() && found->second.managed_size == 0;
}

}  // namespace wave::hip_emulator
