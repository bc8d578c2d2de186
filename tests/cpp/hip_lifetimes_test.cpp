// Tests of streams, graphs, nodes and objects that end while others still use them: a part of the program of
// hip_emulator_test.cpp.
#include <array>
#include <atomic>
#include <chrono>
#include <thread>

#include "hip_program.h"

namespace {

constexpr int kInvalid = 1, kInvalidHandle = 400, kIllegalState = 401;

/// Work that lasts until let_go() or the end: the stream waits for a value that nobody has written yet.
struct Held {
  Held() { OK(api.hipHostMalloc(reinterpret_cast<void**>(&value), sizeof(*value), 0)), *value = 0; }
  Held(const Held&) = delete;
  ~Held() { let_go(); }
  void hold(hip::Stream stream) const { OK(api.hipStreamWaitValue32(stream, value, 1, hip::kWaitEqual, ~0u)); }
  void let_go() const { std::atomic_ref<unsigned>(*value).store(1); }
  unsigned* value = nullptr;
};

void let_go_soon(const Held& held) {
  std::thread([&held] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    held.let_go();
  }).detach();
}

/// While one thread destroys a stream, which waits for its work, others wait for that work as before.
TEST(streams_that_are_being_destroyed) {
  static Held& held = *new Held;  // which threads use to the end
  const Buffer<int> data(std::vector<int>(1, 0));
  for (const bool by_copy : {false, true}) {
    OK(api.hipMemset(data.data, 0, sizeof(int)));
    OK(api.hipDeviceSynchronize());
    *held.value = 0;
    const hip::Stream stream = new_stream(0);
    held.hold(stream);
    OK(api.hipMemsetD32Async(data.data, 7, 1, stream));
    std::atomic<bool> begins{false};
    std::thread destroys([&] {
      begins = true;
      OK(api.hipStreamDestroy(stream));
    });
    while (!begins) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    let_go_soon(held);
    int found = 0;
    if (!by_copy) OK(api.hipDeviceSynchronize());
    OK(api.hipMemcpy(&found, data.data, sizeof(found), hip::kDeviceToHost));
    EXPECT_EQ(found, 7);
    destroys.join();
  }
}

/// The same where a thread has ended, and with it its hipStreamPerThread, for whose work it does not wait.
TEST(streams_of_threads_that_end) {
  static Held& held = *new Held;
  const Buffer<int> data(std::vector<int>(1, 0));
  std::thread ends([&] {
    held.hold(kPerThread);
    OK(api.hipMemsetD32Async(data.data, 7, 1, kPerThread));
  });
  ends.join();
  let_go_soon(held);
  OK(api.hipDeviceSynchronize());
  EXPECT_EQ(data.values()[0], 7);
  EXPECT_EQ(api.hipStreamDestroy(kPerThread), kInvalidHandle);
}

/// A capture ends with the thread whose stream it began in: other streams are free again.
TEST(captures_of_threads_that_end) {
  const hip::Stream side = new_stream();
  const hip::Event fork = new_event();
  hip::Graph graph = nullptr;
  std::thread([&] {
    OK(api.hipStreamBeginCapture(kPerThread, hip::kCaptureModeGlobal));
    OK(api.hipEventRecord(fork, kPerThread));
    OK(api.hipStreamWaitEvent(side, fork, 0));
  }).join();
  OK(api.hipDeviceSynchronize());
  EXPECT_EQ(api.hipStreamEndCapture(side, &graph), kIllegalState);
  OK(api.hipStreamSynchronize(side));
}

