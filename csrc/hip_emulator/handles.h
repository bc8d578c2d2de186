// What HIP's handles stand for.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <vector>

#include "hip_emulator/errors.h"

namespace wave::hip_emulator {

/// A number that no other handle of the process has or had: a handle that is used after its end is found out.
inline uintptr_t next_handle() {
  static std::atomic<uintptr_t> next{0x10000};
  return next.fetch_add(0x10);
}

/// The live objects of one kind. Thread-safe.
template <class Handle, class Object>
class Handles {
 public:
  /// `unknown` is the error of a handle that is none, unless a call says otherwise.
  explicit Handles(Code unknown = hipErrorInvalidHandle) : unknown_(unknown) {}

  Handle add(std::shared_ptr<Object> object) {
    const Handle handle = reinterpret_cast<Handle>(next_handle());
    std::unique_lock lock(mutex_);
    objects_.emplace(handle, std::move(object));
    return handle;
  }

  std::shared_ptr<Object> find(Handle handle) const { return find(handle, unknown_); }
  std::shared_ptr<Object> find(Handle handle, Code unknown) const {
    std::shared_ptr<Object> found = find_if_there(handle);
    if (found == nullptr) throw Failure(unknown);
    return found;
  }
  /// nullptr where there is none.
  std::shared_ptr<Object> find_if_there(Handle handle) const {
    std::shared_lock lock(mutex_);
    const auto found = objects_.find(handle);
    return found == objects_.end() ? nullptr : found->second;
  }

  /// Forgets a handle.
  std::shared_ptr<Object> remove(Handle handle) { return remove(handle, unknown_); }
  std::shared_ptr<Object> remove(Handle handle, Code unknown) {
    std::shared_ptr<Object> object = forget(handle);
    if (object == nullptr) throw Failure(unknown);
    return object;
  }

  /// The same, of a handle that may be none.
  std::shared_ptr<Object> forget(Handle handle) {
    std::unique_lock lock(mutex_);
    const auto found = objects_.find(handle);
    if (found == objects_.end()) return nullptr;
    std::shared_ptr<Object> object = std::move(found->second);
    objects_.erase(found);
    return object;
  }

  std::vector<std::shared_ptr<Object>> all() const {
    std::shared_lock lock(mutex_);
    std::vector<std::shared_ptr<Object>> result;
    for (const auto& [handle, object] : objects_) result.push_back(object);
    return result;
  }

 private:
  const Code unknown_;
  mutable std::shared_mutex mutex_;
  std::map<Handle, std::shared_ptr<Object>> objects_;
};

}  // namespace wave::hip_emulator
