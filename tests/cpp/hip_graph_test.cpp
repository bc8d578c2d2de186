// Tests of graphs that are built by hand, looked at and changed.
#include <array>
#include <atomic>
#include <climits>
#include <cstring>

#include "hip_program.h"

namespace {

constexpr int kInvalid = 1, kUpdateFailure = 910, kUnknown = 999;

hip::KernelParameters vector_add(const Loaded& module, void** parameters) {
  return {{256, 1, 1}, nullptr, module["vector_add"], {4, 1, 1}, parameters, 0};
}

int type_of(hip::GraphNode node) {
  hip::NodeType type{};
  OK(api.hipGraphNodeGetType(node, &type));
  return static_cast<int>(type);
}

/// A fill, a copy and a launch that depend on each other, added against their order.
struct Chain {
  Chain() : module(basics()), a(ramp(0)), b(kCount), c(kCount) {
    OK(api.hipGraphCreate(&graph, 0));
    void* arguments[] = {&a_data, &b_data, &c_data, &count};
    const hip::KernelParameters launch = vector_add(module, arguments);
    OK(api.hipGraphAddKernelNode(&kernel, graph, nullptr, 0, &launch));
    OK(api.hipGraphAddMemcpyNode1D(&copy, graph, nullptr, 0, b.data, a.data, kCount * sizeof(float),
                                   hip::kDeviceToDevice));
    const hip::FillParameters zeros{a.data, 4, 1, 0, 0x40000000, 8};  // 2.0f in the first eight
    OK(api.hipGraphAddMemsetNode(&fill, graph, nullptr, 0, &zeros));
    OK(api.hipGraphAddDependencies(graph, &copy, &kernel, 1));
    OK(api.hipGraphAddDependencies(graph, &fill, &copy, 1));
  }
  ~Chain() { OK(api.hipGraphDestroy(graph)); }