/// What comes next in a capture no longer depends on a node that was destroyed.
TEST(nodes_that_are_destroyed_in_a_capture) {
  const hip::Stream stream = new_stream(), side = new_stream();
  const hip::Event fork = new_event(), join = new_event();
  const Buffer<int> data(16);
  hip::Graph seen = nullptr, graph = nullptr;
  hip::CaptureStatus status{};
  const hip::GraphNode* last = nullptr;
  size_t count = 0;
  OK(api.hipStreamBeginCapture(stream, hip::kCaptureModeGlobal));
  OK(api.hipMemsetAsync(data.data, 0, 8, stream));
  OK(api.hipEventRecord(fork, stream));
  OK(api.hipStreamGetCaptureInfo_v2(stream, &status, nullptr, &seen, &last, &count));
  EXPECT_EQ(count, 1u);
  OK(api.hipGraphDestroyNode(last[0]));
  OK(api.hipStreamGetCaptureInfo_v2(stream, &status, nullptr, &seen, &last, &count));
  EXPECT_EQ(count, 0u);
  OK(api.hipStreamWaitEvent(side, fork, 0));
  OK(api.hipMemsetAsync(data.data, 0, 8, side));
  OK(api.hipEventRecord(join, side));
  OK(api.hipMemsetAsync(data.data + 2, 0, 8, stream));
  OK(api.hipStreamWaitEvent(stream, join, 0));
  OK(api.hipStreamEndCapture(stream, &graph));
  size_t nodes = 0, edges = 7;
  OK(api.hipGraphGetNodes(graph, nullptr, &nodes));
  OK(api.hipGraphGetEdges(graph, nullptr, nullptr, &edges));
  EXPECT_EQ(nodes == 2 && edges == 0, true);
  OK(api.hipGraphDestroy(graph));
}

struct Counted {
  static void count(void* data) { ++*static_cast<std::atomic<int>*>(data); }
  /// A graph that alone refers to an object.
  hip::Graph graph() {
    hip::UserObject object = nullptr;
    hip::Graph made = nullptr;
    OK(api.hipUserObjectCreate(&object, &ended, count, 1, 1));
    OK(api.hipGraphCreate(&made, 0));
    OK(api.hipGraphRetainUserObject(made, object, 1, 1));
    return made;
  }
  std::atomic<int> ended{0};
};

/// A node's child ends with the node, or with its graph, and what it refers to with it; a graph that is ready keeps
/// what it needs.
TEST(children_end_with_their_nodes) {
  Counted counted;
  hip::Graph parent = nullptr, child = nullptr;
  hip::GraphNode node = nullptr, foreign = nullptr;
  size_t count = 0;
  for (const bool with_node : {false, true}) {
    counted.ended = 0;
    const hip::Graph given = counted.graph();
    OK(api.hipGraphCreate(&parent, 0));
    OK(api.hipGraphAddEmptyNode(&foreign, given, nullptr, 0));
    EXPECT_EQ(api.hipGraphAddChildGraphNode(&node, parent, &foreign, 1, given), kInvalid);  // of which nothing is left
    OK(api.hipGraphAddChildGraphNode(&node, parent, nullptr, 0, given));
    OK(api.hipGraphDestroy(given));
    OK(api.hipGraphChildGraphNodeGetGraph(node, &child));
    OK(api.hipGraphGetNodes(child, nullptr, &count));
    EXPECT_EQ(counted.ended.load(), 0);
    if (with_node) OK(api.hipGraphDestroyNode(node));
    if (!with_node) OK(api.hipGraphDestroy(parent));
    EXPECT_EQ(counted.ended.load(), 1);
    EXPECT_EQ(api.hipGraphGetNodes(child, nullptr, &count), kInvalid);
  }
  const hip::Graph given = counted.graph();
  hip::GraphExec exec = nullptr;
  OK(api.hipGraphAddChildGraphNode(&node, parent, nullptr, 0, given));
  OK(api.hipGraphInstantiate(&exec, parent, nullptr, nullptr, 0));
  OK(api.hipGraphDestroy(given));
  OK(api.hipGraphDestroy(parent));
  EXPECT_EQ(counted.ended.load(), 1);
  OK(api.hipGraphExecDestroy(exec));
  EXPECT_EQ(counted.ended.load(), 2);
}

/// A graph ends though events live that were recorded when it was captured.
TEST(graphs_that_were_captured_end) {
  Counted counted;
  const hip::Stream stream = new_stream();
  const hip::Event event = new_event();
  const Buffer<int> data(1);
  for (const bool is_lost : {false, true}) {
    counted.ended = 0;
    const hip::Graph given = counted.graph();
    hip::Graph graph = nullptr;
    OK(api.hipStreamBeginCaptureToGraph(stream, given, nullptr, nullptr, 0, hip::kCaptureModeGlobal));
    OK(api.hipMemsetAsync(data.data, 0, 4, stream));
    OK(api.hipEventRecord(event, stream));
    if (is_lost) EXPECT_EQ(api.hipStreamSynchronize(stream), 900);
    EXPECT_EQ(api.hipStreamEndCapture(stream, &graph), is_lost ? 901 : 0);
    OK(api.hipGraphDestroy(given));
    EXPECT_EQ(counted.ended.load(), 1);
  }
}

