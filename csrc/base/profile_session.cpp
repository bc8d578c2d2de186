#include "base/profile_session.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>

namespace wave {

namespace {

struct Sessions {
  Mutex mutex;  ///< guards what follows
  std::vector<std::shared_ptr<ProfileSession>> begun;
};

// Never destroyed: launches may come from static destructors.
Sessions& sessions = *new Sessions;

std::atomic<bool> has_begun{false};  ///< whether there are any: launches pay for no more than a look at it

}  // namespace

std::shared_ptr<ProfileSession> ProfileSession::active() {
  if (!has_begun.load(std::memory_order_acquire)) return nullptr;
  const std::lock_guard lock(sessions.mutex);
  return sessions.begun.empty() ? nullptr : sessions.begun.back();
}

void ProfileSession::begin(std::shared_ptr<ProfileSession> session) {
  const std::lock_guard lock(sessions.mutex);
  sessions.begun.push_back(std::move(session));
  has_begun.store(true, std::memory_order_release);
}

void ProfileSession::end(const ProfileSession& session) {
  const std::lock_guard lock(sessions.mutex);
  auto& begun = sessions.begun;
  std::erase_if(begun, [&](const std::shared_ptr<ProfileSession>& one) { return one.get() == &session; });
  has_begun.store(!begun.empty(), std::memory_order_release);
}

void ProfileSession::add(const ProfiledKernel& kernel, const ProfiledLaunch& launch, const LaunchProfile& profile) {
  const std::lock_guard lock(mutex_);
  const auto is_same = [&](const ProfiledKernel& known) {
    return known.name == kernel.name && known.image.data() == kernel.image.data();
  };
  auto found = std::ranges::find_if(kernels_, is_same);
  if (found == kernels_.end()) {
    found = kernels_.insert(kernels_.end(), kernel);
    found->profile.waves = profile.waves;
  }
  found->profile += profile;
  found->launches.push_back(launch);
}

std::vector<ProfiledKernel> ProfileSession::kernels() {
  const std::lock_guard lock(mutex_);
  return kernels_;
}

}  // namespace wave