  hip::GraphExec ready() const {
    hip::GraphExec exec = nullptr;
    OK(api.hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
    return exec;
  }
  static void launch(hip::GraphExec exec) {
    OK(api.hipGraphLaunch(exec, nullptr));
    OK(api.hipDeviceSynchronize());
  }

  Loaded module;
  Buffer<float> a, b, c;
  float *a_data = a.data, *b_data = b.data, *c_data = c.data;
  int count = kCount;
  hip::Graph graph = nullptr;
  hip::GraphNode kernel = nullptr, copy = nullptr, fill = nullptr;
};

TEST(built_by_hand) {
  const Chain chain;
  const hip::GraphExec exec = chain.ready();
  Chain::launch(exec);
  EXPECT_EQ(chain.c.values()[7], 4.0f);
  EXPECT_EQ(chain.c.values()[9], 18.0f);
  EXPECT_EQ(type_of(chain.kernel), 0);
  EXPECT_EQ(type_of(chain.copy), 1);
  EXPECT_EQ(type_of(chain.fill), 2);

  size_t count = 0;
  OK(api.hipGraphGetNodes(chain.graph, nullptr, &count));
  EXPECT_EQ(count, 3u);
  std::array<hip::GraphNode, 4> nodes{}, others{};
  count = 4;
  OK(api.hipGraphGetRootNodes(chain.graph, nodes.data(), &count));
  EXPECT_EQ(count == 1 && nodes[0] == chain.fill, true);
  count = 4;
  OK(api.hipGraphGetEdges(chain.graph, nodes.data(), others.data(), &count));
  EXPECT_EQ(count, 2u);
  count = 1;
  OK(api.hipGraphNodeGetDependencies(chain.kernel, nodes.data(), &count));
  EXPECT_EQ(count == 1 && nodes[0] == chain.copy, true);
  count = 1;
  OK(api.hipGraphNodeGetDependentNodes(chain.fill, nodes.data(), &count));
  EXPECT_EQ(count == 1 && nodes[0] == chain.copy, true);

  EXPECT_EQ(api.hipGraphAddDependencies(chain.graph, &chain.copy, &chain.kernel, 1), kInvalid);  // is there
  OK(api.hipGraphAddDependencies(chain.graph, &chain.kernel, &chain.fill, 1));
  hip::GraphExec none = nullptr;
  EXPECT_EQ(api.hipGraphInstantiateWithFlags(&none, chain.graph, 0), kInvalid);  // a circle
  OK(api.hipGraphRemoveDependencies(chain.graph, &chain.kernel, &chain.fill, 1));
  for (const unsigned long long flags : {3, 10, 16}) {  // two at once, or none that there is
    EXPECT_EQ(api.hipGraphInstantiateWithFlags(&none, chain.graph, flags), kInvalid);
  }
  EXPECT_EQ(api.hipGraphRemoveDependencies(chain.graph, &chain.kernel, &chain.fill, 1), kInvalid);
  OK(api.hipGraphExecDestroy(exec));
}

TEST(parameters_are_told_and_changed) {
  const Chain chain;
  hip::KernelParameters launch{};
  OK(api.hipGraphKernelNodeGetParams(chain.kernel, &launch));
  EXPECT_EQ(launch.block.x == 256 && launch.grid.x == 4 && launch.function == chain.module["vector_add"], true);
  EXPECT_EQ(*static_cast<float**>(launch.parameters[2]) == chain.c.data, true);
  EXPECT_EQ(*static_cast<int*>(launch.parameters[3]), kCount);
  hip::Copy3d copy{};
  OK(api.hipGraphMemcpyNodeGetParams(chain.copy, &copy));
  EXPECT_EQ(copy.to.pointer == chain.b.data && copy.extent.width == kCount * sizeof(float), true);
  hip::FillParameters fill{};
  OK(api.hipGraphMemsetNodeGetParams(chain.fill, &fill));
  EXPECT_EQ(fill.value == 0x40000000 && fill.width == 8 && fill.element_size == 4, true);
  EXPECT_EQ(api.hipGraphMemsetNodeGetParams(chain.copy, &fill), kInvalid);

  const hip::GraphExec exec = chain.ready();
  fill.value = 0x3f800000;                                 // 1.0f
  OK(api.hipGraphMemsetNodeSetParams(chain.fill, &fill));  // not of what is ready
  Chain::launch(exec);
  EXPECT_EQ(chain.c.values()[0], 4.0f);
  OK(api.hipGraphExecMemsetNodeSetParams(exec, chain.fill, &fill));
  Chain::launch(exec);
  EXPECT_EQ(chain.c.values()[0], 2.0f);
  EXPECT_EQ(api.hipGraphExecMemsetNodeSetParams(exec, chain.copy, &fill), kInvalid);

  const Buffer<float> d(kCount);
  void* arguments[] = {const_cast<float**>(&chain.a_data), const_cast<float**>(&chain.b_data),
                       const_cast<float**>(&d.data), const_cast<int*>(&chain.count)};
  launch = vector_add(chain.module, arguments);
  OK(api.hipGraphExecKernelNodeSetParams(exec, chain.kernel, &launch));
  OK(api.hipGraphKernelNodeSetParams(chain.kernel, &launch));
  OK(api.hipGraphExecMemcpyNodeSetParams1D(exec, chain.copy, chain.b.data, chain.c.data, 64, hip::kDeviceToDevice));
  OK(api.hipGraphMemcpyNodeSetParams1D(chain.copy, chain.b.data, chain.c.data, 64, hip::kDeviceToDevice));
  OK(api.hipGraphMemcpyNodeSetParams(chain.copy, &copy));
  OK(api.hipGraphExecMemcpyNodeSetParams(exec, chain.copy, &copy));
  Chain::launch(exec);
  EXPECT_EQ(d.values()[20], 40.0f);
  for (const hip::MemcpyKind kind : {hip::kHostToHost, hip::kHostToDevice, hip::kDeviceToHost, hip::kCopyDefault}) {
    copy.kind = kind;
    EXPECT_EQ(api.hipGraphExecMemcpyNodeSetParams(exec, chain.copy, &copy), kInvalid);
    EXPECT_EQ(api.hipGraphExecMemcpyNodeSetParams1D(exec, chain.copy, chain.b.data, chain.a.data, 64, kind), kInvalid);
  }
  std::vector<float> host(16);
  EXPECT_EQ(api.hipGraphMemcpyNodeSetParams1D(chain.copy, chain.b.data, host.data(), 64, hip::kDeviceToDevice),
            kInvalid);
  EXPECT_EQ(api.hipGraphMemcpyNodeSetParams1D(chain.copy, host.data(), chain.b.data, 64, hip::kHostToDevice), kInvalid);
  OK(api.hipGraphMemcpyNodeSetParams1D(chain.copy, host.data(), chain.b.data, 64, hip::kDeviceToHost));

  unsigned enabled = 9;
  OK(api.hipGraphNodeSetEnabled(exec, chain.fill, 0));
  OK(api.hipGraphNodeGetEnabled(exec, chain.fill, &enabled));
  EXPECT_EQ(enabled, 0u);
  OK(api.hipMemset(chain.a.data, 0, 64));
  Chain::launch(exec);
  EXPECT_EQ(d.values()[0], 0.0f);
  OK(api.hipGraphExecDestroy(exec));
}

TEST(graphs_take_others_places) {
  const Chain chain, other;
  const hip::GraphExec exec = chain.ready();
  hip::GraphNode different = nullptr;
  hip::UpdateResult result{};
  OK(api.hipGraphExecUpdate(exec, other.graph, &different, &result));
  EXPECT_EQ(static_cast<int>(result), 0);
  Chain::launch(exec);
  EXPECT_EQ(other.c.values()[0] == 4.0f && chain.c.values()[0] != 4.0f, true);
  hip::GraphNode empty = nullptr;
  OK(api.hipGraphAddEmptyNode(&empty, other.graph, &other.kernel, 1));
  EXPECT_EQ(type_of(empty), 5);
  hip::GraphExec other_exec = nullptr;
  unsigned enabled = 0;
  OK(api.hipGraphInstantiate(&other_exec, other.graph, nullptr, nullptr, 0));
  EXPECT_EQ(api.hipGraphNodeSetEnabled(other_exec, empty, 0), kInvalid);
  EXPECT_EQ(api.hipGraphNodeGetEnabled(other_exec, empty, &enabled), kInvalid);
  OK(api.hipGraphNodeSetEnabled(other_exec, other.fill, 0));
  OK(api.hipGraphExecDestroy(other_exec));
  EXPECT_EQ(api.hipGraphMemcpyNodeSetParams1D(other.copy, other.a.data, other.a.data, 64, hip::kDeviceToDevice),
            kInvalid);
  EXPECT_EQ(api.hipGraphExecUpdate(exec, other.graph, &different, &result), kUpdateFailure);
  EXPECT_EQ(static_cast<int>(result), 2);
  OK(api.hipGraphDestroyNode(empty));
  EXPECT_EQ(api.hipGraphDestroyNode(empty), kInvalid);
  OK(api.hipGraphMemcpyNodeSetParams1D(other.copy, other.b.data, other.a.data, 64, hip::kCopyDefault));
  EXPECT_EQ(api.hipGraphExecUpdate(exec, other.graph, &different, &result), kUpdateFailure);
  EXPECT_EQ(result == hip::kUpdateParametersChanged && different == other.copy, true);
  OK(api.hipGraphMemcpyNodeSetParams1D(other.copy, other.b.data, other.a.data, 64, hip::kDeviceToDevice));
  OK(api.hipGraphDestroyNode(other.kernel));
  OK(api.hipGraphAddEmptyNode(&empty, other.graph, &other.copy, 1));
  EXPECT_EQ(api.hipGraphExecUpdate(exec, other.graph, &different, &result), kUpdateFailure);
  EXPECT_EQ(static_cast<int>(result) == 3 && different == empty, true);
  EXPECT_EQ(api.hipGraphAddEmptyNode(&empty, chain.graph, &other.copy, 1), kInvalid);  // another graph's
  OK(api.hipGraphExecDestroy(exec));
}

TEST(copies_and_children) {
  const Chain chain;
  hip::Graph clone = nullptr, parent = nullptr, inner = nullptr;
  hip::GraphNode copied = nullptr, child = nullptr, empty = nullptr;
  OK(api.hipGraphClone(&clone, chain.graph));
  OK(api.hipGraphNodeFindInClone(&copied, chain.fill, clone));
  EXPECT_EQ(copied != chain.fill && type_of(copied) == 2, true);
  EXPECT_EQ(api.hipGraphNodeFindInClone(&empty, copied, clone), kInvalid);
  OK(api.hipGraphCreate(&parent, 0));
  OK(api.hipGraphAddEmptyNode(&empty, parent, nullptr, 0));
  OK(api.hipGraphAddChildGraphNode(&child, parent, &empty, 1, clone));
  EXPECT_EQ(type_of(child), 4);
  OK(api.hipGraphChildGraphNodeGetGraph(child, &inner));
  size_t count = 0;
  OK(api.hipGraphGetNodes(inner, nullptr, &count));
  EXPECT_EQ(count, 3u);
  OK(api.hipGraphDestroy(clone));  // the child is a copy of its own
  hip::GraphExec exec = nullptr;
  OK(api.hipGraphInstantiateWithFlags(&exec, parent, 1));
  unsigned long long flags = 0;
  OK(api.hipGraphExecGetFlags(exec, &flags));
  EXPECT_EQ(flags, 1u);
  OK(api.hipGraphUpload(exec, nullptr));
  Chain::launch(exec);
  EXPECT_EQ(chain.c.values()[3], 4.0f);
  OK(api.hipGraphExecChildGraphNodeSetParams(exec, child, chain.graph));
  Chain::launch(exec);
  EXPECT_EQ(api.hipGraphExecChildGraphNodeSetParams(exec, child, parent), kUnknown);  // which has other nodes
  unsigned enabled = 0;
  EXPECT_EQ(api.hipGraphNodeGetEnabled(exec, chain.fill, &enabled), kInvalid);
  OK(api.hipGraphExecDestroy(exec));
  OK(api.hipGraphDestroy(parent));
}

TEST(host_functions_and_events_in_graphs) {
  std::atomic<int> calls{0};
  const auto count = [](void* data) { ++*static_cast<std::atomic<int>*>(data); };
  hip::Graph graph = nullptr;
  hip::GraphNode host = nullptr, record = nullptr, wait = nullptr;
  hip::Event event = nullptr, other = nullptr, got = nullptr;
  OK(api.hipEventCreate(&event));
  OK(api.hipEventCreate(&other));
  OK(api.hipGraphCreate(&graph, 0));
  hip::HostParameters function{count, &calls}, told{};
  OK(api.hipGraphAddEventWaitNode(&wait, graph, nullptr, 0, other));
  OK(api.hipGraphAddHostNode(&host, graph, &wait, 1, &function));
  OK(api.hipGraphAddEventRecordNode(&record, graph, &host, 1, event));
  OK(api.hipGraphHostNodeGetParams(host, &told));
  EXPECT_EQ(told.data == &calls && type_of(host) == 3, true);
  OK(api.hipGraphEventRecordNodeGetEvent(record, &got));
  EXPECT_EQ(got == event, true);
  OK(api.hipGraphEventWaitNodeGetEvent(wait, &got));
  EXPECT_EQ(got == other, true);
  EXPECT_EQ(type_of(wait) == 6 && type_of(record) == 7, true);
  hip::GraphExec exec = nullptr;
  hip::GraphNode wrong = wait;
  char log[] = "log";
  OK(api.hipGraphInstantiate(&exec, graph, &wrong, log, sizeof(log)));
  EXPECT_EQ(wrong == nullptr && log[0] == 0 && log[1] == 'o', true);
  EXPECT_EQ(api.hipGraphInstantiate(nullptr, graph, nullptr, nullptr, 1), 1);
  OK(api.hipEventRecord(other, nullptr));
  Chain::launch(exec);
  EXPECT_EQ(calls.load(), 1);
  OK(api.hipEventQuery(event));
  float time = -1;
  OK(api.hipEventElapsedTime(&time, other, event));
  EXPECT_EQ(time >= 0, true);
  std::atomic<int> more{0};
  function.data = &more;
  OK(api.hipGraphExecHostNodeSetParams(exec, host, &function));
  OK(api.hipGraphHostNodeSetParams(host, &function));
  OK(api.hipGraphExecEventRecordNodeSetEvent(exec, record, other));
  OK(api.hipGraphEventRecordNodeSetEvent(record, other));
  OK(api.hipGraphExecEventWaitNodeSetEvent(exec, wait, event));
  OK(api.hipGraphEventWaitNodeSetEvent(wait, event));
  Chain::launch(exec);
  EXPECT_EQ(calls.load() == 1 && more.load() == 1, true);
  OK(api.hipGraphExecDestroy(exec));
  OK(api.hipGraphDestroy(graph));
}

/// What is captured has kinds, parameters and dependencies, too: two branches, joined.
TEST(captured_nodes) {
  const Loaded module(basics());
  const Buffer<float> a(ramp(0)), b(kCount), c(kCount);
  hip::Stream first = nullptr, second = nullptr;
  hip::Event fork = nullptr, join = nullptr;
  hip::Graph graph = nullptr;
  OK(api.hipStreamCreate(&first));
  OK(api.hipStreamCreate(&second));
  OK(api.hipEventCreate(&fork));
  OK(api.hipEventCreate(&join));
  OK(api.hipStreamBeginCapture(first, hip::kCaptureModeGlobal));
  OK(api.hipMemsetAsync(b.data, 0, kCount * sizeof(float), first));
  OK(api.hipEventRecord(fork, first));
  OK(api.hipStreamWaitEvent(second, fork, 0));
  OK(launch(module["vector_add"], 4, 256, second, a.data, b.data, c.data, kCount));
  OK(api.hipMemcpyAsync(b.data, a.data, 64, hip::kDeviceToDevice, first));
  OK(api.hipEventRecord(join, second));
  OK(api.hipStreamWaitEvent(first, join, 0));
  OK(api.hipMemsetAsync(c.data, 0, 4, first));
  OK(api.hipStreamEndCapture(first, &graph));
  std::array<hip::GraphNode, 4> nodes{};
  size_t count = 4, edges = 0, dependencies = 0;
  OK(api.hipGraphGetNodes(graph, nodes.data(), &count));
  EXPECT_EQ(count, 4u);
  EXPECT_EQ(type_of(nodes[0]) == 2 && type_of(nodes[1]) == 0 && type_of(nodes[2]) == 1 && type_of(nodes[3]) == 2, true);
  OK(api.hipGraphGetEdges(graph, nullptr, nullptr, &edges));
  EXPECT_EQ(edges, 4u);
  OK(api.hipGraphNodeGetDependencies(nodes[3], nullptr, &dependencies));
  EXPECT_EQ(dependencies, 2u);
  hip::KernelParameters parameters{};
  OK(api.hipGraphKernelNodeGetParams(nodes[1], &parameters));
  EXPECT_EQ(*static_cast<float**>(parameters.parameters[0]) == a.data, true);
  OK(api.hipGraphDestroy(graph));
  OK(api.hipStreamDestroy(first));
  OK(api.hipStreamDestroy(second));
}

/// What programs such as PyTorch ask of a capture, and tell it.
TEST(captures_are_looked_into) {
  const Buffer<float> a(kCount);
  hip::Stream stream = nullptr;
  hip::Graph seen = nullptr, graph = nullptr;
  hip::CaptureStatus status{};
  unsigned long long id = 0;
  const hip::GraphNode* last = nullptr;
  size_t count = 7;
  OK(api.hipStreamCreate(&stream));
  OK(api.hipStreamGetCaptureInfo_v2(stream, &status, &id, &seen, &last, &count));
  EXPECT_EQ(status == hip::kCaptureNone && seen == nullptr && count == 7, true);
  constexpr int kIllegalState = 401;
  EXPECT_EQ(api.hipStreamUpdateCaptureDependencies(stream, nullptr, 0, 0), kIllegalState);
  OK(api.hipStreamBeginCapture(stream, hip::kCaptureModeGlobal));
  OK(api.hipMemsetAsync(a.data, 0, 8, stream));
  OK(api.hipStreamGetCaptureInfo_v2(stream, &status, &id, &seen, &last, &count));
  EXPECT_EQ(status == hip::kCaptureActive && id != 0 && count == 1, true);
  const hip::GraphNode fill = last[0];
  hip::GraphNode own = nullptr, after = nullptr;
  std::atomic<int> calls{0};
  hip::HostParameters function{[](void* data) { ++*static_cast<std::atomic<int>*>(data); }, &calls};
  OK(api.hipGraphAddHostNode(&own, seen, &fill, 1, &function));
  OK(api.hipStreamUpdateCaptureDependencies(stream, &own, 1, 1));  // instead of the fill
  OK(api.hipStreamGetCaptureInfo_v2(stream, &status, nullptr, nullptr, &last, &count));
  EXPECT_EQ(count == 1 && last[0] == own, true);
  OK(api.hipGraphAddEmptyNode(&after, seen, nullptr, 0));
  OK(api.hipStreamUpdateCaptureDependencies(stream, &after, 1, 0));  // besides
  OK(api.hipStreamGetCaptureInfo_v2(stream, &status, nullptr, nullptr, &last, &count));
  EXPECT_EQ(count, 2u);
  OK(api.hipMemsetAsync(a.data, 0, 4, stream));
  EXPECT_EQ(api.hipStreamUpdateCaptureDependencies(stream, &after, 1, 2), kInvalid);
  OK(api.hipStreamEndCapture(stream, &graph));
  EXPECT_EQ(graph == seen, true);
  OK(api.hipGraphGetNodes(graph, nullptr, &count));
  EXPECT_EQ(count, 4u);
  hip::GraphExec exec = nullptr;
  OK(api.hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
  Chain::launch(exec);
  EXPECT_EQ(calls.load(), 1);
  OK(api.hipGraphExecDestroy(exec));
  OK(api.hipGraphDestroy(graph));
  OK(api.hipStreamDestroy(stream));
}

/// Ended once, when neither the program nor a graph, its copy, or one that is ready refers to it.
TEST(objects_of_graphs) {
  std::atomic<int> ended{0};
  const hip::HostFunction end = [](void* data) { ++*static_cast<std::atomic<int>*>(data); };
  hip::UserObject object = nullptr;
  EXPECT_EQ(api.hipUserObjectCreate(&object, &ended, end, 1, 0), kInvalid);
  EXPECT_EQ(api.hipUserObjectCreate(&object, &ended, end, 0, 1), kInvalid);
  EXPECT_EQ(api.hipUserObjectCreate(&object, &ended, nullptr, 1, 1), kInvalid);
  OK(api.hipUserObjectCreate(&object, &ended, end, 2, 1));
  OK(api.hipUserObjectRetain(object, 1));
  OK(api.hipUserObjectRelease(object, 4));  // more than there are: none
  hip::Graph graph = nullptr, copy = nullptr;
  hip::GraphExec exec = nullptr;
  OK(api.hipGraphCreate(&graph, 0));
  OK(api.hipGraphRetainUserObject(graph, object, 2, 1));  // of the program's three
  OK(api.hipGraphReleaseUserObject(graph, object, 3));
  OK(api.hipGraphReleaseUserObject(graph, object, 1));
  OK(api.hipGraphClone(&copy, graph));
  OK(api.hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
  OK(api.hipUserObjectRelease(object, 1));
  OK(api.hipGraphDestroy(graph));
  OK(api.hipGraphDestroy(copy));
  EXPECT_EQ(ended.load(), 0);
  OK(api.hipGraphLaunch(exec, nullptr));
  OK(api.hipDeviceSynchronize());
  OK(api.hipGraphExecDestroy(exec));
  for (int i = 0; ended.load() == 0 && i < 1000; ++i) OK(api.hipDeviceSynchronize());  // the launch kept it, too
  EXPECT_EQ(ended.load(), 1);
  OK(api.hipUserObjectRetain(object, 1));  // as in AMD's runtime, though it has ended
  EXPECT_EQ(api.hipUserObjectRetain(nullptr, 1), kInvalid);
  EXPECT_EQ(api.hipUserObjectRelease(object, 0), kInvalid);
  OK(api.hipUserObjectCreate(&object, &ended, end, 1, 1));
  OK(api.hipGraphCreate(&graph, 0));
  OK(api.hipGraphRetainUserObject(graph, object, INT_MAX, 1));  // more than the program has: all
  OK(api.hipUserObjectRelease(object, 1));
  EXPECT_EQ(ended.load(), 1);
  OK(api.hipGraphDestroy(graph));
  EXPECT_EQ(ended.load(), 2);
}

/// The structure for any kind does what that of each does.
TEST(nodes_by_one_structure) {
  const Buffer<int> data(std::vector<int>(4, 1)), copied(4);
  std::atomic<int> calls{0};
  constexpr int kCopy = 1, kFill = 2, kHost = 3, kChild = 4, kEmpty = 5, kRecord = 7;
  constexpr int kSemaphore = 8, kAllocate = 10, kRelease = 11;
  hip::Graph graph = nullptr, child = nullptr;
  hip::GraphNode fill = nullptr, copy = nullptr, host = nullptr, node = nullptr;
  hip::Event event = nullptr;
  OK(api.hipGraphCreate(&graph, 0));
  OK(api.hipGraphCreate(&child, 0));
  OK(api.hipEventCreate(&event));
  hip::AnyNodeParameters fills{}, copies{}, hosts{}, others{};
  fills.type = kFill;
  fills.fill = {data.data, 4, 1, 0, 7, 4};
  copies.type = kCopy;
  copies.copy.copy.from = {data.data, 16, 16, 1};
  copies.copy.copy.to = {copied.data, 16, 16, 1};
  copies.copy.copy.extent = {16, 1, 1};
  copies.copy.copy.kind = hip::kDeviceToDevice;
  hosts.type = kHost;
  hosts.host = {[](void* given) { ++*static_cast<std::atomic<int>*>(given); }, &calls};
  OK(api.hipGraphAddNode(&fill, graph, nullptr, 0, &fills));
  OK(api.hipGraphAddNode(&copy, graph, &fill, 1, &copies));
  OK(api.hipGraphAddNode(&host, child, nullptr, 0, &hosts));
  others.type = kChild;
  others.child = child;
  OK(api.hipGraphAddNode(&node, graph, &copy, 1, &others));
  others.type = kRecord;
  others.event = event;
  OK(api.hipGraphAddNode(&node, graph, &node, 1, &others));
  others.type = kEmpty;
  OK(api.hipGraphAddNode(&node, graph, &node, 1, &others));
  EXPECT_EQ(api.hipGraphNodeSetParams(node, &others), kInvalid);
  fills.fill.value = 8;
  OK(api.hipGraphNodeSetParams(fill, &fills));
  EXPECT_EQ(api.hipGraphNodeSetParams(copy, &fills), kInvalid);  // of another kind
  hip::GraphExec exec = nullptr;
  OK(api.hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
  Chain::launch(exec);
  EXPECT_EQ(copied.values()[3] == 8 && calls == 1, true);
  OK(api.hipEventQuery(event));
  fills.fill.value = 9;
  OK(api.hipGraphExecNodeSetParams(exec, fill, &fills));
  Chain::launch(exec);
  EXPECT_EQ(copied.values()[0] == 9 && calls == 2, true);
  copies.copy.flags = 1;
  EXPECT_EQ(api.hipGraphAddNode(&node, graph, nullptr, 0, &copies), kInvalid);
  others.type = kSemaphore;
  constexpr int kNotSupported = 801;
  EXPECT_EQ(api.hipGraphAddNode(&node, graph, nullptr, 0, &others), kNotSupported);
  hip::AnyNodeParameters allocates{}, frees{};
  allocates.type = kAllocate;
  auto& memory = reinterpret_cast<hip::AllocationParameters&>(allocates.bytes);
  memory.pool = {hip::kPinned, 0, {hip::kLocationDevice, 0}, nullptr, 0, {}};
  memory.size = 64;
  OK(api.hipGraphAddNode(&node, graph, nullptr, 0, &allocates));
  EXPECT_EQ(type_of(node) == kAllocate && memory.pointer != nullptr, true);
  frees.type = kRelease;
  std::memcpy(frees.bytes, &memory.pointer, sizeof(void*));
  OK(api.hipGraphAddNode(&node, graph, &node, 1, &frees));
  EXPECT_EQ(type_of(node), kRelease);
  EXPECT_EQ(api.hipGraphNodeSetParams(node, &frees), kInvalid);
  EXPECT_EQ(api.hipGraphAddNode(&node, graph, nullptr, 0, nullptr), kInvalid);
  OK(api.hipGraphExecDestroy(exec));
  OK(api.hipGraphDestroy(graph));
  OK(api.hipGraphDestroy(child));
}

TEST(pictures) {
  const Chain chain;
  const std::string path = std::tmpnam(nullptr);
  OK(api.hipGraphDebugDotPrint(chain.graph, path.c_str(), 0));
  const std::vector<char> bytes = read_file(path);
  const std::string text(bytes.begin(), bytes.end());
  for (const char* part : {"digraph", "n0 [label=\"0: kernel\"]", "n1 -> n0;", "n2 -> n1;"}) {
    EXPECT_EQ(text.find(part) != text.npos, true);
  }
  std::remove(path.c_str());
  EXPECT_EQ(api.hipGraphDebugDotPrint(chain.graph, "/nowhere/at/all.dot", 0), 304);
  EXPECT_EQ(api.hipGraphDebugDotPrint(chain.graph, nullptr, 0), kInvalid);
}

}  // namespace
