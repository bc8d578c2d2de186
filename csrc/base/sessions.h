// Sessions of the process that launches report to: the sanitizer's, the profiler's.
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "base/fork_safe.h"

namespace wave {

/// Those that have begun and not ended. Thread-safe. To be never destroyed: launches may come from static destructors.
template <class Session>
class Sessions {
 public:
  /// The one that began last; nullptr where there is none.
  std::shared_ptr<Session> active() {
    if (!has_begun_.load(std::memory_order_acquire)) return nullptr;
    const std::lock_guard lock(mutex_);
    return begun_.empty() ? nullptr : begun_.back();
  }
  void begin(std::shared_ptr<Session> session) {
    const std::lock_guard lock(mutex_);
    begun_.push_back(std::move(session));
    has_begun_.store(true, std::memory_order_release);
  }
  void end(const Session& session) {
    const std::lock_guard lock(mutex_);
    std::erase_if(begun_, [&](const std::shared_ptr<Session>& one) { return one.get() == &session; });
    has_begun_.store(!begun_.empty(), std::memory_order_release);
  }

 private:
  std::atomic<bool> has_begun_{false};  ///< whether there are any: launches pay for no more than a look at it
  Mutex mutex_;                         ///< guards what follows
  std::vector<std::shared_ptr<Session>> begun_;
};

}  // namespace wave
