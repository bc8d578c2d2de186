// Using a kernel on a device.
#pragma once

#include "launch/kernel.h"

namespace wave {

/// Keeps a kernel loaded on a device for a scope, and loads it where it is not.
///
/// unload() empties the slot before it reads the number of users, and this adds itself to them before it reads the
/// slot: one of the two sees the other. Nobody waits for the lock while being counted, since unload() holds it while it
/// waits for the users.
class FunctionUse {
 public:
  /// Throws what load_function throws.
  FunctionUse(const Kernel& kernel, const Place& place) : FunctionUse(kernel, place, kernel.slots().at(place)) {}
  ~FunctionUse() { users_.fetch_sub(1, std::memory_order_release); }
  FunctionUse(const FunctionUse&) = delete;
  FunctionUse& operator=(const FunctionUse&) = delete;

  const DeviceFunction& operator*() const { return *function_; }
  const DeviceFunction* operator->() const { return function_; }

 private:
  FunctionUse(const Kernel& kernel, const Place& place, FunctionSlot& slot) : users_(slot.users_of_thread()) {
    while (!enter(slot)) load_function(kernel, place);
  }

  bool enter(FunctionSlot& slot) {
    users_.fetch_add(1);
    function_ = slot.function.load();
    if (function_ == nullptr) [[unlikely]]
      users_.fetch_sub(1);
    return function_ != nullptr;
  }

  std::atomic<uint32_t>& users_;
  const DeviceFunction* function_;
};

/// Whether the kernel is loaded there, so that a launch does not have to wait for that.
inline bool is_loaded(const Kernel& kernel, const Place& place) {
  const FunctionSlot* slot = kernel.slots().find(place);
  return slot != nullptr && slot->function.load(std::memory_order_relaxed) != nullptr;
}

}  // namespace wave
