#include "hip_emulator/user_object.h"

#include <algorithm>
#include <optional>

#include "hip_emulator/runtime.h"

namespace wave::hip_emulator {

void KeptObject::retain(unsigned count) {
  const std::lock_guard lock(mutex_);
  own_ += count;
}

void KeptObject::release(unsigned count) {
  std::unique_lock lock(mutex_);
  if (count > own_) return;
  own_ -= count;
  end_if_unused(std::move(lock));
}

void KeptObject::hand_over(unsigned count) {
  const std::lock_guard lock(mutex_);
  own_ -= std::min<uint64_t>(own_, count);
}

void KeptObject::lend(unsigned count) {
  const std::lock_guard lock(mutex_);
  lent_ += count;
}

void KeptObject::give_back(unsigned count) {
  std::unique_lock lock(mutex_);
  lent_ -= count;
  end_if_unused(std::move(lock));
}

void KeptObject::end_if_unused(std::unique_lock<std::mutex> lock) {
  if (own_ + lent_ != 0) return;
  lock.unlock();
  const std::shared_ptr<KeptObject> kept = runtime().user_objects.remove(handle_);
  std::optional<RunsHostFunction> runs;
  if (Queue::is_of_this_thread()) runs.emplace();
  destroy_(data_);
}

OwnedObjects::OwnedObjects(const OwnedObjects& other) : counts_(other.counts_) {
  for (const auto& [object, count] : counts_) object->lend(count);
}

OwnedObjects::~OwnedObjects() {
  for (const auto& [object, count] : counts_) object->give_back(count);
}

void OwnedObjects::add(const std::shared_ptr<KeptObject>& object, unsigned count) {
  counts_[object] += count;
  object->lend(count);
}

bool OwnedObjects::remove(const std::shared_ptr<KeptObject>& object, unsigned count) {
  const auto found = counts_.find(object);
  if (found == counts_.end() || count > found->second) return false;
  found->second -= count;
  if (found->second == 0) counts_.erase(found);
  return true;
}

}  // namespace wave::hip_emulator
