// Locks that no child of fork() finds taken by a thread of its parent, which it has not. Every lock that outlives a
// launch is one of these, and every value that threads make at its first use a Lazy (tests/test_layout.py).
#pragma once

#include <atomic>
#include <mutex>
#include <shared_mutex>

namespace wave {

/// What is held while the process forks. All of them are taken before, in whatever order they are to be had, and are
/// free behind it, in the child as if new: what they guard is as it should be there.
class HeldByFork {
 public:
  HeldByFork(const HeldByFork&) = delete;
  HeldByFork& operator=(const HeldByFork&) = delete;

 protected:
  HeldByFork() = default;
  ~HeldByFork() = default;
  void enlist();  ///< by constructors, last
  void leave();

 private:
  friend class ForkHandlers;
  virtual bool try_hold() = 0;
  virtual void let_go() = 0;
  virtual void renew() = 0;  ///< in the child
  HeldByFork *previous_ = nullptr, *next_ = nullptr;
};

template <class Lock>
class ForkSafe final : public Lock, private HeldByFork {
 public:
  ForkSafe() { enlist(); }
  ~ForkSafe() { leave(); }

 private:
  bool try_hold() override { return this->try_lock(); }
  void let_go() override { this->unlock(); }
  // Threads that there are no more may be queued up in it.
  void renew() override { new (static_cast<Lock*>(this)) Lock; }
};

using Mutex = ForkSafe<std::mutex>;
using SharedMutex = ForkSafe<std::shared_mutex>;

/// A value that is made when it is first asked for, and never destroyed, since launches may outlive main(). As a
/// function's static variable, but a child of fork() does not wait for a thread that was about to make it.
template <class Value>
class Lazy {
 public:
  /// Throws what `make` throws; then the next one tries again.
  template <class Make>
  const Value& get(Make make) {
    if (const Value* value = find()) return *value;
    const std::lock_guard lock(mutex_);
    if (value_.load(std::memory_order_relaxed) == nullptr) value_.store(new Value(make()), std::memory_order_release);
    return *value_.load(std::memory_order_relaxed);
  }

  /// nullptr where it is not made.
  const Value* find() const { return value_.load(std::memory_order_acquire); }

 private:
  std::atomic<const Value*> value_{nullptr};
  Mutex mutex_;
};

/// Calls a function in every child of fork(), behind the renewal of locks.
void call_in_children(void (*function)());

}  // namespace wave
