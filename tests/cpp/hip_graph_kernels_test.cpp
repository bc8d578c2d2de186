// Tests of attributes of graphs' kernels, and of captures into graphs that are there already.
#include "hip_program.h"

namespace {

constexpr int kInvalid = 1, kNotSupported = 801, kTooLarge = 720, kInvalidContext = 201;

/// A graph of launches of vector_add.
struct Launches {
  Launches() { OK(api.hipGraphCreate(&graph, 0)); }
  ~Launches() { OK(api.hipGraphDestroy(graph)); }

  hip::GraphNode add(unsigned grid) {
    void* arguments[] = {&a.data, &a.data, &sum.data, &count};
    const hip::KernelParameters parameters{{256, 1, 1}, nullptr, module["vector_add"], {grid, 1, 1}, arguments, 0};
    hip::GraphNode node = nullptr;
    OK(api.hipGraphAddKernelNode(&node, graph, nullptr, 0, &parameters));
    return node;
  }

  Loaded module{basics()};
  Buffer<float> a{ramp(0)}, sum{kCount};
  int count = kCount;
  hip::Graph graph = nullptr;
};

hip::KernelAttributeValue cooperative(int value) {
  hip::KernelAttributeValue result{};
  result.cooperative = value;
  return result;
}

TEST(attributes_of_kernels) {
  Launches launches;
  const hip::GraphNode node = launches.add(4), other = launches.add(4), large = launches.add(1 << 20);
  hip::KernelAttributeValue value{}, got = cooperative(7);
  OK(api.hipGraphKernelNodeGetAttribute(node, hip::kAttributeCooperative, &got));
  EXPECT_EQ(got.cooperative, 0);
  value = cooperative(1);
  OK(api.hipGraphKernelNodeSetAttribute(node, hip::kAttributeCooperative, &value));
  OK(api.hipGraphKernelNodeGetAttribute(node, hip::kAttributeCooperative, &got));
  EXPECT_EQ(got.cooperative, 1);
  EXPECT_EQ(api.hipGraphKernelNodeGetAttribute(node, hip::kAttributePriority, &got), kInvalid);  // another was set
  EXPECT_EQ(api.hipGraphKernelNodeSetAttribute(large, hip::kAttributeCooperative, &value), kTooLarge);

  OK(api.hipGraphKernelNodeCopyAttributes(node, other));
  OK(api.hipGraphKernelNodeGetAttribute(other, hip::kAttributeCooperative, &got));
  EXPECT_EQ(got.cooperative, 1);
  EXPECT_EQ(api.hipGraphKernelNodeCopyAttributes(node, large), kTooLarge);
  value = {};
  value.priority = -1;
  OK(api.hipGraphKernelNodeSetAttribute(large, hip::kAttributePriority, &value));
  EXPECT_EQ(api.hipGraphKernelNodeCopyAttributes(node, large), kInvalidContext);
  value.priority = 2;
  EXPECT_EQ(api.hipGraphKernelNodeSetAttribute(large, hip::kAttributePriority, &value), kInvalid);
  value = {};
  value.window.hit_ratio = 1.5f;
  EXPECT_EQ(api.hipGraphKernelNodeSetAttribute(node, hip::kAttributeAccessWindow, &value), kInvalid);
  for (const float ratio : {0.0f, 1.0f}) {
    value.window = {nullptr, 0, ratio, 0, 0};
    OK(api.hipGraphKernelNodeSetAttribute(other, hip::kAttributeAccessWindow, &value));
  }
  constexpr int kPersisting = 2;
  for (const hip::AccessWindow& window :
       {hip::AccessWindow{nullptr, 0, -0.5f, 0, 0}, {nullptr, 0, 0.5f, kPersisting, 0}, {nullptr, 0, 0.5f, 0, 1}}) {
    value.window = window;
    EXPECT_EQ(api.hipGraphKernelNodeSetAttribute(other, hip::kAttributeAccessWindow, &value), kInvalid);
  }
  EXPECT_EQ(api.hipGraphKernelNodeSetAttribute(node, hip::kAttributeClusterDimension, &value), kInvalid);
  EXPECT_EQ(api.hipGraphKernelNodeSetAttribute(nullptr, hip::kAttributeCooperative, &value), kInvalid);

  hip::GraphNode empty = nullptr, copied = nullptr;
  OK(api.hipGraphAddEmptyNode(&empty, launches.graph, nullptr, 0));
  EXPECT_EQ(api.hipGraphKernelNodeGetAttribute(empty, hip::kAttributeCooperative, &got), kInvalid);
  EXPECT_EQ(api.hipGraphKernelNodeCopyAttributes(empty, node), kInvalid);
  hip::Graph clone = nullptr;
  OK(api.hipGraphClone(&clone, launches.graph));
  OK(api.hipGraphNodeFindInClone(&copied, node, clone));
  OK(api.hipGraphKernelNodeGetAttribute(copied, hip::kAttributeCooperative, &got));
  EXPECT_EQ(got.cooperative, 1);
  OK(api.hipGraphDestroy(clone));
}

/// A launch whose workgroups wait for each other remains one with other parameters, also where it was captured.
TEST(cooperative_kernels_stay_so) {
  Launches launches;
  const hip::Stream stream = new_stream();
  void* arguments[] = {&launches.a.data, &launches.a.data, &launches.sum.data, &launches.count};
  const hip::Function function = launches.module["vector_add"];
  OK(api.hipStreamBeginCaptureToGraph(stream, launches.graph, nullptr, nullptr, 0, hip::kCaptureModeGlobal));
  OK(api.hipModuleLaunchCooperativeKernel(function, 4, 1, 1, 256, 1, 1, 0, stream, arguments));
  hip::Graph graph = nullptr;
  OK(api.hipStreamEndCapture(stream, &graph));
  hip::GraphNode captured = nullptr;
  size_t count = 1;
  OK(api.hipGraphGetNodes(graph, &captured, &count));
  const hip::GraphNode made = launches.add(4), plain = launches.add(4);
  hip::KernelAttributeValue value = cooperative(1);
  OK(api.hipGraphKernelNodeSetAttribute(made, hip::kAttributeCooperative, &value));
  hip::GraphExec exec = nullptr;
  OK(api.hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
  hip::KernelParameters parameters{{256, 1, 1}, nullptr, function, {1 << 20, 1, 1}, arguments, 0};
  for (const hip::GraphNode node : {captured, made}) {
    value = {};
    OK(api.hipGraphKernelNodeGetAttribute(node, hip::kAttributeCooperative, &value));
    EXPECT_EQ(value.cooperative, 1);
    EXPECT_EQ(api.hipGraphKernelNodeSetParams(node, &parameters), kTooLarge);
    EXPECT_EQ(api.hipGraphExecKernelNodeSetParams(exec, node, &parameters), kTooLarge);
  }
  OK(api.hipGraphKernelNodeSetParams(plain, &parameters));
  OK(api.hipGraphExecKernelNodeSetParams(exec, plain, &parameters));
  OK(api.hipGraphExecDestroy(exec));
}

/// The launch that was captured follows the node that it was said to follow, and the graph is the program's.
TEST(captures_into_a_graph) {
  Launches launches;
  const hip::GraphNode first = launches.add(4);
  const Buffer<float> total(kCount);
  const hip::Stream stream = new_stream();
  const auto begin = [&](hip::Graph graph, const hip::GraphNode* nodes, size_t count) {
    return api.hipStreamBeginCaptureToGraph(stream, graph, nodes, nullptr, count, hip::kCaptureModeGlobal);
  };
  EXPECT_EQ(begin(nullptr, nullptr, 0), kInvalid);
  EXPECT_EQ(begin(launches.graph, &first, 0), kInvalid);
  EXPECT_EQ(begin(launches.graph, nullptr, 1), kInvalid);
  Launches others;
  const hip::GraphNode foreign = others.add(4);
  EXPECT_EQ(begin(launches.graph, &foreign, 1), kInvalid);
  hip::CaptureStatus status{};
  OK(api.hipStreamIsCapturing(stream, &status));
  EXPECT_EQ(static_cast<int>(status), static_cast<int>(hip::kCaptureNone));

  OK(begin(launches.graph, &first, 1));
  OK(launch(launches.module["vector_add"], 4, 256, stream, launches.sum.data, launches.a.data, total.data, kCount));
  hip::Graph graph = nullptr;
  OK(api.hipStreamEndCapture(stream, &graph));
  EXPECT_EQ(graph == launches.graph, true);
  size_t count = 1;
  hip::GraphNode dependent = nullptr;
  OK(api.hipGraphNodeGetDependentNodes(first, &dependent, &count));
  EXPECT_EQ(count, 1u);

  hip::GraphExec exec = nullptr;
  hip::InstantiateParameters parameters{first, 2, 9, stream};  // with an upload
  OK(api.hipGraphInstantiateWithParams(&exec, graph, &parameters));
  EXPECT_EQ(parameters.result == 0 && parameters.error_node == nullptr, true);
  OK(api.hipGraphLaunch(exec, stream));
  OK(api.hipStreamSynchronize(stream));
  EXPECT_EQ(total.values()[9], 27.0f);
  OK(api.hipGraphExecDestroy(exec));
  parameters.flags = 3;
  EXPECT_EQ(api.hipGraphInstantiateWithParams(&exec, graph, &parameters), kInvalid);
  EXPECT_EQ(parameters.result, 1);
  EXPECT_EQ(api.hipGraphInstantiateWithParams(&exec, graph, nullptr), kInvalid);

  // A capture that fails leaves the graph to the program.
  OK(begin(graph, nullptr, 0));
  EXPECT_EQ(api.hipStreamSynchronize(stream), 900);
  EXPECT_EQ(api.hipStreamEndCapture(stream, &graph), 901);
  OK(api.hipGraphGetNodes(launches.graph, nullptr, &count));
  EXPECT_EQ(count, 2u);
  const hip::EdgeData* edges = reinterpret_cast<const hip::EdgeData*>(&count);
  EXPECT_EQ(api.hipStreamBeginCaptureToGraph(stream, launches.graph, nullptr, edges, 0, hip::kCaptureModeGlobal),
            kNotSupported);
  OK(api.hipStreamDestroy(stream));
}

}  // namespace
