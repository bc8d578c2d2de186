// Stream capture and graphs.
#include <algorithm>

#include "hip_emulator/api.h"

namespace wave::hip {

namespace {

/// Why a capture gives no graph; hipSuccess where it gives one.
Code result(const Capture& capture) {
  if (capture.is_invalid) return hipErrorStreamCaptureInvalidated;
  const bool joined = std::ranges::all_of(capture.joined, [](const auto& entry) { return entry.second; });
  return joined ? hipSuccess : hipErrorStreamCaptureUnjoined;
}

CaptureStatus status_of(const Queue& queue) {
  if (queue.capture == nullptr) return kCaptureNone;
  return queue.capture->is_invalid ? kCaptureInvalidated : kCaptureActive;
}

}  // namespace

Error hipStreamBeginCapture(Stream stream, CaptureMode mode) {
  return call(__func__, [&] {
    require(mode >= kCaptureModeGlobal && mode <= kCaptureModeRelaxed);
    const auto queue = find_queue(stream);
    require(!queue->is_null, hipErrorStreamCaptureUnsupported);
    std::lock_guard lock(runtime().order);
    require(queue->capture == nullptr, hipErrorIllegalState);
    queue->capture = std::make_shared<Capture>(next_handle(), mode, std::this_thread::get_id(), queue.get());
    runtime().captures.insert(queue->capture);
  });
}

Error hipStreamEndCapture(Stream stream, Graph* graph) {
  return call(__func__, [&] {
    require(graph != nullptr);
    *graph = nullptr;
    const auto queue = find_queue(stream);
    std::lock_guard lock(runtime().order);
    const std::shared_ptr<Capture> capture = queue->capture;
    require(capture != nullptr, hipErrorIllegalState);
    require(capture->origin == queue.get(), hipErrorStreamCaptureUnmatched);
    require(capture->mode == kCaptureModeRelaxed || capture->thread == std::this_thread::get_id(),
            hipErrorStreamCaptureWrongThread);
    const Code code = result(*capture);
    end_capture(*queue);
    require(code == hipSuccess, code);
    *graph = runtime().graphs.add(capture->graph);
  });
}

Error hipStreamGetCaptureInfo(Stream stream, CaptureStatus* status, unsigned long long* id) {
  return call(__func__, [&] {
    require(status != nullptr);
    const auto queue = find_queue(stream);
    std::lock_guard lock(runtime().order);
    *status = status_of(*queue);
    if (id != nullptr && queue->capture != nullptr) *id = queue->capture->id;
  });
}

Error hipStreamIsCapturing(Stream stream, CaptureStatus* status) {
  return hipStreamGetCaptureInfo(stream, status, nullptr);
}

Error hipThreadExchangeStreamCaptureMode(CaptureMode* mode) {
  return call(__func__, [&] {
    require(mode != nullptr && *mode >= kCaptureModeGlobal && *mode <= kCaptureModeRelaxed);
    std::swap(*mode, capture_mode());
  });
}

Error hipGraphInstantiate(GraphExec* exec, Graph graph, GraphNode* error_node, char* log, size_t log_size) {
  return call(__func__, [&] {
    require(exec != nullptr);
    if (error_node != nullptr) *error_node = nullptr;
    if (log != nullptr && log_size > 0) log[0] = '\0';
    *exec = runtime().execs.add(runtime().graphs.find(graph));
  });
}

Error hipGraphLaunch(GraphExec exec, Stream stream) {
  return call(__func__, [&] {
    const auto queue = find_queue(stream);
    runtime().device(queue->device).check();
    submit(queue, [graph = runtime().execs.find(exec)](Via) {
      for (const StreamOperation& operation : graph->operations) operation(Via::Graph);
    });
  });
}

Error hipGraphGetNodes(Graph graph, GraphNode* nodes, size_t* count) {
  return call(__func__, [&] {
    require(count != nullptr);
    require(nodes == nullptr, hipErrorNotSupported, "nodes are counted only");
    *count = runtime().graphs.find(graph)->operations.size();
  });
}

Error hipGraphDestroy(Graph graph) {
  return call(__func__, [&] { runtime().graphs.remove(graph); });
}

Error hipGraphExecDestroy(GraphExec exec) {
  return call(__func__, [&] { runtime().execs.remove(exec); });
}

}  // namespace wave::hip
