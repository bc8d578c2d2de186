// Tests of captures over several streams, and of what a capture makes of calls that do not become one node: a part of
// the program of hip_emulator_test.cpp.
#include <array>
#include <atomic>

#include "hip_program.h"

namespace {

constexpr int kInvalid = 1, kUnjoined = 904;

int type_of(hip::GraphNode node) {
  hip::NodeType type{};
  OK(api.hipGraphNodeGetType(node, &type));
  return static_cast<int>(type);
}

/// Streams that the first one of them has forked from its capture.
struct Forked {
  explicit Forked(int count) : data(16) {
    for (int i = 0; i < count; ++i) streams.push_back(new_stream());
    OK(api.hipStreamBeginCapture(streams[0], hip::kCaptureModeGlobal));
    OK(api.hipEventRecord(event, streams[0]));
    for (int i = 1; i < count; ++i) OK(api.hipStreamWaitEvent(streams[i], event, 0));
  }
  void work(int stream) { OK(api.hipMemsetAsync(data.data, 0, 4, streams[stream])); }
  void record(int stream) { OK(api.hipEventRecord(event, streams[stream])); }
  void wait(int stream) { OK(api.hipStreamWaitEvent(streams[stream], event, 0)); }
  hip::Error end() {
    hip::Graph graph = nullptr;
    const hip::Error error = api.hipStreamEndCapture(streams[0], &graph);
    if (error == 0) OK(api.hipGraphDestroy(graph));
    for (const hip::Stream stream : streams) OK(api.hipStreamDestroy(stream));
    return error;
  }
  Buffer<int> data;
  std::vector<hip::Stream> streams;
  hip::Event event = new_event();
};

/// All that streams did must come before what the capture's own did last, however it is waited for.
TEST(captures_join) {
  Forked late(2);  // work behind the event that is waited for
  late.work(1), late.record(1), late.work(1), late.wait(0);
  EXPECT_EQ(late.end(), kUnjoined);
  Forked elsewhere(3);  // waited for by a stream for which nobody waits
  elsewhere.work(1), elsewhere.record(1), elsewhere.wait(2);
  EXPECT_EQ(elsewhere.end(), kUnjoined);
  Forked through(3);
  through.work(1), through.record(1), through.wait(2), through.record(2), through.wait(0);
  EXPECT_EQ(through.end(), 0);
  Forked worked(3);
  worked.work(1), worked.record(1), worked.wait(2), worked.work(2), worked.record(2), worked.wait(0);
  EXPECT_EQ(worked.end(), 0);
  Forked again(2);  // the stream waits for the first one's work once more, and does nothing
  again.work(1), again.record(1), again.wait(0), again.work(0), again.record(0), again.wait(1);
  EXPECT_EQ(again.end(), 0);
}

/// A stream whose dependencies the program takes away has nothing that must be waited for.
TEST(captures_without_dependencies) {
  Forked forked(2);
  forked.work(1);
  OK(api.hipStreamUpdateCaptureDependencies(forked.streams[1], nullptr, 0, 1));
  forked.work(0);
  EXPECT_EQ(forked.end(), 0);
}

/// Nobody can ask for, or wait for, what a capture records: the capture ends in an error.
TEST(captures_that_are_asked_for) {
  constexpr int kUnsupported = 900, kInvalidated = 901, kCaptured = 907;
  const hip::Stream stream = new_stream();
  const hip::Event event = new_event(), other = new_event();
  hip::Graph graph = nullptr;
  float time = 0;
  for (const int how : {0, 1, 2, 3, 4}) {
    OK(api.hipStreamBeginCapture(stream, hip::kCaptureModeRelaxed));
    OK(api.hipEventRecord(event, stream));
    OK(api.hipEventQuery(other));
    if (how == 1) EXPECT_EQ(api.hipEventQuery(event), kCaptured);
    if (how == 2) EXPECT_EQ(api.hipEventSynchronize(event), kCaptured);
    if (how == 3) EXPECT_EQ(api.hipStreamQuery(stream), kUnsupported);
    if (how == 4) EXPECT_EQ(api.hipEventElapsedTime(&time, other, event), kCaptured);
    EXPECT_EQ(api.hipStreamEndCapture(stream, &graph), how == 0 ? 0 : kInvalidated);
    EXPECT_EQ(api.hipEventQuery(event), kCaptured);  // which was not recorded since
  }
}

/// What is waited for twice comes before the next node once, and is told so.
TEST(captures_that_wait_twice) {
  Forked forked(2);
  forked.work(0), forked.record(0), forked.wait(1), forked.wait(1);
  hip::CaptureStatus status{};
  size_t count = 0;
  OK(api.hipStreamGetCaptureInfo_v2(forked.streams[1], &status, nullptr, nullptr, nullptr, &count));
  EXPECT_EQ(count, 1u);
  EXPECT_EQ(forked.end(), 0);
}

/// No memory is no node.
TEST(captures_of_no_memory) {
  const hip::Stream stream = new_stream();
  hip::Graph graph = nullptr;
  size_t count = 7;
  void* pointer = &count;
  OK(api.hipStreamBeginCapture(stream, hip::kCaptureModeGlobal));
  OK(api.hipMallocAsync(&pointer, 0, stream));
  EXPECT_EQ(pointer == nullptr, true);
  OK(api.hipStreamEndCapture(stream, &graph));
  OK(api.hipGraphGetNodes(graph, nullptr, &count));
  EXPECT_EQ(count, 0u);
  OK(api.hipGraphDestroy(graph));
}

struct Counter {
  static void count(void* data) { ++*static_cast<std::atomic<int>*>(data); }
  hip::HostParameters function() { return {count, &calls}; }
  std::atomic<int> calls{0};
};

hip::GraphExec ready(hip::Graph graph) {
  hip::GraphExec exec = nullptr;
  OK(api.hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
  return exec;
}

/// A graph that is launched in a capture is a child of it.
TEST(captures_of_launches) {
  Counter counter;
  const hip::HostParameters function = counter.function();
  const hip::Stream stream = new_stream();
  hip::Graph graph = nullptr, captured = nullptr, inner = nullptr;
  hip::GraphNode node = nullptr;
  OK(api.hipGraphCreate(&graph, 0));
  OK(api.hipGraphAddHostNode(&node, graph, nullptr, 0, &function));
  const hip::GraphExec exec = ready(graph);
  OK(api.hipStreamBeginCapture(stream, hip::kCaptureModeGlobal));
  OK(api.hipGraphLaunch(exec, stream));
  OK(api.hipStreamEndCapture(stream, &captured));
  size_t count = 1;
  OK(api.hipGraphGetNodes(captured, &node, &count));
  EXPECT_EQ(type_of(node), 4);
  EXPECT_EQ(api.hipGraphChildGraphNodeGetGraph(node, &inner), kInvalid);  // it is ready, and has no nodes to look at
  const hip::GraphExec outer = ready(captured);
  OK(api.hipGraphExecDestroy(exec));
  OK(api.hipGraphDestroy(graph));
  OK(api.hipGraphDestroy(captured));
  for (int i = 0; i < 2; ++i) OK(api.hipGraphLaunch(outer, stream));
  OK(api.hipStreamSynchronize(stream));
  EXPECT_EQ(counter.calls.load(), 2);
  OK(api.hipGraphExecDestroy(outer));
}

/// Events that are said to be outside of the capture become nodes, which record them and wait for them in each launch.
TEST(events_outside_of_captures) {
  constexpr unsigned kExternal = 1;
  constexpr int kNotReady = 600;
  Slow slow;
  const hip::Stream stream = new_stream(), outside = new_stream(), side = new_stream();
  const hip::Event waited = new_event(), recorded = new_event(), fork = new_event(), join = new_event();
  hip::Graph graph = nullptr;
  OK(api.hipEventRecord(waited, outside));
  OK(api.hipStreamBeginCapture(stream, hip::kCaptureModeGlobal));
  OK(api.hipStreamWaitEvent(stream, waited, kExternal));
  OK(api.hipEventRecord(fork, stream));
  OK(api.hipStreamWaitEvent(side, fork, 0));
  OK(api.hipEventRecordWithFlags(recorded, side, kExternal));
  OK(api.hipEventQuery(recorded));  // it was not recorded yet, and is not captured
  OK(api.hipEventRecord(join, side));
  OK(api.hipStreamWaitEvent(stream, join, 0));
  OK(api.hipStreamEndCapture(stream, &graph));
  std::array<hip::GraphNode, 3> nodes{};
  size_t count = nodes.size(), edges = 0;
  OK(api.hipGraphGetNodes(graph, nodes.data(), &count));
  OK(api.hipGraphGetEdges(graph, nullptr, nullptr, &edges));
  EXPECT_EQ(count == 2 && type_of(nodes[0]) == 6 && type_of(nodes[1]) == 7 && edges == 1, true);
  const hip::GraphExec exec = ready(graph);
  for (int i = 0; i < 2; ++i) slow.enqueue(outside);
  OK(api.hipEventRecordWithFlags(waited, outside, kExternal));  // as any event, where nothing is captured
  OK(api.hipGraphLaunch(exec, stream));
  EXPECT_EQ(api.hipEventQuery(recorded), kNotReady);
  OK(api.hipEventSynchronize(recorded));
  EXPECT_EQ(slow.is_done(), true);
  OK(api.hipStreamWaitEvent(stream, recorded, kExternal));
  OK(api.hipStreamSynchronize(stream));
  OK(api.hipGraphExecDestroy(exec));
  OK(api.hipGraphDestroy(graph));
}

/// A node of a child waits for what its event stood for when the graph was launched, and records it then, as others do.
TEST(events_of_children) {
  Slow slow;
  const hip::Stream stream = new_stream();
  const hip::Event waited = new_event(), recorded = new_event();
  hip::Graph child = nullptr, parent = nullptr;
  hip::GraphNode wait = nullptr, record = nullptr, node = nullptr;
  OK(api.hipGraphCreate(&child, 0));
  OK(api.hipGraphCreate(&parent, 0));
  OK(api.hipGraphAddEventWaitNode(&wait, child, nullptr, 0, waited));
  OK(api.hipGraphAddEventRecordNode(&record, child, &wait, 1, recorded));
  OK(api.hipGraphAddEventWaitNode(&node, child, &record, 1, recorded));
  OK(api.hipGraphAddChildGraphNode(&node, parent, nullptr, 0, child));
  const hip::GraphExec exec = ready(parent);
  for (int i = 0; i < 2; ++i) slow.enqueue(stream);
  OK(api.hipGraphLaunch(exec, stream));
  constexpr int kNotReady = 600;
  EXPECT_EQ(api.hipEventQuery(recorded), kNotReady);
  OK(api.hipEventRecord(waited, stream));  // behind the launch, which does not wait for it
  OK(api.hipEventSynchronize(recorded));
  EXPECT_EQ(slow.is_done(), true);
  OK(api.hipStreamSynchronize(stream));
  OK(api.hipGraphExecDestroy(exec));
  for (const hip::Graph graph : {child, parent}) OK(api.hipGraphDestroy(graph));
}

/// The copy of a graph has children of its own.
TEST(copies_have_children_of_their_own) {
  Counter first, second;
  const hip::HostParameters before = first.function(), after = second.function();
  hip::Graph child = nullptr, parent = nullptr, copy = nullptr, inner = nullptr, copied = nullptr;
  hip::GraphNode host = nullptr, node = nullptr, found = nullptr;
  OK(api.hipGraphCreate(&child, 0));
  OK(api.hipGraphCreate(&parent, 0));
  OK(api.hipGraphAddHostNode(&host, child, nullptr, 0, &before));
  OK(api.hipGraphAddChildGraphNode(&node, parent, nullptr, 0, child));
  OK(api.hipGraphClone(&copy, parent));
  OK(api.hipGraphNodeFindInClone(&found, node, copy));
  OK(api.hipGraphChildGraphNodeGetGraph(node, &inner));
  OK(api.hipGraphChildGraphNodeGetGraph(found, &copied));
  EXPECT_EQ(inner != copied, true);
  size_t count = 1;
  OK(api.hipGraphGetNodes(copied, &host, &count));
  OK(api.hipGraphHostNodeSetParams(host, &after));
  const hip::GraphExec original = ready(parent), changed = ready(copy);
  for (const hip::Graph graph : {child, parent, copy}) OK(api.hipGraphDestroy(graph));
  OK(api.hipGraphLaunch(original, nullptr));
  OK(api.hipDeviceSynchronize());
  EXPECT_EQ(first.calls == 1 && second.calls == 0, true);
  OK(api.hipGraphLaunch(changed, nullptr));
  OK(api.hipDeviceSynchronize());
  EXPECT_EQ(first.calls == 1 && second.calls == 1, true);
  for (const hip::GraphExec exec : {original, changed}) OK(api.hipGraphExecDestroy(exec));
}

/// Edges are the graph's that is named, and a call that fails changes none.
TEST(edges_that_are_refused) {
  hip::Graph graph = nullptr, other = nullptr;
  std::array<hip::GraphNode, 3> nodes{}, others{};
  OK(api.hipGraphCreate(&graph, 0));
  OK(api.hipGraphCreate(&other, 0));
  for (hip::GraphNode& node : nodes) OK(api.hipGraphAddEmptyNode(&node, graph, nullptr, 0));
  for (hip::GraphNode& node : others) OK(api.hipGraphAddEmptyNode(&node, other, nullptr, 0));
  const auto edges = [](hip::Graph of) {
    size_t count = 0;
    OK(api.hipGraphGetEdges(of, nullptr, nullptr, &count));
    return count;
  };
  OK(api.hipGraphAddDependencies(other, others.data(), others.data() + 1, 2));
  EXPECT_EQ(api.hipGraphRemoveDependencies(graph, others.data(), others.data() + 1, 1), kInvalid);
  EXPECT_EQ(edges(other), 2u);
  std::array<hip::GraphNode, 2> from{nodes[0], nodes[1]}, to{nodes[1], others[2]};
  EXPECT_EQ(api.hipGraphAddDependencies(graph, from.data(), to.data(), 2), kInvalid);
  from = {nodes[0], nodes[0]}, to = {nodes[1], nodes[1]};  // the same one twice
  EXPECT_EQ(api.hipGraphAddDependencies(graph, from.data(), to.data(), 2), kInvalid);
  EXPECT_EQ(edges(graph), 0u);
  OK(api.hipGraphAddDependencies(graph, from.data(), to.data(), 1));
  from = {nodes[0], nodes[1]}, to = {nodes[1], nodes[2]};
  EXPECT_EQ(api.hipGraphRemoveDependencies(graph, from.data(), to.data(), 2), kInvalid);
  EXPECT_EQ(edges(graph), 1u);
  for (const hip::Graph made : {graph, other}) OK(api.hipGraphDestroy(made));
}

/// As in AMD's runtime: what a graph allocates is its alone, and stays.
TEST(nodes_of_memory_stay) {
  constexpr int kNotSupported = 801;
  hip::Graph graph = nullptr, copy = nullptr;
  hip::GraphNode allocate = nullptr, release = nullptr;
  hip::AllocationParameters parameters{};
  parameters.pool = {hip::kPinned, 0, {hip::kLocationDevice, 0}, nullptr, 0, {}};
  parameters.size = 64;
  OK(api.hipGraphCreate(&graph, 0));
  OK(api.hipGraphAddMemAllocNode(&allocate, graph, nullptr, 0, &parameters));
  OK(api.hipGraphAddMemFreeNode(&release, graph, &allocate, 1, parameters.pointer));
  EXPECT_EQ(api.hipGraphClone(&copy, graph), kNotSupported);
  EXPECT_EQ(api.hipGraphDestroyNode(allocate), kNotSupported);
  EXPECT_EQ(api.hipGraphDestroyNode(release), kNotSupported);
  OK(api.hipGraphDestroy(graph));
}

}  // namespace
