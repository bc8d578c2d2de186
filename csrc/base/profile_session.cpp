#include "base/profile_session.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "base/profile_log.h"
#include "base/sessions.h"

namespace wave {

namespace {

Sessions<ProfileSession>& profile_sessions = *new Sessions<ProfileSession>;

}  // namespace

std::shared_ptr<ProfileSession> ProfileSession::active() {
  std::shared_ptr<ProfileSession> session = profile_sessions.active();
  return session ? session : logged_session();
}
void ProfileSession::begin(std::shared_ptr<ProfileSession> session) { profile_sessions.begin(std::move(session)); }
void ProfileSession::end(const ProfileSession& session) { profile_sessions.end(session); }

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