/// The function that ends an object may call HIP, whoever lets go of it last: where that is a stream's thread, the
/// function must not wait.
TEST(functions_that_end_objects_call_hip) {
  static std::array<std::atomic<int>, 3> results;
  static hip::Event event = new_event();
  const auto end = [](void*) {
    results[0] = api.hipEventRecord(event, nullptr);
    results[1] = api.hipDeviceSynchronize();
    results[2] = 1;
  };
  const auto made = [&](hip::UserObject* object) {
    hip::Graph graph = nullptr;
    OK(api.hipUserObjectCreate(object, &results, end, 1, 1));
    OK(api.hipGraphCreate(&graph, 0));
    OK(api.hipGraphRetainUserObject(graph, *object, 1, 1));
    for (auto& result : results) result = 0;
    return graph;
  };
  hip::UserObject object = nullptr;
  hip::Graph graph = made(&object);
  OK(api.hipGraphReleaseUserObject(graph, object, 1));
  EXPECT_EQ(results[0] == 0 && results[1] == 0 && results[2] == 1, true);
  OK(api.hipGraphDestroy(graph));

  static Held& held = *new Held;
  const hip::Stream stream = new_stream();
  hip::GraphExec exec = nullptr;
  graph = made(&object);
  OK(api.hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
  OK(api.hipGraphDestroy(graph));
  held.hold(stream);
  OK(api.hipGraphLaunch(exec, stream));
  OK(api.hipGraphExecDestroy(exec));
  EXPECT_EQ(results[2].load(), 0);
  held.let_go();
  OK(api.hipStreamSynchronize(stream));
  EXPECT_EQ(results[0] == 0 && results[1] == kIllegalState && results[2] == 1, true);
}

/// Threads that capture, make ready, change, launch and destroy graphs of their own, and launch and change one that
/// they share, while events of it are waited for.
TEST(graphs_of_many_threads) {
  constexpr int kThreads = 4, kRounds = 60, kWords = 64;
  Counted counted;
  static std::atomic<int> calls;
  const hip::HostParameters function{Counted::count, &calls};
  const hip::Event event = new_event();
  const hip::Stream common = new_stream();
  hip::Graph graph = counted.graph(), child = nullptr;
  hip::GraphNode node = nullptr, host = nullptr, record = nullptr;
  hip::GraphExec shared = nullptr;
  OK(api.hipGraphCreate(&child, 0));
  OK(api.hipGraphAddEventWaitNode(&node, child, nullptr, 0, event));
  OK(api.hipGraphAddChildGraphNode(&node, graph, nullptr, 0, child));
  OK(api.hipGraphAddHostNode(&host, graph, &node, 1, &function));
  OK(api.hipGraphAddEventRecordNode(&record, graph, &host, 1, event));
  OK(api.hipGraphInstantiate(&shared, graph, nullptr, nullptr, 0));
  OK(api.hipGraphDestroy(graph));
  const auto work = [&](unsigned number) {
    const hip::Stream own = new_stream(number % 2), side = new_stream();
    const hip::Event fork = new_event(), join = new_event();
    hip::CaptureMode mode = hip::kCaptureModeThreadLocal;
    OK(api.hipThreadExchangeStreamCaptureMode(&mode));
    unsigned* data = nullptr;
    OK(api.hipMallocAsync(reinterpret_cast<void**>(&data), 2 * kWords * sizeof(unsigned), own));
    for (unsigned round = 0; round < kRounds; ++round) {
      hip::Graph made = nullptr;
      hip::GraphExec exec = nullptr;
      OK(api.hipStreamBeginCapture(own, hip::kCaptureModeThreadLocal));
      OK(api.hipMemsetD32Async(data, static_cast<int>(round), kWords, own));
      OK(api.hipEventRecord(fork, own));
      OK(api.hipStreamWaitEvent(side, fork, 0));
      OK(api.hipMemcpyAsync(data + kWords, data, kWords * sizeof(unsigned), hip::kDeviceToDevice, side));
      OK(api.hipEventRecord(join, side));
      OK(api.hipStreamWaitEvent(own, join, 0));
      OK(api.hipStreamEndCapture(own, &made));
      OK(api.hipGraphInstantiate(&exec, made, nullptr, nullptr, 0));
      OK(api.hipGraphDestroy(made));
      OK(api.hipGraphLaunch(exec, own));
      OK(api.hipGraphLaunch(shared, round % 2 == 0 ? own : common));
      OK(api.hipGraphExecHostNodeSetParams(shared, host, &function));
      OK(api.hipGraphExecDestroy(exec));
      OK(api.hipStreamWaitEvent(own, event, 0));
      unsigned found = 0;
      OK(api.hipMemcpyAsync(&found, data + 2 * kWords - 1, sizeof(found), hip::kDeviceToHost, own));
      EXPECT_EQ(found, round);
    }
    OK(api.hipFreeAsync(data, own));
    for (const hip::Event ended : {fork, join}) OK(api.hipEventDestroy(ended));
    for (const hip::Stream ended : {own, side}) OK(api.hipStreamDestroy(ended));
  };
  std::vector<std::thread> workers;
  for (unsigned i = 0; i < kThreads; ++i) workers.emplace_back(work, i);
  for (std::thread& worker : workers) worker.join();
  OK(api.hipStreamSynchronize(common));
  EXPECT_EQ(calls.load(), kThreads * kRounds);
  OK(api.hipGraphExecDestroy(shared));
  OK(api.hipGraphDestroy(child));
  EXPECT_EQ(counted.ended.load(), 1);
}

/// Streams wait no longer for a value that nobody will write, since the device has failed.
TEST(waits_end_where_the_device_has_failed) {
  const Loaded module(basics());
  const Held held;
  const hip::Stream stream = new_stream(), other = new_stream();
  const hip::Event begun = new_event();
  const Buffer<float> a(ramp(0));
  OK(api.hipEventRecord(begun, stream));
  held.hold(stream);
  OK(api.hipEventSynchronize(begun));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // until it has begun to wait
  OK(launch(module["vector_add"], 4, 256, other, a.data, a.data, reinterpret_cast<float*>(16), kCount));
  OK(api.hipStreamWriteValue32(other, held.value, 1, 0));
  EXPECT_EQ(api.hipDeviceSynchronize(), 700);
  EXPECT_EQ(*held.value, 0u);
}

/// Values in memory that was freed, or that a graph does not have now, are the device's error, like a copy's.
TEST(values_in_memory_that_is_gone) {
  const hip::Stream stream = new_stream();
  constexpr int kIllegalAddress = 700;
  for (const bool writes : {true, false}) {
    unsigned* memory = nullptr;
    hip::Graph graph = nullptr;
    hip::GraphExec exec = nullptr;
    OK(api.hipMalloc(reinterpret_cast<void**>(&memory), 64));
    OK(api.hipMemsetD32(memory, 5, 1));
    OK(api.hipDeviceSynchronize());
    OK(api.hipStreamBeginCapture(stream, hip::kCaptureModeRelaxed));
    OK(writes ? api.hipStreamWriteValue32(stream, memory, 5, 0)
              : api.hipStreamWaitValue32(stream, memory, 5, hip::kWaitEqual, ~0u));
    OK(api.hipStreamEndCapture(stream, &graph));
    OK(api.hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
    OK(api.hipGraphLaunch(exec, stream));
    OK(api.hipStreamSynchronize(stream));
    OK(api.hipFree(memory));
    OK(api.hipGraphLaunch(exec, stream));
    EXPECT_EQ(api.hipStreamSynchronize(stream), kIllegalAddress);
    OK(api.hipDeviceReset());
    OK(api.hipGraphExecDestroy(exec));
    OK(api.hipGraphDestroy(graph));
  }
  hip::Graph graph = nullptr;
  hip::GraphNode node = nullptr;
  hip::AllocationParameters parameters{};
  parameters.pool = {hip::kPinned, 0, {hip::kLocationDevice, 0}, nullptr, 0, {}};
  parameters.size = 64;
  OK(api.hipGraphCreate(&graph, 0));
  OK(api.hipGraphAddMemAllocNode(&node, graph, nullptr, 0, &parameters));
  OK(api.hipStreamWriteValue32(stream, parameters.pointer, 5, 0));  // which no launch has allocated
  EXPECT_EQ(api.hipStreamSynchronize(stream), kIllegalAddress);
  OK(api.hipGraphDestroy(graph));
}

}  // namespace
