// Graphs, and the captures that record them.
#pragma once

#include <map>
#include <memory>
#include <thread>
#include <vector>

#include "driver/hip/hip_types.h"
#include "hip_emulator/graph.h"

namespace wave::hip_emulator {

class Queue;

/// A capture under way. Guarded by Runtime::order.
struct Capture {
  unsigned long long id;
  hip::CaptureMode mode;
  std::thread::id thread;
  Queue* origin;
  bool is_invalid = false;
  std::shared_ptr<OperationGraph> graph = std::make_shared<OperationGraph>();
  hip::Graph handle = nullptr;  ///< of the graph, where the program has it already
  bool is_of_program = false;   ///< the graph, which was there before

  /// What comes next in a stream depends on these.
  std::map<const Queue*, std::vector<NodeRecord*>> last{};
  std::map<const Queue*, std::vector<hip::GraphNode>> shown{};  ///< as hipStreamGetCaptureInfo_v2 has shown them
  /// Streams that joined by waiting for an event, and whether they have done something since.
  std::map<std::shared_ptr<Queue>, bool> joined{};
};

/// hipEvent_t. Guarded by Runtime::order.
struct EventRecord {
  unsigned flags;
  int device;
  std::shared_ptr<class Marker> marker{};    ///< nullptr before it is recorded, and while captured
  std::shared_ptr<Capture> capture{};        ///< that it was recorded in
  std::vector<NodeRecord*> captured_last{};  ///< what it stands behind there
};

}  // namespace wave::hip_emulator
