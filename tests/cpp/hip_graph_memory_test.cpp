// Tests of memory that graphs allocate, and of events that they record.
#include <atomic>
#include <thread>

#include "hip_program.h"

namespace {

constexpr int kInvalid = 1;

int type_of(hip::GraphNode node) {
  hip::NodeType type{};
  OK(api.hipGraphNodeGetType(node, &type));
  return static_cast<int>(type);
}

void launch_now(hip::GraphExec exec) {
  OK(api.hipGraphLaunch(exec, nullptr));
  OK(api.hipDeviceSynchronize());
}

uint64_t graph_memory(int attribute) {
  uint64_t value = 0;
  OK(api.hipDeviceGetGraphMemAttribute(0, static_cast<hip::GraphMemoryAttribute>(attribute), &value));
  return value;
}

hip::AllocationParameters allocation(size_t size) {
  hip::AllocationParameters parameters{};
  parameters.pool = {hip::kPinned, 0, {hip::kLocationDevice, 0}, nullptr, 0, {}};
  parameters.size = size;
  return parameters;
}

/// Memory is there from the node that allocates it to the one that frees it.
TEST(graphs_allocate) {
  hip::Graph graph = nullptr;
  hip::GraphNode allocate = nullptr, fill = nullptr, copy = nullptr, release = nullptr;
  hip::GraphExec exec = nullptr, second = nullptr;
  const Buffer<int> result(16);
  OK(api.hipGraphCreate(&graph, 0));
  hip::AllocationParameters parameters = allocation(64), found{};
  OK(api.hipGraphAddMemAllocNode(&allocate, graph, nullptr, 0, &parameters));
  EXPECT_EQ(type_of(allocate), 10);
  EXPECT_EQ(api.hipMemcpy(result.data, parameters.pointer, 64, hip::kDeviceToDevice), kInvalid);  // not there yet
  const hip::FillParameters seven{parameters.pointer, 4, 1, 64, 7, 16};
  OK(api.hipGraphAddMemsetNode(&fill, graph, &allocate, 1, &seven));
  OK(api.hipGraphAddMemcpyNode1D(&copy, graph, &fill, 1, result.data, parameters.pointer, 64, hip::kDeviceToDevice));
  OK(api.hipGraphAddMemFreeNode(&release, graph, &copy, 1, parameters.pointer));
  EXPECT_EQ(type_of(release), 11);
  OK(api.hipGraphMemAllocNodeGetParams(allocate, &found));
  EXPECT_EQ(found.size == 64 && found.pointer == parameters.pointer, true);
  void* freed = nullptr;
  OK(api.hipGraphMemFreeNodeGetParams(release, &freed));
  EXPECT_EQ(freed == parameters.pointer, true);
  EXPECT_EQ(api.hipGraphMemFreeNodeGetParams(allocate, &freed), kInvalid);
  OK(api.hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
  constexpr int kNotSupported = 801;
  EXPECT_EQ(api.hipGraphInstantiate(&second, graph, nullptr, nullptr, 0), kNotSupported);
  for (int i = 0; i < 2; ++i) launch_now(exec);
  EXPECT_EQ(result.values()[15], 7);
  EXPECT_EQ(graph_memory(0) == 0 && graph_memory(1) == 64 && graph_memory(2) == 0 && graph_memory(3) == 64, true);
  EXPECT_EQ(api.hipFree(parameters.pointer), kInvalid);
  uint64_t zero = 0, one = 1;
  EXPECT_EQ(api.hipDeviceSetGraphMemAttribute(0, hip::kGraphUsedHigh, &one), kInvalid);
  EXPECT_EQ(api.hipDeviceSetGraphMemAttribute(0, hip::kGraphUsed, &zero), kInvalid);
  OK(api.hipDeviceSetGraphMemAttribute(0, hip::kGraphUsedHigh, &zero));
  EXPECT_EQ(graph_memory(1), uint64_t{0});
  OK(api.hipDeviceGraphMemTrim(0));
  EXPECT_EQ(api.hipDeviceGraphMemTrim(99), 101);
  OK(api.hipGraphExecDestroy(exec));
  OK(api.hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));  // once at a time
  OK(api.hipGraphExecDestroy(exec));
  for (int wrong = 0; wrong < 3; ++wrong) {
    hip::AllocationParameters bad = allocation(wrong == 0 ? 0 : 64);
    if (wrong == 1) bad.pool.location.id = 99;
    if (wrong == 2) bad.pool.allocation_type = hip::AllocationType{0};
    EXPECT_EQ(api.hipGraphAddMemAllocNode(&allocate, graph, nullptr, 0, &bad), kInvalid);
  }
  EXPECT_EQ(api.hipGraphAddMemFreeNode(&release, graph, nullptr, 0, &zero), kInvalid);
  OK(api.hipGraphDestroy(graph));
}

/// What a graph allocates and does not free is the program's until it frees it, and the graph must not run before.
TEST(graphs_leave_memory) {
  for (const unsigned long long flags : {0, 1}) {  // hipGraphInstantiateFlagAutoFreeOnLaunch
    hip::Graph graph = nullptr;
    hip::GraphNode allocate = nullptr, fill = nullptr;
    hip::GraphExec exec = nullptr;
    OK(api.hipGraphCreate(&graph, 0));
    hip::AllocationParameters parameters = allocation(64);
    OK(api.hipGraphAddMemAllocNode(&allocate, graph, nullptr, 0, &parameters));
    const hip::FillParameters seven{parameters.pointer, 4, 1, 64, 7, 16};
    OK(api.hipGraphAddMemsetNode(&fill, graph, &allocate, 1, &seven));
    OK(api.hipGraphInstantiateWithFlags(&exec, graph, flags));
    launch_now(exec);
    int value = 0;
    OK(api.hipMemcpy(&value, parameters.pointer, sizeof(value), hip::kDeviceToHost));
    EXPECT_EQ(value, 7);
    EXPECT_EQ(api.hipGraphLaunch(exec, nullptr), flags == 0 ? kInvalid : 0);
    OK(api.hipFreeAsync(parameters.pointer, nullptr));
    OK(api.hipGraphLaunch(exec, nullptr));
    OK(api.hipDeviceSynchronize());
    OK(api.hipGraphExecDestroy(exec));
    OK(api.hipGraphDestroy(graph));
    OK(api.hipMemcpy(&value, parameters.pointer, sizeof(value),
                     hip::kDeviceToHost));  // the graph has no part in it now
    OK(api.hipFree(parameters.pointer));
    EXPECT_EQ(api.hipFree(parameters.pointer), kInvalid);
    EXPECT_EQ(graph_memory(0), uint64_t{0});
  }
}

/// A launch that is refused has promised nothing, and recorded nothing.
TEST(graphs_that_are_refused) {
  Slow slow;
  hip::Graph graph = nullptr, captured = nullptr;
  hip::GraphNode node = nullptr;
  hip::GraphExec exec = nullptr;
  const hip::Event event = new_event();
  const hip::Stream slow_stream = new_stream(), blocking = new_stream(0);
  OK(api.hipGraphCreate(&graph, 0));
  hip::AllocationParameters first = allocation(64), second = allocation(64);
  OK(api.hipGraphAddMemAllocNode(&node, graph, nullptr, 0, &first));
  OK(api.hipGraphAddMemAllocNode(&node, graph, nullptr, 0, &second));
  OK(api.hipGraphAddEventRecordNode(&node, graph, nullptr, 0, event));
  OK(api.hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
  launch_now(exec);
  OK(api.hipFree(first.pointer));
  EXPECT_EQ(api.hipGraphLaunch(exec, nullptr), kInvalid);  // the second is there
  OK(api.hipFree(second.pointer));
  slow.enqueue(slow_stream);
  OK(api.hipEventRecord(event, slow_stream));
  OK(api.hipStreamBeginCapture(blocking, hip::kCaptureModeRelaxed));
  constexpr int kCaptureImplicit = 906, kCaptureInvalidated = 901, kNotReady = 600;
  EXPECT_EQ(api.hipGraphLaunch(exec, nullptr), kCaptureImplicit);
  EXPECT_EQ(api.hipEventQuery(event), kNotReady);
  EXPECT_EQ(api.hipStreamEndCapture(blocking, &captured), kCaptureInvalidated);
  OK(api.hipStreamBeginCapture(blocking, hip::kCaptureModeRelaxed));
  OK(api.hipGraphLaunch(exec, blocking));  // which is for later
  OK(api.hipStreamEndCapture(blocking, &captured));
  launch_now(exec);
  for (void* pointer : {first.pointer, second.pointer}) OK(api.hipFree(pointer));
  OK(api.hipGraphExecDestroy(exec));
  for (hip::Graph made : {graph, captured}) OK(api.hipGraphDestroy(made));
}

/// Whoever waits in the same stream comes behind the launch that records what it waits for, or waits for none.
TEST(graphs_record_events_at_once) {
  const hip::Stream stream = new_stream();
  hip::Graph graph = nullptr;
  hip::GraphNode record = nullptr;
  hip::GraphExec exec = nullptr;
  const hip::Event event = new_event();
  OK(api.hipGraphCreate(&graph, 0));
  OK(api.hipGraphAddEventRecordNode(&record, graph, nullptr, 0, event));
  OK(api.hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
  constexpr int kLaunches = 60000;
  std::atomic<bool> is_over{false};
  std::thread waiter([&] {
    while (!is_over) OK(api.hipStreamWaitEvent(stream, event, 0));
  });
  for (int i = 0; i < kLaunches; ++i) OK(api.hipGraphLaunch(exec, stream));
  is_over = true;
  waiter.join();
  OK(api.hipStreamSynchronize(stream));
  OK(api.hipGraphExecDestroy(exec));
  OK(api.hipGraphDestroy(graph));
}

/// Who waits for an event that a graph records waits for the launch, also before it comes to the node; and a node waits
/// for what its own launch has recorded, not for a later one.
TEST(graphs_record_events) {
  Slow slow;
  const hip::Stream stream = new_stream();
  hip::Graph graph = nullptr;
  hip::GraphNode record = nullptr, wait = nullptr, fill = nullptr, found = nullptr;
  hip::GraphExec exec = nullptr;
  const hip::Event event = new_event();
  const Buffer<int> data(std::vector<int>(16, 0));
  OK(api.hipGraphCreate(&graph, 0));
  const hip::FillParameters seven{data.data, 4, 1, 64, 7, 16};
  OK(api.hipGraphAddMemsetNode(&fill, graph, nullptr, 0, &seven));
  OK(api.hipGraphAddEventRecordNode(&record, graph, &fill, 1, event));
  OK(api.hipGraphAddEventWaitNode(&wait, graph, &record, 1, event));
  OK(api.hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
  slow.enqueue(stream);
  OK(api.hipGraphLaunch(exec, stream));
  OK(api.hipGraphLaunch(exec, stream));
  EXPECT_EQ(api.hipEventQuery(event), 600);
  OK(api.hipEventSynchronize(event));
  EXPECT_EQ(data.data[15], 7);
  OK(api.hipStreamSynchronize(stream));
  EXPECT_EQ(api.hipGraphNodeFindInClone(&found, nullptr, graph), kInvalid);
  EXPECT_EQ(api.hipGraphEventRecordNodeSetEvent(record, nullptr), kInvalid);
  OK(api.hipGraphExecDestroy(exec));
  OK(api.hipGraphDestroy(graph));
}

}  // namespace
