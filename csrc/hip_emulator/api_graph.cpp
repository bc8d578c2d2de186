// Stream capture and graphs.
#include <algorithm>
#include <bit>
#include <set>

#include "hip_emulator/api.h"
#include "hip_emulator/graph_events.h"
#include "hip_emulator/graph_memory.h"

namespace wave::hip {

namespace {

/// These nodes, and all that come before them.
std::set<const NodeRecord*> up_to(const std::vector<NodeRecord*>& nodes) {
  std::set<const NodeRecord*> result;
  std::vector<const NodeRecord*> next(nodes.begin(), nodes.end());
  while (!next.empty()) {
    const NodeRecord* const node = next.back();
    next.pop_back();
    if (result.insert(node).second) next.insert(next.end(), node->dependencies.begin(), node->dependencies.end());
  }
  return result;
}

/// Why a capture gives no graph; hipSuccess where it gives one. What other streams did last must come before what the
/// first one did last.
Code result(Capture& capture) {
  if (capture.is_invalid) return hipErrorStreamCaptureInvalidated;
  const std::set<const NodeRecord*> joined = up_to(capture.last[capture.origin]);
  for (const auto& [queue, has_worked] : capture.joined) {
    const auto is_joined = [&](const NodeRecord* node) { return joined.contains(node); };
    if (has_worked && !std::ranges::all_of(capture.last[queue.get()], is_joined)) return hipErrorStreamCaptureUnjoined;
  }
  return hipSuccess;
}

CaptureStatus status_of(const Queue& queue) {
  if (queue.capture == nullptr) return kCaptureNone;
  return queue.capture->is_invalid ? kCaptureInvalidated : kCaptureActive;
}

/// The graph that a capture makes, for which the program may ask before it is ready.
Graph handle_of(Capture& capture) {
  if (capture.handle == nullptr) capture.handle = runtime().graphs.add(capture.graph);
  return capture.handle;
}

/// Of a stream that is being captured.
Capture& active_capture(const Queue& queue) {
  require(queue.capture != nullptr, hipErrorIllegalState);
  require(!queue.capture->is_invalid, hipErrorStreamCaptureInvalidated);
  return *queue.capture;
}

/// Adds a node, once, to those that what comes next depends on.
void add_dependency(std::vector<NodeRecord*>& last, const Capture& capture, GraphNode handle) {
  NodeRecord* const node = runtime().nodes.find(handle).get();
  require(node->graph == capture.graph.get(), hipErrorInvalidValue, "the node is of another graph");
  if (std::ranges::find(last, node) == last.end()) last.push_back(node);
}

/// Begins a capture that `prepare` has changed.
template <class Prepare>
void begin_capture(Stream stream, CaptureMode mode, const Prepare& prepare) {
  require(mode >= kCaptureModeGlobal && mode <= kCaptureModeRelaxed);
  const auto queue = find_queue(stream);
  require(!queue->is_null, hipErrorStreamCaptureUnsupported);
  std::lock_guard lock(runtime().order);
  require(queue->capture == nullptr, hipErrorIllegalState);
  auto capture = std::make_shared<Capture>(next_handle(), mode, std::this_thread::get_id(), queue.get());
  prepare(*capture);
  runtime().captures.insert(capture);
  queue->capture = std::move(capture);
}

}  // namespace

Error hipStreamBeginCapture(Stream stream, CaptureMode mode) {
  return call(__func__, [&] { begin_capture(stream, mode, [](Capture&) {}); });
}

Error hipStreamBeginCaptureToGraph(Stream stream, Graph graph, const GraphNode* dependencies, const EdgeData* edges,
                                   size_t count, CaptureMode mode) {
  return call(__func__, [&] {
    require(edges == nullptr, hipErrorNotSupported, "edges have no data");
    require((dependencies == nullptr) == (count == 0));
    const auto found = runtime().graphs.find(graph);
    begin_capture(stream, mode, [&](Capture& capture) {
      capture.graph = found;
      capture.handle = graph;
      capture.is_of_program = true;
      for (size_t i = 0; i < count; ++i) add_dependency(capture.last[capture.origin], capture, dependencies[i]);
    });
  });
}

Error hipStreamEndCapture(Stream stream, Graph* graph) {
  return call(__func__, [&] {
    require(graph != nullptr);
    *graph = nullptr;
    const auto queue = find_queue(stream);
    std::shared_ptr<OperationGraph> captured;  // which may end, without the lock: its objects may call HIP
    std::lock_guard lock(runtime().order);
    const std::shared_ptr<Capture> capture = queue->capture;
    require(capture != nullptr, hipErrorIllegalState);
    require(capture->origin == queue.get(), hipErrorStreamCaptureUnmatched);
    require(capture->mode == kCaptureModeRelaxed || capture->thread == std::this_thread::get_id(),
            hipErrorStreamCaptureWrongThread);
    const Code code = result(*capture);
    captured = end_capture(*queue);
    const bool is_lost = code != hipSuccess && !capture->is_of_program;
    if (is_lost && capture->handle != nullptr) runtime().graphs.remove(capture->handle);
    require(code == hipSuccess, code);
    *graph = capture->handle != nullptr ? capture->handle : runtime().graphs.add(captured);
  });
}

Error hipStreamGetCaptureInfo(Stream stream, CaptureStatus* status, unsigned long long* id) {
  return call(__func__, [&] {
    require(status != nullptr);
    const auto queue = find_queue(stream);
    std::lock_guard lock(runtime().order);
    check_null_stream(*queue);
    *status = status_of(*queue);
    if (id != nullptr && queue->capture != nullptr) *id = queue->capture->id;
  });
}

Error hipStreamGetCaptureInfo_v2(Stream stream, CaptureStatus* status, unsigned long long* id, Graph* graph,
                                 const GraphNode** dependencies, size_t* count) {
  return call(__func__, [&] {
    require(status != nullptr);
    const auto queue = find_queue(stream);
    std::lock_guard lock(runtime().order);
    check_null_stream(*queue);
    *status = status_of(*queue);
    if (*status != kCaptureActive) return;
    Capture& capture = *queue->capture;
    std::vector<GraphNode>& shown = capture.shown[queue.get()];
    shown.clear();
    for (const NodeRecord* node : capture.last[queue.get()]) shown.push_back(node->handle);
    if (id != nullptr) *id = capture.id;
    if (graph != nullptr) *graph = handle_of(capture);
    if (dependencies != nullptr) *dependencies = shown.data();
    if (count != nullptr) *count = shown.size();
  });
}

Error hipStreamUpdateCaptureDependencies(Stream stream, GraphNode* dependencies, size_t count, unsigned flags) {
  return call(__func__, [&] {
    constexpr unsigned kSet = 1;
    require(flags <= kSet && (count == 0 || dependencies != nullptr));
    const auto queue = find_queue(stream);
    std::lock_guard lock(runtime().order);
    Capture& capture = active_capture(*queue);
    std::vector<NodeRecord*> last = flags == kSet ? std::vector<NodeRecord*>() : capture.last[queue.get()];
    for (size_t i = 0; i < count; ++i) add_dependency(last, capture, dependencies[i]);
    capture.last[queue.get()] = std::move(last);
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

namespace {

/// As with AMD's runtime, one flag at most.
void check_flags(unsigned long long flags) {
  constexpr unsigned long long kAll = 15;
  require(flags <= kAll && std::popcount(flags) <= 1);
}

void instantiate(GraphExec* exec, Graph graph, unsigned long long flags) {
  require(exec != nullptr);
  const auto found = runtime().graphs.find(graph);
  std::lock_guard lock(runtime().order);
  require(!found->has_memory() || found->ready.expired(), hipErrorNotSupported,
          "a graph that allocates or frees memory is instantiated once at a time");
  auto objects = std::make_shared<const OwnedObjects>(found->objects);
  auto ready = std::make_shared<ReadyGraph>(make_ready(*found), flags, std::move(objects));
  found->ready = ready;
  *exec = runtime().execs.add(std::move(ready));
}

/// Of what a graph can leave out: kernels, copies and fills. Throws hipErrorInvalidValue for other nodes.
void check_can_be_disabled(const ReadyNode& node) {
  const NodeWork& work = node.operation.work;
  require(std::holds_alternative<KernelWork>(work) || std::holds_alternative<CopyWork>(work) ||
          std::holds_alternative<FillWork>(work));
}

}  // namespace

Error hipGraphInstantiate(GraphExec* exec, Graph graph, GraphNode* error_node, char* log, size_t log_size) {
  return call(__func__, [&] {
    if (error_node != nullptr) *error_node = nullptr;
    if (log != nullptr && log_size > 0) log[0] = '\0';
    instantiate(exec, graph, 0);
  });
}

Error hipGraphInstantiateWithFlags(GraphExec* exec, Graph graph, unsigned long long flags) {
  return call(__func__, [&] {
    check_flags(flags);
    instantiate(exec, graph, flags);
  });
}

Error hipGraphInstantiateWithParams(GraphExec* exec, Graph graph, InstantiateParameters* parameters) {
  return call(__func__, [&] {
    constexpr unsigned long long kUpload = 2;
    constexpr int kSuccess = 0, kError = 1;
    require(parameters != nullptr);
    parameters->result = kError;
    const unsigned long long flags = parameters->flags;
    check_flags(flags);
    if (flags == kUpload) find_queue(parameters->upload);
    instantiate(exec, graph, flags);
    parameters->result = kSuccess;
    parameters->error_node = nullptr;
  });
}

Error hipGraphExecGetFlags(GraphExec exec, unsigned long long* flags) {
  return call(__func__, [&] {
    require(flags != nullptr);
    *flags = runtime().execs.find(exec)->flags;
  });
}

Error hipGraphExecUpdate(GraphExec exec, Graph graph, GraphNode* error_node, UpdateResult* result) {
  return call(__func__, [&] {
    require(error_node != nullptr && result != nullptr);
    const auto updated = runtime().execs.find(exec);
    const auto found = runtime().graphs.find(graph);
    std::shared_ptr<const ReadyNodes> before;  // which end without the lock: objects of children may call HIP
    std::lock_guard lock(runtime().order);
    before = updated->nodes;
    auto nodes = std::make_shared<ReadyNodes>(*make_ready(*found));
    *error_node = nullptr;
    *result = compare(*before, *nodes, error_node);
    require(*result == kUpdateSuccess, hipErrorGraphExecUpdateFailure);
    for (size_t i = 0; i < nodes->size(); ++i) {  // which are still named by the graph that they were made of
      (*nodes)[i].node = (*before)[i].node;
      (*nodes)[i].enabled = (*before)[i].enabled;
    }
    updated->nodes = std::move(nodes);
  });
}

Error hipGraphNodeSetEnabled(GraphExec exec, GraphNode node, unsigned enabled) {
  return call(__func__, [&] {
    const auto found = runtime().execs.find(exec);
    runtime().nodes.find(node);  // must still be there
    std::lock_guard lock(runtime().order);
    found->change(node, [&](ReadyNode& ready) {
      check_can_be_disabled(ready);
      ready.enabled = enabled != 0;
    });
  });
}

Error hipGraphNodeGetEnabled(GraphExec exec, GraphNode node, unsigned* enabled) {
  return call(__func__, [&] {
    require(enabled != nullptr);
    const auto found = runtime().execs.find(exec);
    runtime().nodes.find(node);  // must still be there
    std::lock_guard lock(runtime().order);
    const auto ready = std::ranges::find(*found->nodes, node, &ReadyNode::node);
    require(ready != found->nodes->end());
    check_can_be_disabled(*ready);
    *enabled = ready->enabled;
  });
}

/// There is nothing to be moved to the device.
Error hipGraphUpload(GraphExec exec, Stream stream) {
  return call(__func__, [&] {
    find_queue(stream);
    runtime().execs.find(exec);
  });
}

Error hipGraphLaunch(GraphExec exec, Stream stream) {
  return call(__func__, [&] {
    const auto queue = find_queue(stream);
    runtime().device(queue->device).check();
    const auto found = runtime().execs.find(exec);
    std::unique_lock lock(runtime().order);
    const auto nodes = found->nodes;
    const auto objects = found->objects;  // which stay until the launch is over
    if (queue->capture != nullptr) {
      submit_locked(queue, {[objects](Via) {}, ChildWork{nullptr, nullptr, nodes}});
      return;
    }
    check_memory(*found);
    const auto events = std::make_shared<const EventsOfLaunch>(nodes);
    const auto run = [objects, events](Via) { events->run(); };
    const auto marker = submit_locked(queue, run, {}, events->before());
    events->record(*marker);
    promise_memory(*nodes);
    lock.unlock();
    wait_if_asked(*queue, marker.get());
  });
}

Error hipGraphDestroy(Graph graph) {
  return call(__func__, [&] { runtime().graphs.remove(graph); });
}

Error hipGraphExecDestroy(GraphExec exec) {
  return call(__func__, [&] { runtime().execs.remove(exec); });
}

}  // namespace wave::hip
