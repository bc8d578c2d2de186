// Which operations of streams come before which, as far as programs order them, and launches that nothing orders.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/sanitizer.h"
#include "emulator/launch_accesses.h"
#include "hip_emulator/stream_history.h"

namespace wave::hip_emulator {

class Queue;
class Marker;

/// An operation, and how many of each stream's come before it, its own counted: by the streams' numbers.
struct OperationClock {
  uint64_t stream;
  std::string stream_name;
  StreamCounts before;
};

/// Looks for races between launches while a sanitizer's session does. All threads of the host count as one, which knows
/// what any of them has waited for: that may hide a race, and invents none. Thread-safe.
class StreamOrder {
 public:
  /// Whether a session looks for races now. Where it is another one than before, what is known is forgotten.
  bool is_watching();

  /// The clock of an operation that comes behind the host and others. Under Runtime::order, which the caller holds.
  std::shared_ptr<const OperationClock> submit(Queue& queue, const std::vector<std::shared_ptr<Marker>>& after);
  /// The host has learned that an operation is done.
  void learn(const Marker* done);
  /// ... that what comes before the one that this thread runs is done.
  void learn_running();
  /// Streams are ordered in a way that is not followed: nothing is looked for any more in this session.
  void give_up();

  /// What a launch that this thread runs has done to memory. Tells the sanitizer of races with earlier ones.
  void add(std::unique_ptr<emulator::LaunchAccesses> accesses, Sanitizer& sanitizer);
  /// Memory is freed.
  void forget(AddressSpan bytes);

  /// While it lives, this thread runs an operation.
  class Running {
   public:
    explicit Running(std::shared_ptr<const OperationClock> clock);
    ~Running();
    Running(const Running&) = delete;

   private:
    const std::shared_ptr<const OperationClock> clock_;
  };

 private:
  struct Past {
    std::string stream_name;
    std::unique_ptr<emulator::LaunchAccesses> accesses;
  };

  void drop(const Past& past) { size_ -= past.accesses->size(); }
  void learn_locked(const OperationClock& clock);
  void end();

  std::atomic<const Sanitizer*> session_{nullptr};
  std::atomic<bool> has_given_up_{false};
  std::mutex mutex_;                 ///< guards what follows
  std::shared_ptr<Sanitizer> kept_;  ///< the session's, so that no later one has its address
  StreamCounts host_;                ///< what the host knows to be done
  StreamHistory<Past> launches_;
  size_t size_ = 0;     ///< accesses of all of them
  size_t pending_ = 0;  ///< operations that have been submitted and have not ended
};

/// The process's. Never destroyed.
StreamOrder& stream_order();

}  // namespace wave::hip_emulator
