// Graphs, and the captures that record them.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <thread>
#include <vector>

#include "driver/hip/hip_types.h"

namespace wave::hip_emulator {

class Queue;

/// How an operation comes to run.
enum class Via { Stream, Graph };

/// What a stream runs: a launch, a copy, a fill. May throw.
using StreamOperation = std::function<void(Via via)>;

/// Operations in the order in which they were captured, which is one that their dependencies allow.
struct OperationGraph {
  std::vector<StreamOperation> operations;
};

/// A capture under way. Guarded by Runtime::order.
struct Capture {
  unsigned long long id;
  hip::CaptureMode mode;
  std::thread::id thread;
  Queue* origin;
  bool is_invalid = false;
  std::shared_ptr<OperationGraph> graph = std::make_shared<OperationGraph>();

  /// Streams that joined by waiting for an event, and whether another one has waited for what they did last.
  std::map<std::shared_ptr<Queue>, bool> joined{};
};

/// hipEvent_t. Guarded by Runtime::order.
struct EventRecord {
  unsigned flags;
  std::shared_ptr<class Marker> marker{};  ///< nullptr before it is recorded, and while captured
  std::shared_ptr<Capture> capture{};      ///< that it was recorded in
  std::weak_ptr<Queue> captured_queue{};   ///< and where
};

}  // namespace wave::hip_emulator
