#include "base/fork_safe.h"

#include <pthread.h>

#include <chrono>
#include <new>
#include <thread>

namespace wave {

class ForkHandlers {
 public:
  static void add(HeldByFork& item) {
    const std::lock_guard lock(mutex_);
    item.next_ = first_;
    if (first_ != nullptr) first_->previous_ = &item;
    first_ = &item;
  }

  static void remove(HeldByFork& item) {
    const std::lock_guard lock(mutex_);
    (item.previous_ != nullptr ? item.previous_->next_ : first_) = item.next_;
    if (item.next_ != nullptr) item.next_->previous_ = item.previous_;
  }

  static void before() {
    // Nobody is waited for with a lock in hand: threads may take several, in any order, and make new ones meanwhile.
    while (!hold_all()) std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  static void in_parent() {
    let_go_until(nullptr);
    mutex_.unlock();
  }
  static void in_child() {
    for (HeldByFork* item = first_; item != nullptr; item = item->next_) item->renew();
    new (&mutex_) std::mutex;
  }

 private:
  static bool hold_all() {
    mutex_.lock();
    for (HeldByFork* item = first_; item != nullptr; item = item->next_) {
      if (item->try_hold()) continue;
      let_go_until(item);
      mutex_.unlock();
      return false;
    }
    return true;
  }
  static void let_go_until(const HeldByFork* end) {
    for (HeldByFork* item = first_; item != end; item = item->next_) item->let_go();
  }

  static constinit std::mutex mutex_;  ///< guards the list
  static constinit HeldByFork* first_;
};

constinit std::mutex ForkHandlers::mutex_;
constinit HeldByFork* ForkHandlers::first_ = nullptr;

namespace {
[[maybe_unused]] const int registered =
    pthread_atfork(&ForkHandlers::before, &ForkHandlers::in_parent, &ForkHandlers::in_child);
}

void HeldByFork::enlist() { ForkHandlers::add(*this); }
void HeldByFork::leave() { ForkHandlers::remove(*this); }

void call_in_children(void (*function)()) { pthread_atfork(nullptr, nullptr, function); }

}  // namespace wave
